"""The model of questions by elicitation: which answers must run a call, and which must not.

In the sessionless era an approval is an answer with the question's state, which can be sent again,
elsewhere and with another call; a question about a page needs what a person did there, too
(`exploration_pages`). A call may ask several questions: at once, or one after the other. Each is an
approval by itself, and one that another question has followed runs nothing any more. In the
handshake era calls wait (`exploration_open_calls`).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, one_of, transition, which
from ..base.message_changes import another_value
from ..base.outcome import ObservedOutcome
from ..base.paths import value_at
from ..base.token_state import HeldApproval, Misuses
from .driver import MOST_ROUNDS, Elicitation
from .exploration_open_calls import OpenCallsModel
from .exploration_pages import NOT_DONE
from .form_answers import LEFT_OUT
from .health import honest_approval
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool
from .vocabulary import INPUT_RESPONSES, Action, Mode

_SURELY_GOOD = datetime.timedelta(seconds=45)
MISSING = "missing-answers"
_OTHERS = "exploration: tools that ask in another way"


@dataclass
class HeldQuestion(HeldApproval):
    """An answer to one question of a call."""

    round: int = 0
    before: HeldQuestion | None = None
    """The question of the same call that was answered before it."""
    followed: bool = False
    """An honest answer to it brought another question."""

    @property
    def earlier_ones_untouched(self) -> bool:
        """If one of them was sent again, a server may have asked this question anew."""
        before = self.before
        return before is None or (not before.tried and before.earlier_ones_untouched)


class ElicitationModel(OpenCallsModel):
    family = "elicitation"
    served_rule: ClassVar[str] = "accept-runs-once"
    what = "question"
    rules = Misuses(
        served="accept-runs-once",
        replayed="single-use",
        expired="",
        changed="state-arguments",
        forged="state-integrity",
        raced="single-use-race",
        restarted="single-use-restart",
        bare="asks-first",
        message="malformed-answers",
        swapped="state-tool",
        of_another="state-principal",
        failed="single-use",
    )
    without = ("withdraw",)

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.unseen: list[HeldApproval] = []
        """Questions about a page that nobody has been to."""
        self.after_restart()

    def after_restart(self) -> None:
        self.forget_open()
        self.driver = Elicitation(self.target)
        self.close_later(self.driver.close)

    @classmethod
    def checkable_rules(cls) -> set[str]:
        more = {rule for one in cls.transitions.values() for rule in one.rules}
        return super().checkable_rules() | {f"{cls.family}/{rule}" for rule in more}

    @property
    def can_issue(self) -> bool:
        return not self.in_open_calls and super().can_issue

    @property
    def may_spoil(self) -> bool:
        return not self.in_open_calls and super().may_spoil

    @property
    def can_fail(self) -> bool:
        return not self.in_open_calls and super().can_fail

    @property
    def can_restart(self) -> bool:
        asked = self.has_issued or bool(self.asked)
        return self.target.can_restart and not self.restarted and asked

    def restart_target(self, restart: Callable[[], None] | None = None) -> None:
        self.walk_away()
        super().restart_target(restart)

    @property
    def session(self) -> Session:
        return self.driver.client.session

    def honest(self) -> str:
        return honest_approval(self.target)

    def calls(self) -> Sequence[ElicitingTool]:
        others = self._others()
        return [
            one
            for one in self.driver.tools()
            if one.arguments is not None and one.name not in others and not self._repeats(one)
        ]

    def _others(self) -> set[str]:
        """The tools that turned out to ask in another way."""
        found: set[str] = self.target.remembered.setdefault(_OTHERS, set())
        return found

    def leave_out(self, tool: ElicitingTool) -> None:
        self._others().add(tool.name)

    def _repeats(self, tool: ElicitingTool) -> bool:
        """A tool that may be repeated gets a warning for it (readings), which scenarios give."""
        entry = self.driver.listing().get(tool.name, {})
        return value_at(entry, "annotations.idempotentHint") is True

    def failing_calls(self) -> Sequence[ElicitingTool]:
        return [one for one in self.calls() if one.failing_arguments is not None]

    def issue_failing(self, call: ElicitingTool) -> HeldApproval:
        """Up to its last question."""
        rounds = self.rounds_of(call)
        held = self._asked(call, call.failing_arguments)
        for _ in range(rounds - 1):
            outcome = self.driver.approve(held.thing)
            if outcome.question is None or not self.can_be_answered(outcome.question):
                raise EndOfWalk("it does not ask as often as it did")
            held.thing = outcome.question
        return held

    def issue(self, call: ElicitingTool, session: Session | None = None) -> HeldApproval:
        del session
        return self._asked(call, call.arguments)

    def _asked(self, call: ElicitingTool, arguments: Any) -> HeldQuestion:
        asked = self.driver.ask(call, arguments)
        if not isinstance(asked, AskedQuestion) and asked.executed:
            raise self.broken(
                "asks-first",
                "it runs and asks nobody",
                sent=f"tools/call {call.name}",
                expected="a question, and nothing run",
                got=asked.describe(),
            )
        if not isinstance(asked, AskedQuestion):
            raise DriverError(
                f"{call.name}: expected a question, got {asked.describe()}", asked.reply
            )
        if not self.can_be_answered(asked):
            self.leave_out(call)
            raise EndOfWalk("it asks in another way than by forms or a page")
        self.checked("asks-first")
        if asked.runs:
            raise self.broken(
                "asks-first",
                "it runs before the answer",
                sent=f"tools/call {call.name}",
                expected="a question, and nothing run",
                got=f"a question, and {asked.runs} runs",
            )
        return self._held(asked)

    def _held(self, asked: AskedQuestion) -> HeldQuestion:
        # How long a question can be answered is the server's choice, and meant to be short.
        until = self.target.clock.now() + _SURELY_GOOD
        held = HeldQuestion(asked, asked.tool.name, 0, good_until=until)
        if asked.mode is Mode.URL:
            self.unseen.append(held)
        return held

    # ---- several questions, one after the other

    def _follow(self, earlier: HeldQuestion, question: AskedQuestion) -> None:
        """An honest answer brought another question, whose answer is an approval by itself."""
        if earlier.round + 1 >= MOST_ROUNDS or not self.can_be_answered(question):
            self.leave_out(question.tool)
            raise EndOfWalk("it asks without end, or in another way than by forms or a page")
        self.driver.seen.note_round(earlier.round + 1, question)
        earlier.followed = True
        held = self._held(question)
        held.place, held.round, held.before = earlier.place, earlier.round + 1, earlier
        self.issued.append(held)

    def must_serve(self, approved: HeldApproval) -> bool:
        assert isinstance(approved, HeldQuestion)
        untouched = approved.earlier_ones_untouched and not self.was_visited(approved.thing)
        return untouched and super().must_serve(approved)

    # ---- pages

    @property
    def has_unseen(self) -> bool:
        return any(one in self.issued for one in self.unseen)

    def undecided(self) -> list[AskedQuestion]:
        return [*super().undecided(), *(one.thing for one in self.unseen if one in self.issued)]

    @transition(
        "a person decides on the page",
        when="has_unseen",
        rules=(NOT_DONE,),
        weight=3,
        number=which(),
        approves=one_of(True, True, False),
    )
    def go_to_page(self, number: int, approves: bool) -> None:
        """After a no, whatever is sent runs nothing."""
        there = [one for one in self.unseen if one in self.issued]
        approved: HeldApproval = self.pick(there, number)
        # The page of a question that was asked anew may be gone.
        gone = approved.tried or not approved.certain or self.was_visited(approved.thing)
        self.at_page(approved.thing, approves=approves, gone=gone)
        if approves:
            self.unseen.remove(approved)
        approved.tried = approved.tried or not approves
        place = self.issued.index(approved) + 1
        self.say(f"question {place}: a person says {'yes' if approves else 'no'} on its page")

    def must_refuse(self, approved: HeldApproval) -> tuple[str, str]:
        assert isinstance(approved, HeldQuestion)
        rule, why = super().must_refuse(approved)
        if not rule and approved in self.unseen:
            return self.rule_of_page(approved.thing)
        if not rule and approved.followed:
            return "asks-first", "an answer that another question has followed"
        return rule, why

    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        question: AskedQuestion = approved.thing
        own = session is None and question.client.driver is self.driver
        how: dict[str, Any] = {} if own else {"client": self.driver.new_client()}
        assert isinstance(approved, HeldQuestion)
        expected = own and not self.must_refuse(approved)[0] and self.must_serve(approved)
        outcome = self.driver.answer(question, honest=session is None, **how)
        if outcome.question is not None and expected:
            self._follow(approved, outcome.question)
        elif approved in self.unseen or approved.followed:
            approved.tried = True  # the server may ask anew, about another page too
        return outcome

    def redeem_as_other(self, approved: HeldApproval) -> ObservedOutcome:
        other = self.driver.new_client(headers=self.target.second_user_headers)
        return self.driver.answer(approved.thing, client=other)

    def changed(
        self, approved: HeldApproval
    ) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        question: AskedQuestion = approved.thing
        safe = dict(question.arguments)
        others = [
            (f"with another {name}", {**safe, name: another_value(value)})
            for name, value in safe.items()
            if name not in question.tool.exempt
        ]
        return [
            (what, lambda given=given: self.driver.answer(question, arguments=given))  # type: ignore[misc]
            for what, given in others
        ]

    def forged(self, approved: HeldApproval) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        question: AskedQuestion = approved.thing
        ways: dict[str, Any] = {"no state": LEFT_OUT, "an empty state": ""}
        if isinstance(question.state, str) and len(question.state) > 20:
            state = question.state
            middle = len(state) // 2
            other = "A" if state[middle] != "A" else "B"
            ways["another character in the state"] = state[:middle] + other + state[middle + 1 :]
            ways["half of the state"] = state[:middle]
            ways["the state backwards"] = state[::-1]
        return [
            (what, lambda state=state: self.driver.answer(question, state=state))  # type: ignore[misc]
            for what, state in ways.items()
        ]

    def swapped(
        self, approved: HeldApproval, other: ElicitingTool
    ) -> tuple[str, Callable[[], ObservedOutcome]]:
        question: AskedQuestion = approved.thing

        def act() -> ObservedOutcome:
            return self.driver.answer(question, tool=other, arguments=dict(other.arguments or {}))

        return f"at {other.name}", act

    def bare(self, call: ElicitingTool) -> ObservedOutcome:
        asked = self.driver.ask(call)
        if isinstance(asked, AskedQuestion):
            return self.driver._outcome(asked, asked.sent, honest=False)
        return asked

    @transition(
        "a person says no",
        when="has_unused",
        rules=("decline", "cancel"),
        number=which(),
        action=one_of("decline", "cancel"),
    )
    def say_no(self, number: int, action: str) -> None:
        unused = [one for one in self.issued[::-1] if not one.used]
        approved: HeldApproval = self.pick(unused, number)
        question: AskedQuestion = approved.thing
        response = question.response(Action(action), LEFT_OUT)
        how: dict[str, Any] = {}
        if question.approving is None:
            # Of several questions at once, none says which of them approves: a no to all of them.
            how["responses"] = dict.fromkeys((question.key, *question.siblings), response)
        outcome = self.driver.answer(question, response, **how)
        self.answered(outcome.reply)
        self.say(f"question {self.issued.index(approved) + 1}: {action}", outcome.describe())
        approved.tried = True  # whether it can still be accepted is left open (readings)
        if outcome.executed:
            approved.used = True
        self.expect_nothing_runs(outcome, action, f"a call whose answer was {action}")

    @transition(
        "a call is made with the state alone",
        when="has_unused",
        rules=(MISSING,),
        number=which(),
        others=one_of(False, True),
    )
    def answer_nothing(self, number: int, others: bool) -> None:
        """`others`: of several questions at once, all but the one that approves are answered."""
        unused = [one for one in self.issued[::-1] if not one.used]
        approved: HeldApproval = self.pick(unused, number)
        question: AskedQuestion = approved.thing
        if question.mode is Mode.URL and approved not in self.unseen:
            raise LeftOut  # its person has approved on the page
        responses: dict[str, Any] = {}
        if others and question.approving is not None:
            responses = dict(self.driver.retry_params(question, {})[INPUT_RESPONSES])
            del responses[question.key]
        outcome = self.driver.answer(question, responses=responses)
        self.answered(outcome.reply)
        place = self.issued.index(approved) + 1
        told = f"{len(responses)} other answers" if responses else "no answer"
        self.say(f"question {place}: its state, and {told}", outcome.describe())
        approved.tried = True
        if outcome.executed:
            approved.used = True
        self.expect_nothing_runs(outcome, MISSING, "a call whose question nobody answered")

    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        question: AskedQuestion = approved.thing
        return self.driver.retry_params(question, question.response())

    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        reply, runs = self.driver.runs_during(act)
        return self.driver.with_runs(self.driver.read(reply, approved.thing), runs)

    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]:
        return self.driver.runs_during(act)

    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool:
        """By the effects alone: a polite result need not be a run."""
        if self.driver.effects is not None:
            return False
        outcome: ElicitationOutcome = self.driver.read(reply, approved.thing)
        return outcome.succeeded


MODEL = ElicitationModel
