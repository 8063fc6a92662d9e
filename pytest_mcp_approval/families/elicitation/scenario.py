"""What scenarios of elicitation are written with: honest people, all others, and expectations.

Knows the readings: a refusal may have many forms, a server may ask again, and what counts is that
nothing ran. Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...catalogue import Finding, Grade
from ...support.text import neutralise
from ...target import Target
from ...wire import Outcome
from ..base.driver import DriverError
from ..base.scenario import HonestStepRefused, finding_of
from .claims import says_no
from .driver import Elicitation
from .honest_questions import HonestQuestions
from .outcome import ElicitationOutcome
from .question import AskedQuestion
from .settings import AskingTool

Attempt = Callable[[AskedQuestion], ElicitationOutcome]
"""Something that is done with a question, and must not run the call."""


class Questions(HonestQuestions):
    """One scenario's view of a server that asks."""

    def over(self, target: Target | None, what: str) -> Questions:
        """The same view of another server, which is closed with the scenario."""
        other = Elicitation(self.need_target(target, what))
        self._close_later(other.close)
        return Questions(other, self.warn, self._close_later)

    def replica(self) -> Questions:
        """Another server over the same state, for the whole scenario."""
        return self.over(
            self.target.replica(),
            "a second server over the same state: name two targets, or {state} in the command",
        )

    # ---- expectations

    def expect_question(self, came: AskedQuestion | ElicitationOutcome, *, sent: str) -> None:
        """A question, and nothing run. A refusal without one is not as bad as a run."""
        self.target.last_sent = sent
        expected = "a question, and nothing run"
        if isinstance(came, ElicitationOutcome):
            grade = Grade.RAN if came.executed else Grade.BROKEN
            raise finding_of(came, sent=sent, expected=expected, grade=grade)
        if came.runs != 0 and came.sent.before is not None and came.pending is None:
            ran = "it ran" if came.runs is None else f"it ran {came.runs} times"
            raise Finding(
                sent=sent,
                expected=expected,
                got=f"{ran} before anybody answered; {came.describe()}",
                grade=Grade.RAN,
            )

    def expect_not_run(
        self, outcome: Any, *, sent: str, expected: str = "nothing run, and no claim that it did"
    ) -> None:
        """Whatever the target answers. In a call of several questions, one that it takes is
        followed to the end."""
        self.target.last_sent = sent
        outcome = self._followed(outcome)
        if outcome.executed:
            raise finding_of(outcome, sent=sent, expected=expected, grade=Grade.RAN)
        if outcome.claims:
            raise finding_of(outcome, sent=sent, expected=expected, remark=" (it says that it ran)")
        if not outcome.probed and outcome.plain and not says_no(outcome.text, outcome.tool):
            self.warn(
                f"{sent}: {outcome.describe()}; that says neither that it ran nor that it did not"
            )

    def _followed(self, outcome: ElicitationOutcome) -> ElicitationOutcome:
        asked = outcome.question
        if asked is None or not self.driver.is_later_question(asked):
            return outcome
        try:
            return self.driver.finish(asked)
        except DriverError:
            return outcome

    def expect_ran_once(self, outcome: ElicitationOutcome, *, sent: str) -> None:
        self.target.last_sent = sent
        if not outcome.served_once:
            grade = Grade.RAN if (outcome.runs or 0) > 1 else Grade.BROKEN
            raise finding_of(outcome, sent=sent, expected="the tool run once", grade=grade)
        self.driver.served()

    def expect_proper(self, outcome: ElicitationOutcome, *, sent: str) -> None:
        """An answer of any kind, and no exception that escaped."""
        answered = outcome.reply.answered or outcome.asks_again
        http_refusal = outcome.reply.outcome in (Outcome.HTTP_STATUS, Outcome.NULL_ID)
        refused = http_refusal and 400 <= (outcome.reply.status or 400) < 500
        if outcome.internal_error or not (answered or refused):
            raise finding_of(outcome, sent=sent, expected="an error that says what is wrong")

    # ---- many attempts

    def expect_none_runs(
        self,
        tool: AskingTool,
        attempts: Mapping[str, Attempt],
        *,
        what: str,
        arguments: Any = None,
        survives: bool = False,
        only_warn: Mapping[str, str] | None = None,
    ) -> None:
        """None of these runs the call, and an honest yes then does.

        The effects are read once for all: most servers run nothing for any. If one may have run,
        each is made by itself. `survives`: one question can take all attempts, since none of them
        is an answer to it; if it does not, each gets its own. `only_warn` has those that may be
        taken, with the reading that says why.
        """
        with self.several() as several:
            with several.one(what):
                if self._all_at_once(tool, attempts, arguments, what, survives=survives):
                    return
            for name, attempt in attempts.items():
                with several.one(name):
                    self._expect_not_taken(
                        self.ask(tool, arguments, watch=False),
                        attempt,
                        sent=f"{what}, {name}",
                        reading=(only_warn or {}).get(name, ""),
                    )
            with several.one("afterwards"):
                self.still_serves(tool, after=what)

    def _all_at_once(
        self,
        tool: AskingTool,
        attempts: Mapping[str, Attempt],
        arguments: Any,
        what: str,
        *,
        survives: bool,
    ) -> bool:
        """Whether all attempts together ran nothing, and an honest yes then ran the call."""
        shared = self.ask(tool, arguments) if survives and self.sessionless else None

        def all_of_them() -> list[ElicitationOutcome]:
            return [
                attempt(shared or self.ask(tool, arguments, watch=False))
                for attempt in attempts.values()
            ]

        outcomes, runs = self.driver.runs_during(all_of_them)
        self.target.last_sent = what
        if self.driver.effects is not None and runs != 0:
            return False
        if any(self._suspicious(one) for one in outcomes):
            return False
        if shared is None:
            self.still_serves(tool, after=what)
            return True
        try:
            self.approve(shared)
        except (DriverError, HonestStepRefused):
            return False  # a server may end a question that is tampered with
        return True

    def _suspicious(self, outcome: ElicitationOutcome) -> bool:
        asked = outcome.question
        unclear = self.driver.effects is None and outcome.plain
        later = asked is not None and self.driver.is_later_question(asked)
        return outcome.claims or later or unclear

    def _expect_not_taken(
        self, asked: AskedQuestion, attempt: Attempt, *, sent: str, reading: str
    ) -> None:
        outcome, runs = self.driver.runs_during(lambda: attempt(asked))
        seen = self.driver.with_runs(outcome, runs)
        if reading and (seen.executed or seen.claims):
            self.warn(f"{sent}: {seen.describe()}; {reading}")
            return
        self.expect_not_run(seen, sent=sent)


def shown(value: Any) -> str:
    """A value of the scenario's own, in few words."""
    return neutralise(str(value), 60)
