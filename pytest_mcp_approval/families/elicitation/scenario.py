"""What scenarios of elicitation are written with: honest people, all others, and expectations.

Knows the readings: a refusal may have many forms, a server may ask again, and what counts is that
nothing ran. Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be
checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...support.text import neutralise
from ...target import Target
from ...wire import Outcome
from ..base.driver import DriverError
from ..base.scenario import HonestStepRefused, finding_of
from ..base.second_user import headers_of_second_user
from .claims import says_no
from .driver import PASSED_OVER, Elicitation
from .honest_questions import HonestQuestions
from .outcome import AskedQuestion, ElicitationOutcome
from .people import FormPerson
from .settings import ElicitingTool
from .vocabulary import FAMILY

_A_MOMENT = 0.2
"""Seconds for a call that may rightly go on waiting."""
Attempt = Callable[[AskedQuestion], ElicitationOutcome]
"""Something that is done with a question, and must not run the call."""


class Questions(HonestQuestions):
    """One scenario's view of a server that asks."""

    def over(self, target: Target | None, what: str) -> Questions:
        """The same view of another server, which is closed with the scenario."""
        other = Elicitation(self.need_target(target, what))
        self._close_later(other.close)
        return Questions(other, self.warn, self._close_later)

    def replica(self, *, minor: bool = False) -> Questions:
        """Another server over the same state, for the whole scenario."""
        what = "a second server over the same state: name two targets, or {state} in the command"
        other = self.target.replica()
        if other is None and minor:
            raise NotVerified(f"needs {what}", minor=True)
        return self.over(other, what)

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
        if asked is None or not self.driver.seen.is_later_question(asked):
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

    @property
    def timers_follow(self) -> bool:
        """Whether the server's timers run on the clock that is moved here. A tool like libfaketime
        leaves them alone."""
        return self.clock.kind in ("injected", "file") or not self.clock.stops

    # ---- pages

    def person_at_page(self) -> FormPerson:
        """The caller's own person, who only looks."""
        person = self.table.person
        return self._at_page(person.headers or self.target.settings.headers)

    def somebody_at_page(self, headers: Mapping[str, str]) -> FormPerson:
        """Somebody else, whom the page knows by these headers, or not at all."""
        self.need_url_tools()
        person = self.table.person
        if not (person.headers or self.target.settings.headers):
            if self.over_stdio:
                raise NotApplicable("over stdio there is one person, and the page knows nobody")
            raise NotVerified(
                "needs to know how the page knows the person: headers = { NAME = 'VALUE' } in "
                f"[{FAMILY}.person]"
            )
        return self._at_page(headers)

    def _at_page(self, headers: Mapping[str, str]) -> FormPerson:
        if self.table.person.is_told:
            raise NotVerified(
                f"needs a page, and decisions go to a hook (who in [{FAMILY}.person])", minor=True
            )
        return FormPerson(self.target, self.table.person, headers)

    def second_person_headers(self) -> Mapping[str, str]:
        self.need_url_tools()
        own = self.table.person.second_headers
        return own or headers_of_second_user(self.target, known_to_document=True)

    def accept_without_waiting(self, asked: AskedQuestion) -> ElicitationOutcome:
        """Accept to open the page. A call that then waits for the page is not waited for."""
        if asked.pending is not None and not asked.pending.over:
            return self.driver.answer(asked, self.response(asked), seconds=_A_MOMENT)
        return self.driver.answer(asked, self.response(asked))

    def finish_page(self, asked: AskedQuestion) -> ElicitationOutcome:
        """The person finishes, after it was accepted: an open call then ends by itself, and others
        are answered once more."""
        waits = asked.pending is not None and not asked.pending.over
        with self.honest_step():
            self.driver.person.approve(asked)
        if waits:
            return self.driver.wait(asked)
        if asked.pending is not None:
            return self.try_to_approve(self.ask(asked.tool))
        return self.to_the_end(self.driver.answer(asked, self.response(asked), honest=True))

    # ---- many attempts

    def expect_none_runs(
        self,
        tool: ElicitingTool,
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
        if not self.target.last_served:
            self.honest(tool, arguments)
        with self.several() as several:
            with several.one(what):
                if self._all_at_once(tool, attempts, arguments, what, survives=survives):
                    return
            tolerated: dict[str, list[str]] = {}
            for name, attempt in attempts.items():
                with several.one(name):
                    outcome = self._taken(self.ask(tool, arguments, watch=False), attempt)
                    reading = (only_warn or {}).get(name, "")
                    if reading and (outcome.executed or outcome.claims):
                        tolerated.setdefault(reading, []).append(name)
                        continue
                    self.expect_not_run(outcome, sent=f"{what}, {name}")
            for reading, names in tolerated.items():
                self.warn(f"{what}, and it ran: {', '.join(names)}; {reading}")
            with several.one("afterwards"):
                self.still_serves(tool, after=what)

    def _all_at_once(
        self,
        tool: ElicitingTool,
        attempts: Mapping[str, Attempt],
        arguments: Any,
        what: str,
        *,
        survives: bool,
    ) -> bool:
        """Whether all attempts together ran nothing, and an honest yes then ran the call."""
        shared = self.ask(tool, arguments) if survives and self.sessionless else None

        def all_of_them() -> list[ElicitationOutcome]:
            outcomes: list[ElicitationOutcome] = []
            for attempt in attempts.values():
                outcomes.append(attempt(shared or self.ask(tool, arguments, watch=False)))
                self._need_an_end(outcomes, what)
            return outcomes

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

    def _need_an_end(self, outcomes: list[ElicitationOutcome], what: str) -> None:
        """Where calls do not end after an answer, the others would cost a deadline each. What many
        servers pass over is waited for only a moment."""
        open_ones = [
            one
            for one in outcomes
            if one.reply.outcome is Outcome.NO_ANSWER and one.reply.seconds > 2 * PASSED_OVER
        ]
        if sum(not one.asks_again for one in open_ones) > 1:
            raise NotVerified(f"{what}: twice the call did not end, so nothing follows")

    def _suspicious(self, outcome: ElicitationOutcome) -> bool:
        asked = outcome.question
        unclear = self.driver.effects is None and outcome.plain
        later = asked is not None and self.driver.seen.is_later_question(asked)
        return outcome.claims or later or unclear

    def _taken(self, asked: AskedQuestion, attempt: Attempt) -> ElicitationOutcome:
        outcome, runs = self.driver.runs_during(lambda: attempt(asked))
        return self.driver.with_runs(outcome, runs)


def shown(value: Any) -> str:
    """A value of the scenario's own, in few words."""
    return neutralise(str(value), 60)
