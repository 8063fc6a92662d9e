"""kill -9 between every two steps of an approval, and while it is used: it serves once at most.

A server may forget what was not used yet: no document promises otherwise, so that is told as
information. It must not forget that something was used. Written once for all families: their steps
are in `StagedApproval`. Knows no specification.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ...catalogue import Finding, Grade, NotApplicable
from ...wire import Patience, keeping
from .driver import DriverError
from .scenario import ScenarioView, expect_nothing_ran
from .staged import StagedApproval, UseOutcome

Make = Callable[[], StagedApproval]
PAGE = "docs/at-most-once.md"
_MOMENTS = (0.0, 0.004, 0.02)
"""Seconds after the call was sent at which the server is killed: before it has read it, while it
works, and after it has answered, on machines of any speed."""


def expect_once_over_kills(view: ScenarioView, make: Make) -> None:
    """For a scenario; `make` begins a new approval."""
    forgotten: list[str] = []
    _honest(view, make)
    steps = make().steps
    with view.several() as several:
        for taken, step in enumerate(steps, 1):
            with several.one(f"killed after {step}"):
                _killed_between(view, make, taken, forgotten)
        with several.one("killed after it was used"):
            _killed_after_use(view, make)
        for moment in _MOMENTS:
            with several.one(f"killed {moment * 1000:g} ms after it was sent"):
                _killed_during_use(view, make, moment)
    _honest(view, make)
    if forgotten:
        view.left_open(f"after kill -9 the server has forgotten {' and '.join(forgotten)}", PAGE)


def _honest(view: ScenarioView, make: Make) -> None:
    with contextlib.closing(make()) as staged, view.honest_step():
        staged.take_all(view.target)
        view.need_served(staged.use(view.target))


def kill(view: ScenarioView, staged: StagedApproval) -> None:
    """End the server without a warning, and start it again over what it had stored."""
    servers = staged.servers(view.target)
    killed = [one.kill() for one in servers]
    if not view.target.can_restart or not all(killed):
        raise NotApplicable("the suite has not started the server's process, so it kills none")
    for one in servers:
        one.restart()
    staged.forget()


def _killed_between(view: ScenarioView, make: Make, taken: int, forgotten: list[str]) -> None:
    with contextlib.closing(make()) as staged:
        step, target = staged.steps[taken - 1], view.target
        with view.honest_step():
            for number in range(taken):
                staged.take(number, target)
        kill(view, staged)
        sent = f"kill -9 after {step}, and the rest of the approval after a new start"
        try:
            for number in range(taken, len(staged.steps)):
                staged.take(number, target)
        except DriverError:
            forgotten.append(f"that {step}")
            return
        first = staged.use(target)
        if not first.executed:
            forgotten.append(f"that {step}")
        _expect_most(view, staged, [first], sent)
        _expect_spent(view, staged, first, f"{sent}; then the same call again")


def _killed_after_use(view: ScenarioView, make: Make) -> None:
    with contextlib.closing(make()) as staged:
        with view.honest_step():
            staged.take_all(view.target)
        first = staged.use(view.target)
        view.need_served(first)
        kill(view, staged)
        sent = "a used approval once more, after kill -9 and a new start"
        _expect_spent(view, staged, first, sent)


def _killed_during_use(view: ScenarioView, make: Make, moment: float) -> None:
    with contextlib.closing(make()) as staged:
        target = view.target
        with view.honest_step():
            staged.take_all(target)
        watch = staged.watching(target)
        before = watch.effects_watch.look()
        session, params = staged.session(target), staged.params(target)
        # That it breaks off is our doing.
        with (
            keeping(Patience(target.settings.timeout)),
            session.open_call("tools/call", params) as call,
        ):
            call.expect_nothing()
            reply = call.wait(moment)
            kill(view, staged)
        after = watch.effects_watch.look()
        seen = after.runs_since(before) if before is not None and after is not None else None
        told = reply.answered and staged.claims(reply, target)
        # Effects in memory are gone with the process: then only its answer shows the first run.
        first = seen if seen is not None and seen > 0 else int(told)
        again = staged.use(target)
        runs = first + (again.runs or 1 if again.executed else 0)
        if (first and again.executed) or runs > staged.most_runs():
            raise Finding(
                sent=f"an approved call, kill -9 {moment * 1000:g} ms later, and the same call "
                "again after a new start",
                expected="one run at most",
                got=f"the first {'was answered as run' if told else 'ran'}, then "
                f"{again.describe()}",
                grade=Grade.RAN,
            )


def _expect_most(
    view: ScenarioView, staged: StagedApproval, outcomes: list[UseOutcome], sent: str
) -> None:
    runs = sum(one.runs or 0 for one in outcomes)
    most = staged.most_runs()
    view.expect(runs <= most, sent=sent, expected=f"{most} run(s) at most", got=f"{runs} runs")


def _expect_spent(view: ScenarioView, staged: StagedApproval, first: UseOutcome, sent: str) -> None:
    """The same call again runs nothing, if it ran before; else once at most in all."""
    again = staged.use(view.target)
    if first.executed:
        expect_nothing_ran(again, sent=sent)
    else:
        _expect_most(view, staged, [again], sent)
