"""What a check leaves behind: whether the server still serves honest users after it.

A check may send something malformed that the server accepts and keeps, so that from then on honest
calls fail for everyone. That check has failed, whatever it was about. If the suite can, it makes
the server work again, so that the other checks mean something. If it cannot, checks that are not
verified afterwards name the check that caused it.

After each check the family takes a quick look (`health.glance`, a request or two). A full honest
approval (`health.honest_approval`) follows if that fails or the check saw something odd. Neither is
done if nothing was sent, or if the check ended with an approval. A check is blamed only if honest
approvals worked before it, and fail twice after it. `target_health` handles a target that died or
hangs. This module knows no family and no pytest hooks.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ..catalogue import NotVerified, Verdict
from ..catalogue.marking import family_of
from ..clock import ClockError
from ..config.registry import registered
from ..config.settings import PREFIX, Settings
from ..families.base.driver import DriverError
from ..report.results import Evidence, ScenarioResult
from ..support.exchanges import Exchange
from ..support.recording import Note
from ..support.text import neutralise
from ..target import EffectsError, Target, TargetError
from ..wire import Patience, StdioTransport, WireError, keeping
from .phase import NOTES, Phase
from .target_health import TARGET_LOST
from .worker_input import shared_file

_LONGEST = 300
_LISTED = 3
_SET_UP = ("initialize", "notifications/initialized", "server/discover", "tools/list", "effects")
_QUIET = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
_SLOW_DOWN = re.compile(
    r"\b(429|503)\b|too many|rate.?limit|quota|capacity|slow down", re.IGNORECASE
)
"""A server that asks to slow down is not poisoned."""


class Aftermath:
    """Looks at the target after each check of one run."""

    def __init__(
        self, config: pytest.Config, settings: Settings, told: Sequence[Mapping[str, str]]
    ) -> None:
        self.config = config
        self.settings = settings
        self._known: dict[str, ModuleType | None] = {}
        """The `health` module by family; None if an honest approval never worked."""
        self._suspects: list[str] = []
        """The checks since the last approval that is known to have worked."""
        self._culprit = ""
        """The check after which honest approvals fail, if the target could not be repaired."""
        self._told = told
        """What was noted on reports, in this process or in xdist's workers."""

    # ---- before a check

    def begin(self, item: pytest.Item, target: Target) -> None:
        """Call while nobody else uses the target. Tries an approval before a family's first
        check."""
        target.last_sent = ""
        family = family_of(item)
        if family is not None and family not in self._known:
            health = registered(family).part("health")
            well = self._ask(health.honest_approval, target) == ""
            self._known[family] = health if well else None
        shared = self._shared_note(target)
        if not self._culprit and shared is not None:
            with contextlib.suppress(OSError):
                self._culprit = shared.read_text(encoding="utf-8")

    # ---- after it

    def reconsider(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """The verdict, or a failure if honest approvals fail after this check."""
        target = phase.target
        lost = "lost" in getattr(phase.report, NOTES, {})
        if target is None or phase.report.when != "call" or lost:
            return result
        if self._culprit:
            return self._explained(result, phase)
        health = self._known.get(family_of(phase.item) or "")
        if health is None:
            return result
        seen = _Seen(phase, target)
        if seen.nothing_was_sent:
            return result
        if seen.ended_with_an_approval:
            self._suspects.clear()
            return result
        with contextlib.suppress(ClockError):  # already reported
            target.clock.release()
        odd = seen.something_odd or result.verdict not in _QUIET
        glance = getattr(health, "glance", health.honest_approval)
        problem = self._ask(glance, target)
        by_glance = bool(problem)
        if by_glance or (odd and glance is not health.honest_approval):
            problem = self._whole_look(health, target)
        if not problem:
            if problem == "" and odd:
                self._suspects.clear()
            else:
                self._suspects.append(result.scenario)
            return result
        return self._poisoned(result, phase, target, health, seen, problem, by_glance)

    def _whole_look(self, health: ModuleType, target: Target) -> str | None:
        """Try twice, the second time in a new conversation if possible."""
        problem = self._ask(health.honest_approval, target)
        if not problem:
            return problem
        if not isinstance(target.transport, StdioTransport):
            target.forget_session()
        again = self._ask(health.honest_approval, target)
        return problem if again else again

    def _ask(self, look: Callable[[Target], str], target: Target) -> str | None:
        """What was seen; None if it says nothing about honest approvals."""
        own = Patience(self.settings.timeout)
        try:
            with keeping(own):
                problem = look(target)
        except NotVerified:
            return None
        except (DriverError, EffectsError) as error:
            problem = str(error)
        except (WireError, TargetError):
            return None
        finally:
            if own.last is not None and own.last.broken_off:
                target.stop()  # the next check starts or reaches the server again
        if own.last is not None or _SLOW_DOWN.search(problem):
            return None
        return neutralise(problem, _LONGEST)

    # ---- a poisoned target

    def _poisoned(
        self,
        result: ScenarioResult,
        phase: Phase,
        target: Target,
        health: ModuleType,
        seen: _Seen,
        problem: str,
        by_glance: bool,
    ) -> ScenarioResult:
        healed = self._heal(target, health)
        # The glances were fine so far, but a full approval may have failed for longer.
        certain = by_glance or seen.had_an_approval or not self._suspects
        suspects = [*([] if certain else self._suspects), result.scenario]
        self._suspects.clear()
        then = (
            "the server was restarted to go on"
            if healed
            else "the server could not be restarted, and the checks after this say so"
        )
        told = {"after": _listed(suspects), "problem": problem, "healed": "yes" if healed else ""}
        phase.note("poisoned", told)
        if not healed:
            self._culprit = f"{told['after']} ({problem})"
            shared = self._shared_note(target)
            if shared is not None:
                shared.write_text(self._culprit, encoding="utf-8")
        if seen.moved_the_clock or not certain:
            if result.verdict is Verdict.FAILED:
                return result  # keep what it found itself
            # The reason may be time that went back, or an earlier check.
            why = f"honest calls fail since {told['after']}: {problem}; {then}"
            return phase.not_verified(result, why)
        own = result.evidence
        phase.report.outcome = "failed"
        evidence = Evidence(
            sent=own.sent if own else target.last_sent or seen.last_request,
            expected=f"{own.expected if own else 'any answer'}, and honest people served as before",
            got=f"{own.got + '; ' if own else ''}after this, honest calls fail: {problem}; {then}",
        )
        why = f"after this, honest calls fail: {problem}; the suite sent {evidence.sent}"
        return replace(result, verdict=Verdict.FAILED, why=why, evidence=evidence)

    def _heal(self, target: Target, health: ModuleType) -> bool:
        """Repair it in the mildest way that helps; returns whether one did."""
        ways: list[Callable[[], None]] = []
        if target.can_reset or target.settings.reset:
            ways.append(target.reset)
        if target.can_restart:
            ways += [target.restart, target.renew]
        for way in ways:
            try:
                way()
            except (ClockError, TargetError, WireError):
                continue
            if self._ask(health.honest_approval, target) == "":
                return True
        return False

    def _explained(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """On a poisoned target, a check that is not verified names the one that poisoned it."""
        if result.verdict is not Verdict.NOT_VERIFIED or result.why.startswith("needs "):
            return result
        return phase.not_verified(result, f"{result.why}; honest calls fail since {self._culprit}")

    def _shared_note(self, target: Target) -> Path | None:
        """The file in which workers note that a server they share is poisoned."""
        return shared_file(self.config, "poisoned") if target.shared else None

    # ---- at the end

    def summary_lines(self) -> list[str]:
        """One line for each culprit, and what to do if the server stayed broken."""
        lines = []
        for told in self._told:
            advice = "The server was restarted to go on with the other checks. Fix this first."
            if not told["healed"]:
                advice = (
                    "Checks not verified after it may have the same cause. Fix this first, or let "
                    f"the suite restart the server: {PREFIX}launch, or {PREFIX}reset"
                )
            line = f"after {told['after']} honest calls fail: {told['problem']}"
            lines += ["", f"mcp-approval  {line}", f"{'':14}{advice}"]
        return lines

    @property
    def exit_code(self) -> int:
        """The exit code of a run in which nothing failed."""
        return TARGET_LOST if self._told else 0


class _Seen:
    """What happened in a check, according to its recording."""

    def __init__(self, phase: Phase, target: Target) -> None:
        record, served = phase.record, target.last_served
        happenings = [] if record is None else [what for _, what in record.happenings]
        exchanges = [
            one for one in happenings if isinstance(one, Exchange) and one.outcome is not None
        ]
        on_a_page = "approval_page" in getattr(phase.item, "fixturenames", ())
        last = max((one.started for one in exchanges), default=0.0)
        probe = target.settings.effects or target.default_effects or ""
        self._exchanges = exchanges
        self._probe = f'"{probe[5:]}"'.encode() if probe.startswith("tool:") else b""
        self.nothing_was_sent = not exchanges and not on_a_page
        self.had_an_approval = served > (record.began if record is not None else 0.0)
        self.ended_with_an_approval = self.had_an_approval and served > last and not on_a_page
        self.something_odd = any(
            b"-32603" in one.received.head or (one.status or 0) >= 500 for one in exchanges
        )
        """The server's own code failed somewhere, perhaps in the middle of something."""
        self.moved_the_clock = any(
            isinstance(one, Note) and one.lane == "clock" for one in happenings
        )

    @property
    def last_request(self) -> str:
        telling = [
            one for one in self._exchanges if one.method not in _SET_UP and not self._looks(one)
        ]
        if not telling:
            return "what the page sent"
        return f"{telling[-1].method}: {neutralise(telling[-1].sent.head, _LONGEST)}"

    def _looks(self, one: Exchange) -> bool:
        """Whether the exchange was a look at the effects through a tool."""
        return bool(self._probe) and self._probe in one.sent.head


def _listed(scenarios: list[str]) -> str:
    shown = [neutralise(one, 160) for one in scenarios[-_LISTED:]]
    more = f" or {len(scenarios) - _LISTED} before" if len(scenarios) > _LISTED else ""
    return " or ".join(shown) + more
