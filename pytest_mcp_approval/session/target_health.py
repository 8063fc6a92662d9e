"""Whether the target is still there, what a check is worth if it was not, and when to stop.

A rule is checked by what a target answers. If it died, hung or spoke no JSON-RPC, the check is "not
verified" with that reason, never passed and never failed, unless the target is otherwise healthy:
it had answered requests of that kind before, and answers one again. A target that cannot be reached
at the beginning of several checks in a row is gone, and the remaining checks say so at once. Each
xdist worker finds out for itself. Knows no family and no pytest hooks.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..catalogue import Verdict
from ..config.settings import PREFIX, Settings
from ..report.results import ScenarioResult
from ..support.deadline import Deadline
from ..support.json_reading import JsonError, read_json
from ..support.secrets import hide
from ..support.text import neutralise, number_of
from ..target import EffectsError, Target, TargetError
from ..wire import (
    NotMcpError,
    Outcome,
    Outgoing,
    Patience,
    Session,
    Trouble,
    UnreachableError,
    WireError,
    keeping,
)
from .phase import Phase

TARGET_LOST = 11
"""pytest's exit code when nothing failed, but checks are not verified because of a lost target."""

_FAILED_OPENINGS = 3
"""After this many checks in a row that could not open the target, it is gone."""
_LOST_CHECKS = 10
"""After this many lost checks in a row the target counts as gone, even if it can be reached."""
_COMING_BACK_SECONDS = 2.0
"""How long to wait each time until somebody restarts a server that we do not run."""
_POLL_SECONDS = 0.05
_AGAIN_SECONDS = 1.0
"""How long to wait when a request that was answered before is sent again as a test."""

_REPEATS = 2
"""How often the request must break off again: a flaky target may die twice in a row."""
_OF_THE_CONNECTION = frozenset({"host", "mcp-session-id", "content-length"})
"""Request headers that belong to one connection or session."""

_PROBE = "the effects probe"
_ADVICE = {
    "http": "Is the server still running? Its log says what happened.",
    "stdio": "Run the command by hand: what it wrote last to standard error is in the line above.",
    "python": "The application runs in this process: pytest -s shows what it prints.",
}


class TargetGoneError(TargetError):
    """The target is gone, or not back yet."""


