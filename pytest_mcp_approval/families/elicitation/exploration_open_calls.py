"""The model of questions inside open calls: the handshake era.

client/elicitation, revisions 2025-06-18 and 2025-11-25: the question comes while the call waits,
and the answer is a message of its own. Several calls may wait at once, and be answered in any
order; a call may ask several questions, one after the other. What was answered is over, whoever
says it again. A question about a page is answered twice: in the client, which agrees to open the
page, and on the page, where the person decides; in either order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...catalogue import Grade
from ...wire import Era, StdioTransport
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, one_of, transition, which
from . import handshake
from .driver import PASSED_OVER
from .exploration_pages import NOT_DONE, PagesModel
from .form_answers import LEFT_OUT
from .hostile_answers import UNKNOWN_ACTIONS
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool
from .vocabulary import Action, Mode

_MOST_OPEN = 3
_MOST = 6
_ERROR = {"code": -32603, "message": "The person could not be asked"}
_FIRST_WITH_PAGES = "2025-11-25"


@dataclass
class QuestionInACall:
    """A question, and the call that waits for its answer."""

    question: AskedQuestion
    words: str
    round: int = 0
    """How many questions of the same call were answered before it."""
    over: bool = False
    certain: bool = True
    """Whether the call still waits, as far as can be told."""
    agreed: bool = False
    """The client agreed to open the page, and the call waits for what is decided there."""
    approved: bool | None = None
    """What a person decided on the page; None if nobody has."""

    @property
    def on_page(self) -> bool:
        return self.question.mode is Mode.URL

    @property
    def call(self) -> Any:
        return self.question.pending.call


class OpenCallsModel(PagesModel):
    """Calls that wait for a person."""

    def __init__(self, target: Any, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.asked: list[QuestionInACall] = []

    # ---- what there is

    @property
    def in_open_calls(self) -> bool:
        return self.driver.era is Era.HANDSHAKE

    @property
    def _over_a_pipe(self) -> bool:
        """Then a server may serve nobody else while a call waits."""
        return isinstance(self.target.transport, StdioTransport)

    @property
    def can_open(self) -> bool:
        most = 1 if self._over_a_pipe else _MOST_OPEN
        room = len(self.waiting) < most and len(self.asked) < _MOST
        return self.in_open_calls and room and bool(self.calls())

    @property
    def waiting(self) -> list[QuestionInACall]:
        return [one for one in self.asked if not one.over]

    @property
    def has_waiting(self) -> bool:
        return bool(self.waiting)

    @property
    def unanswered(self) -> list[QuestionInACall]:
        return [one for one in self.waiting if not one.agreed]

    @property
    def has_unanswered(self) -> bool:
        return bool(self.unanswered)

    @property
    def has_over(self) -> bool:
        return any(one.over and one.question.pending is not None for one in self.asked)

    @property
    def can_answer_elsewhere(self) -> bool:
        return not self._over_a_pipe and any(one.certain for one in self.unanswered)

    @property
    def undecided_inside(self) -> list[QuestionInACall]:
        """Those whose page nobody has decided on yet."""
        return [one for one in self.waiting if one.on_page and one.approved is None]

    @property
    def has_undecided_inside(self) -> bool:
        return bool(self.undecided_inside)

    def undecided(self) -> list[AskedQuestion]:
        return [*super().undecided(), *(one.question for one in self.undecided_inside)]

    # ---- transitions

    @transition(
        "a call waits for a person",
        when="can_open",
        rules=("asks-first",),
        weight=4,
        number=which(5),
    )
    def open_call(self, number: int) -> None:
        tool: ElicitingTool = self.pick(self.calls(), number)
        self.rounds_of(tool)
        came = self.driver.ask(tool)
        if not isinstance(came, AskedQuestion):
            self.answered(came.reply)
            if not came.executed and self.driver.client.session.revision < _FIRST_WITH_PAGES:
                self.leave_out(tool)  # it may ask on a page, which this revision does not have
                raise LeftOut
            self.say(f"{tool.name} is called", came.describe())
            self.checked("asks-first")
            raise self.broken(
                "asks-first",
                "nobody is asked",
                sent=f"tools/call {tool.name}",
                expected="a question, and nothing run",
                got=came.describe(),
                grade=Grade.RAN if came.executed else Grade.BROKEN,
            )
        if came.pending is None or not self.can_be_answered(came):
            self.leave_out(tool)
            self.driver.leave(came)
            raise LeftOut
        self.checked("asks-first")
        self.asked.append(QuestionInACall(came, tool.name))
        self.say(f"{tool.name} is called, and waits", f"question {len(self.asked)}")

    @transition(
        "a person answers inside the call",
        when="has_waiting",
        rules=("accept-runs-once", "decline", "cancel", NOT_DONE),
        weight=3,
        number=which(),
        action=one_of("accept", "accept", "decline", "cancel"),
    )
    def answer_inside(self, number: int, action: str) -> None:
        chosen: QuestionInACall = self.pick(self.waiting, number)
        if action != "accept":
            self._say_no_inside(chosen, action)
        elif chosen.on_page and not chosen.approved:
            self._agree_too_early(chosen)
        else:
            self._say_yes_inside(chosen)

    def _say_no_inside(self, chosen: QuestionInACall, action: str) -> None:
        if chosen.agreed:
            raise LeftOut  # which of two answers counts is left open
        response = chosen.question.response(Action(action), LEFT_OUT)
        outcome = self.driver.answer(chosen.question, response)
        chosen.over = True
        self._say_answered(chosen, action, outcome)
        self._walk_away_from(outcome)
        if outcome.question is None:
            self.answered(outcome.reply)
        self.expect_nothing_runs(outcome, action, f"a call whose answer was {action}")

    def _say_yes_inside(self, chosen: QuestionInACall) -> None:
        outcome = self.driver.answer(chosen.question, chosen.question.response(), honest=True)
        chosen.over = True
        self._say_answered(chosen, "accept", outcome)
        self._expect_served(chosen, outcome)

    def _expect_served(self, chosen: QuestionInACall, outcome: ElicitationOutcome) -> None:
        """It runs once; or another question follows, and then it runs on the answer to that."""
        if outcome.question is not None:
            self._follow_inside(chosen, outcome.question)
            return
        self.answered(outcome.reply)
        self.checked("accept-runs-once")
        if self._is_certain(chosen) and not (outcome.served and outcome.runs in (None, 1)):
            raise self.broken(
                "accept-runs-once",
                "an honest answer does not run its call once",
                sent=f"{chosen.words}, accepted",
                expected="it runs once",
                got=outcome.describe(),
            )

    def _is_certain(self, chosen: QuestionInACall) -> bool:
        """Whether an honest answer must be served."""
        return chosen.certain and not self.was_visited(chosen.question)

    def _follow_inside(self, chosen: QuestionInACall, question: AskedQuestion) -> None:
        if question.pending is None or not self.can_be_answered(question):
            self.leave_out(question.tool)
            self.driver.leave(question)
            raise EndOfWalk("it asks on in another way than by a form or a page")
        self.driver.seen.note_round(chosen.round + 1, question)
        self.asked.append(
            QuestionInACall(question, chosen.words, chosen.round + 1, certain=chosen.certain)
        )

    def _agree_too_early(self, chosen: QuestionInACall) -> None:
        """The client agrees to open a page that nobody has approved."""
        outcome = self.driver.answer(chosen.question, seconds=PASSED_OVER)
        # Agreeing twice is a client's mistake, for which a server may end the call.
        chosen.certain = chosen.certain and not chosen.agreed
        chosen.agreed = True
        chosen.over = chosen.question.pending.over or outcome.question is not None
        self._say_answered(chosen, "accept", outcome)
        self._walk_away_from(outcome)
        self.expect_nothing_runs(outcome, *self.rule_of_page(chosen.question))

    @transition(
        "a person decides on the page of an open call",
        when="has_undecided_inside",
        rules=(NOT_DONE, "accept-runs-once"),
        weight=3,
        number=which(),
        approves=one_of(True, True, False),
    )
    def go_to_page_inside(self, number: int, approves: bool) -> None:
        """A call whose client has agreed then ends; else the answer is still to come."""
        chosen: QuestionInACall = self.pick(self.undecided_inside, number)
        words = f"question {self.asked.index(chosen) + 1}: a person says "
        words += f"{'yes' if approves else 'no'} on its page"
        self.say(words)
        gone = not self._is_certain(chosen)
        if not chosen.agreed:
            self.at_page(chosen.question, approves=approves, gone=gone)
            chosen.approved = approves
            return

        def decide_and_wait() -> ElicitationOutcome:
            self.at_page(chosen.question, approves=approves, gone=gone)
            seconds = None if approves else PASSED_OVER
            return self.driver.wait(chosen.question, honest=approves, seconds=seconds)

        outcome, runs = self.driver.runs_during(decide_and_wait)
        outcome = self.driver.with_runs(outcome, runs)
        chosen.over, chosen.approved = True, approves
        self.say(words, outcome.describe())
        if approves:
            self._expect_served(chosen, outcome)
            return
        self._walk_away_from(outcome)
        self.driver.leave(chosen.question)
        self.expect_nothing_runs(outcome, NOT_DONE, "a call that was declined on its page")

    @transition(
        "an answer is sent after its call is over",
        when="has_over",
        rules=("single-use", "asks-first"),
        number=which(),
    )
    def answer_too_late(self, number: int) -> None:
        """Or while the call waits for the answer to another question."""
        over = [one for one in self.asked if one.over and one.question.pending is not None]
        chosen: QuestionInACall = self.pick(over, number)
        later = [one for one in self.waiting if one.call is chosen.call]
        if not chosen.question.pending.over and (self._over_a_pipe or not later):
            raise LeftOut
        outcome = self.driver.answer(chosen.question, seconds=PASSED_OVER)
        self._say_answered(chosen, "accept, once more", outcome)
        for one in later:
            one.certain = False
            one.over = one.question.pending.over or outcome.question is not None
        self._walk_away_from(outcome)
        if later:
            why = "an answer that another question has followed"
            self.expect_nothing_runs(outcome, "asks-first", why)
        else:
            self.expect_nothing_runs(outcome, "single-use", "an answer to a call that is over")

    @transition(
        "an answer that is none is sent",
        when="has_unanswered",
        rules=("unknown-action", "client-error"),
        number=which(),
        kind=one_of("an error", *UNKNOWN_ACTIONS),
    )
    def answer_oddly(self, number: int, kind: str) -> None:
        """Many servers pass over it and wait for another: then there is no answer yet."""
        chosen: QuestionInACall = self.pick(self.unanswered, number)
        question = chosen.question
        if kind == "an error":
            outcome = self.driver.answer(question, error=_ERROR, seconds=PASSED_OVER)
        else:
            response = question.response(UNKNOWN_ACTIONS[kind])
            outcome = self.driver.answer(question, response, seconds=PASSED_OVER)
        chosen.over = True
        rule = "client-error" if kind == "an error" else "unknown-action"
        self._say_answered(chosen, kind, outcome)
        self._walk_away_from(outcome)
        self.expect_nothing_runs(outcome, rule, "an answer that is none")
        if outcome.question is None and not question.pending.over:
            self.driver.leave(question)

    @transition(
        "an answer comes in another conversation",
        when="can_answer_elsewhere",
        rules=("state-session",),
        number=which(),
    )
    def answer_elsewhere(self, number: int) -> None:
        chosen: QuestionInACall = self.pick([one for one in self.unanswered if one.certain], number)
        other = self.driver.new_client(name="pytest-mcp-approval, another conversation")
        outcome = self.driver.answer(chosen.question, session=other.session, seconds=PASSED_OVER)
        self._say_answered(chosen, "accept, in another conversation", outcome)
        chosen.certain = False  # a server may end the call, to be safe
        chosen.over = chosen.question.pending.over or outcome.question is not None
        self._walk_away_from(outcome)
        self.expect_nothing_runs(outcome, "state-session", "an answer of another conversation")

    @transition(
        "an answer is sent several times at once",
        when="has_unanswered",
        rules=("single-use-race",),
        number=which(),
        copies=one_of(2, 3, 5),
    )
    def answer_at_once(self, number: int, copies: int) -> None:
        chosen: QuestionInACall = self.pick(self.unanswered, number)
        question = chosen.question
        asks_on = chosen.round + 1 < self.driver.seen.rounds_of(question.tool)
        if asks_on or (chosen.on_page and not chosen.approved):
            raise LeftOut  # the call does not end with this answer
        chosen.over = True
        _, runs = self.driver.runs_during(
            lambda: self.driver.race(question, question.response(), copies)
        )
        handshake.let_go(chosen.call)  # one that asks on, in the same words, is left
        self.say(
            f"question {self.asked.index(chosen) + 1} is accepted {copies} times at once",
            f"{runs} runs",
        )
        self.checked("single-use-race")
        if (runs or 0) > 1:
            raise self.broken(
                "single-use-race",
                "one question runs its call twice",
                sent=f"{chosen.words}, accepted {copies} times at once",
                expected="one run at most",
                got=f"{runs} runs",
                grade=Grade.RAN,
                by_chance=True,
            )

    # ---- around them

    def _walk_away_from(self, outcome: ElicitationOutcome) -> None:
        """A question that came instead of an end is left without an answer."""
        if outcome.question is not None:
            self.driver.leave(outcome.question)

    def _say_answered(
        self, chosen: QuestionInACall, what: str, outcome: ElicitationOutcome
    ) -> None:
        number = self.asked.index(chosen) + 1
        self.say(f"question {number}: {what}", outcome.describe())

    def state(self) -> tuple[Any, ...]:
        certain = sum(one.certain for one in self.waiting)
        agreed = sum(one.agreed for one in self.waiting)
        return (*super().state(), len(self.asked), len(self.waiting), certain, agreed)

    def walk_away(self) -> None:
        """Nobody waits any more for the calls that are open."""
        for one in self.waiting:
            one.over = True
            handshake.let_go(one.call)

    def forget_open(self) -> None:
        """The server was restarted: nobody waits any more."""
        for one in self.asked:
            one.over = True
        self.asked = []

    def settle(self) -> None:
        for one in self.waiting:
            try:
                self.driver.leave(one.question)
            except DriverError as error:
                raise EndOfWalk(f"a person could not walk away: {error}") from error
            one.over = True
        super().settle()
