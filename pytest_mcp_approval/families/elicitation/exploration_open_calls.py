"""The model of questions inside open calls: the handshake era.

client/elicitation, revisions 2025-06-18 and 2025-11-25: the question comes while the call waits,
and the answer is a message of its own. Several calls may wait at once, and be answered in any
order. What was answered is over, whoever says it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...catalogue import Grade
from ...wire import Era, StdioTransport
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, one_of, transition, which
from ..base.token_exploration import TokenModel
from . import handshake
from .driver import PASSED_OVER, Elicitation
from .form_answers import LEFT_OUT
from .hostile_answers import UNKNOWN_ACTIONS
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool
from .vocabulary import Action, Mode

_MOST_OPEN = 3
_MOST = 6
_ERROR = {"code": -32603, "message": "The person could not be asked"}


@dataclass
class QuestionInACall:
    """A question, and the call that waits for its answer."""

    question: AskedQuestion
    words: str
    over: bool = False
    certain: bool = True
    """Whether the call still waits, as far as can be told."""


class OpenCallsModel(TokenModel):
    """Calls that wait for a person."""

    driver: Elicitation

    def __init__(self, target: Any, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.asked: list[QuestionInACall] = []

    # ---- what there is

    @property
    def in_open_calls(self) -> bool:
        return self.driver.era is Era.HANDSHAKE

    @property
    def can_open(self) -> bool:
        # Over a pipe a server may serve nobody else while a call waits.
        alone = isinstance(self.target.transport, StdioTransport)
        most = 1 if alone else _MOST_OPEN
        return self.in_open_calls and len(self.waiting) < most and len(self.asked) < _MOST

    @property
    def waiting(self) -> list[QuestionInACall]:
        return [one for one in self.asked if not one.over]

    @property
    def has_waiting(self) -> bool:
        return bool(self.waiting)

    @property
    def has_over(self) -> bool:
        return any(one.over and one.question.pending is not None for one in self.asked)

    @property
    def can_answer_elsewhere(self) -> bool:
        alone = isinstance(self.target.transport, StdioTransport)
        return not alone and any(one.certain for one in self.waiting)

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
        came = self.driver.ask(tool)
        if not isinstance(came, AskedQuestion):
            self.answered(came.reply)
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
        if came.pending is None or came.mode is not Mode.FORM:
            self.leave_out(tool)
            self.driver.leave(came)
            raise LeftOut
        self.checked("asks-first")
        self.asked.append(QuestionInACall(came, tool.name))
        self.say(f"{tool.name} is called, and waits", f"question {len(self.asked)}")

    @transition(
        "a person answers inside the call",
        when="has_waiting",
        rules=("accept-runs-once", "decline", "cancel"),
        weight=3,
        number=which(),
        action=one_of("accept", "accept", "decline", "cancel"),
    )
    def answer_inside(self, number: int, action: str) -> None:
        chosen: QuestionInACall = self.pick(self.waiting, number)
        question, honest = chosen.question, action == "accept"
        response = question.response() if honest else question.response(Action(action), LEFT_OUT)
        outcome = self.driver.answer(question, response, honest=honest)
        chosen.over = True
        if outcome.question is not None:
            self.leave_out(question.tool)
            raise EndOfWalk("it asks more than once")
        self._say_answered(chosen, action, outcome)
        self.answered(outcome.reply)
        if not honest:
            self.expect_nothing_runs(outcome, action, f"a call whose answer was {action}")
            return
        self.checked("accept-runs-once")
        if chosen.certain and not (outcome.served and outcome.runs in (None, 1)):
            raise self.broken(
                "accept-runs-once",
                "an honest answer does not run its call once",
                sent=f"{chosen.words}, accepted",
                expected="it runs once",
                got=outcome.describe(),
            )

    @transition(
        "an answer is sent after its call is over",
        when="has_over",
        rules=("single-use",),
        number=which(),
    )
    def answer_too_late(self, number: int) -> None:
        over = [one for one in self.asked if one.over and one.question.pending is not None]
        chosen: QuestionInACall = self.pick(over, number)
        if not chosen.question.pending.over:
            raise LeftOut
        outcome = self.driver.answer(chosen.question)
        self._say_answered(chosen, "accept, once more", outcome)
        self.expect_nothing_runs(outcome, "single-use", "an answer to a call that is over")

    @transition(
        "an answer that is none is sent",
        when="has_waiting",
        rules=("unknown-action", "client-error"),
        number=which(),
        kind=one_of("an error", *UNKNOWN_ACTIONS),
    )
    def answer_oddly(self, number: int, kind: str) -> None:
        """Many servers pass over it and wait for another: then there is no answer yet."""
        chosen: QuestionInACall = self.pick(self.waiting, number)
        question = chosen.question
        if kind == "an error":
            outcome = self.driver.answer(question, error=_ERROR, seconds=PASSED_OVER)
        else:
            response = question.response(UNKNOWN_ACTIONS[kind])
            outcome = self.driver.answer(question, response, seconds=PASSED_OVER)
        chosen.over = True
        rule = "client-error" if kind == "an error" else "unknown-action"
        self._say_answered(chosen, kind, outcome)
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
        chosen: QuestionInACall = self.pick([one for one in self.waiting if one.certain], number)
        other = self.driver.new_client(name="pytest-mcp-approval, another conversation")
        outcome = self.driver.answer(chosen.question, session=other.session, seconds=PASSED_OVER)
        self._say_answered(chosen, "accept, in another conversation", outcome)
        chosen.certain = False  # a server may end the call, to be safe
        chosen.over = chosen.question.pending.over
        self.expect_nothing_runs(outcome, "state-session", "an answer of another conversation")

    @transition(
        "an answer is sent several times at once",
        when="has_waiting",
        rules=("single-use-race",),
        number=which(),
        copies=one_of(2, 3, 5),
    )
    def answer_at_once(self, number: int, copies: int) -> None:
        chosen: QuestionInACall = self.pick(self.waiting, number)
        question = chosen.question
        chosen.over = True
        _, runs = self.driver.runs_during(
            lambda: self.driver.race(question, question.response(), copies)
        )
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

    def leave_out(self, tool: ElicitingTool) -> None:
        """A tool that asks in a way that is not explored."""
        raise NotImplementedError

    def _say_answered(
        self, chosen: QuestionInACall, what: str, outcome: ElicitationOutcome
    ) -> None:
        number = self.asked.index(chosen) + 1
        self.say(f"question {number}: {what}", outcome.describe())

    def state(self) -> tuple[Any, ...]:
        certain = sum(one.certain for one in self.waiting)
        return (*super().state(), len(self.asked), len(self.waiting), certain)

    def walk_away(self) -> None:
        """Nobody waits any more for the calls that are open."""
        for one in self.waiting:
            one.over = True
            handshake.let_go(one.question.pending.call)

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
