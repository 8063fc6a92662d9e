"""Before the first verdict: one honest approval in each family, and whether its effect is seen.

If no approval succeeds, a refusal proves nothing. If one succeeds by the server's own words and the
effects probe shows nothing of it, every check would blame the server for what is nearly always the
wrong probe, or arguments that have no effect, or have one only once: what was deleted is gone. So
that stops the run. Knows no family.
"""

from __future__ import annotations

from typing import Any

from ..catalogue import NotVerified
from ..config.registry import registered
from ..config.settings import PREFIX
from ..families.base.driver import DriverError
from ..families.base.preflight import Preflight, PreflightError
from ..support.text import neutralise
from ..target import EffectsError, EffectsProbe, Target, TargetError
from ..wire import WireError

_LONGEST = 300
_TWICE = ("http", "stdio")
"""Servers with a state of their own: what they do once they may not do again."""


def approve_honestly(target: Target, found: Preflight) -> None:
    """Note in which families an honest approval was made, and why not in the others."""
    unseen: list[str] = []
    for name in found.offered:
        health = registered(name).part("health")
        try:
            problem = _approve(target, health, unseen)
        except NotVerified as error:
            found.not_approved[name] = str(error.msg)
            continue
        except (DriverError, EffectsError, TargetError, WireError) as error:
            problem = str(error)
        if problem:
            found.not_approved[name] = f"an honest approval failed: {neutralise(problem, _LONGEST)}"
        else:
            found.approved.append(name)
    if unseen and not found.approved:
        raise _nothing_seen(unseen[0])
    if found.approved:
        found.say("approved", f"once, honestly: {', '.join(found.approved)}")
    for name, why in found.not_approved.items():
        found.say("NOT" if found.approved else "approved", f"{name}: {neutralise(why, 200)}")


def _approve(target: Target, health: Any, unseen: list[str]) -> str:
    """What is wrong with an honest approval; "" if nothing is."""
    probe = target.effects()
    problem = _seen(target, health, probe, unseen)
    if not problem and probe is not None and target.spec.kind in _TWICE:
        later: list[str] = []
        again = _seen(target, health, probe, later)
        if later:
            problem = f"the first time it ran, the second time: {again}"
            unseen.append(problem)
    return problem


def _seen(target: Target, health: Any, probe: EffectsProbe | None, unseen: list[str]) -> str:
    before = probe.look() if probe is not None else None
    problem = str(health.honest_approval(target))
    if not problem or probe is None or before is None or probe.look().runs_since(before) != 0:
        return problem
    problem += f" (no run is seen by {probe.description}: is it the right effects probe?)"
    target.doubt_effects("tried without it")
    try:
        believed = not health.honest_approval(target)
    finally:
        target.doubt_effects("")
    if believed:
        unseen.append(problem)
    return problem


def _nothing_seen(problem: str) -> PreflightError:
    return PreflightError(
        f"an honest approval succeeds, and {PREFIX}effects shows nothing of it",
        neutralise(problem, _LONGEST),
        "Name arguments that have an effect every time: deleting what is not there, or is gone "
        "after the first time, has none.",
        "Or name another probe: a counter, or a list that grows (the entries of a list are "
        "counted, not compared). Without any, the server's answers are believed.",
    )