class TargetHealth:
    """Looks after the target of one run."""

    def __init__(self, settings: Settings, lost: Sequence[Mapping[str, Any]]) -> None:
        self.settings = settings
        self.patience = Patience(settings.timeout)
        self.gone = ""
        self._target: Target | None = None
        self._shaken = False
        """Set if the last check broke off: the target may be gone."""
        self._failed_openings = 0
        self._lost_in_a_row = 0
        self._lost = lost
        """What was noted on reports, in this process or in xdist's workers."""

    # ---- around each check

    @contextlib.contextmanager
    def watching(self, target: Target) -> Iterator[None]:
        """Around one check. Raises `TargetGoneError` at once if the target is gone."""
        if self.gone:
            raise TargetGoneError(self.gone)
        self._target = target
        self.patience.begin()
        with keeping(self.patience):
            if self._shaken:
                self._come_back(target)
            try:
                yield
            finally:
                if self.patience.last is not None and self.patience.last.broken_off:
                    # The next check starts or reaches the server again.
                    self._shaken = True
                    target.stop()

    def _come_back(self, target: Target) -> None:
        problem = self._open(target)
        if problem is None:
            self._failed_openings = 0
            return
        self._failed_openings += 1
        line = f"the target is gone: {problem}"
        if self._failed_openings >= _FAILED_OPENINGS:
            self.gone = line
        raise TargetGoneError(line)

    def _open(self, target: Target) -> Exception | None:
        """Start or reach the target again; returns why that failed, or None."""
        coming_back = Deadline(min(_COMING_BACK_SECONDS, self.settings.timeout))
        while True:
            target.stop()
            try:
                target.session()
            except (WireError, TargetError) as error:
                if not _on_its_way(error) or coming_back.passed:
                    return error
                time.sleep(_POLL_SECONDS)
            else:
                self._shaken = False
                return None

    # ---- what a check is worth

    def reconsider(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """The verdict, or "not verified" if the target was lost during the check."""
        error = phase.error
        if isinstance(error, EffectsError):
            # If the target itself broke off first, the probe's failure is only a consequence.
            first = next(iter(self.patience.troubles), None)
            if first is not None and first.broken_off and first.kind != "effects":
                return self._lose(result, phase, first.line)
            return self._lose(result, phase, result.why)
        if isinstance(error, (WireError, TargetError)):
            self._shaken = True
            return self._lose(result, phase, result.why)
        line = self._not_judged(result.verdict)
        if line:
            return self._lose(result, phase, line)
        if result.verdict is not Verdict.NOT_VERIFIED:
            self._lost_in_a_row = 0
        return result

    def _not_judged(self, verdict: Verdict) -> str:
        """Why a verdict says nothing about the rule; empty if it counts."""
        patience = self.patience
        troubles = [one for one in patience.troubles if not one.abandoned]
        if not troubles:
            return ""
        first = troubles[0]
        if verdict in (Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR):
            # There may be another reason, if the target went on to answer.
            broken_off = any(one.broken_off for one in troubles) or patience.last is not None
            ours = broken_off or first.kind not in patience.answered
            return first.line if ours or verdict is Verdict.HARNESS_ERROR else ""
        for trouble in troubles:
            if trouble.kind not in patience.answered or trouble.curtailed or trouble.not_now:
                return trouble.line
            if trouble.broken_off:
                # This may be how it breaks the rule, or it just happened to die now.
                problem = self._ask_again(trouble)
                if problem:
                    return f"{trouble.line}; and then: {problem}"
        return ""

    def _ask_again(self, trouble: Trouble) -> str:
        """Whether this very request breaks the target: empty if so, else why that is not certain.

        It does if the same request breaks off each time it is sent, while another of its kind,
        which was answered once, is answered again. A refusal counts as an answer. Asking again is
        safe: a call that was approved once is refused the second time; if it runs all the same, its
        arguments are safe to run.
        """
        target = self._target
        if target is None:
            return ""
        for _ in range(_REPEATS):
            problem = self._open_for_repeat(target)
            if problem:
                return problem
            reply = target.session().exchange(_once_more(trouble, target.session()), self._again)
            if self.patience.last is None or not self.patience.last.broken_off:
                return f"asked the very same again, it did not break off: {reply.describe()}"
        problem = self._open_for_repeat(target)
        sample = self.patience.samples.get(trouble.kind)
        if problem or sample is None:
            return problem
        try:
            asked = read_json(sample)
        except JsonError:  # what a scenario sent on purpose: nothing to compare with
            return ""
        reply = target.session().call(asked["method"], asked.get("params"), deadline=self._again)
        return "" if reply.answered else f"{trouble.kind}: {reply.describe()}"

    def _open_for_repeat(self, target: Target) -> str:
        self.patience.begin()
        problem = self._open(target)
        if problem is not None:
            self._shaken = True
        return "" if problem is None else str(problem)

    @property
    def _again(self) -> float:
        return min(_AGAIN_SECONDS, self.patience.timeout)

    def _lose(self, result: ScenarioResult, phase: Phase, why: str) -> ScenarioResult:
        why = hide(why)  # it goes into the report, and is printed at the end
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _LOST_CHECKS and not self.gone:
            who = _PROBE if why.startswith("effects") else "the target is gone: it"
            self.gone = (
                f"{who} broke off in {_LOST_CHECKS} checks in a row, in the last one at {why}"
            )
        phase.note("lost", {"line": why, "gone": self.gone, "rules": list(result.rules)})
        return phase.not_verified(result, why)

    # ---- at the end

    def summary_lines(self) -> list[str]:
        """One line says what is wrong, the others what it means and what to do."""
        if not self._lost:
            return []
        gone = next((one["gone"] for one in self._lost if one["gone"]), "")
        first = self._lost[0]["line"]
        # Another server than the target may serve it, and that one may be healthy.
        by_probe = first.startswith("effects")
        who = f"{_PROBE} could not be read" if by_probe else "the target broke off during the run"
        what = gone or f"{who}: {first}"
        rules = {rule for one in self._lost for rule in one["rules"]}
        kind = self.settings.targets[0].partition(":")[0].replace("https", "http")
        checks = f"{number_of(len(self._lost), 'check')} of {number_of(len(rules), 'rule')}"
        lines = [
            f"mcp-approval  {neutralise(what, 600)}",
            f"Because of that, {checks} could not be made; the other verdicts are valid. "
            f"Exit code {TARGET_LOST}, or 1 if something failed.",
        ]
        if by_probe:
            lines.append(
                f"Is the program behind {PREFIX}effects still running? It shows which tools ran."
            )
        elif str(Outcome.NO_ANSWER.value) in what:
            lines.append(
                f"If it is only slow: {PREFIX}timeout=SECONDS (now {self.settings.timeout:g})."
            )
        elif kind in _ADVICE:
            lines.append(_ADVICE[kind])
        return ["", lines[0], *(f"{'':14}{line}" for line in lines[1:])]

    @property
    def exit_code(self) -> int:
        """The exit code of a run in which nothing failed."""
        return TARGET_LOST if self._lost else 0


def _on_its_way(error: Exception) -> bool:
    """Whether nobody is there or the connection was closed: it may be stopping or starting."""
    if isinstance(error, UnreachableError):
        return True
    reply = error.reply if isinstance(error, NotMcpError) else None
    return reply is not None and reply.outcome is Outcome.CLOSED


def _once_more(trouble: Trouble, session: Session) -> Outgoing:
    """The same bytes and headers again, in another session."""
    sent = trouble.outgoing
    own = {name: value for name, value in sent.headers if name.lower() not in _OF_THE_CONNECTION}
    return session.prepare_bytes(sent.body, sent.request_id, sent.method, headers=own)
