"""The model of questions by elicitation: which answers must run a call, and which must not.

In the sessionless era an approval is an answer with the question's state, which can be sent again,
elsewhere and with another call; a question about a page needs what a person did there, too. In the
handshake era calls wait (`exploration_open_calls`). A tool that asks several questions, or about a
page from inside an open call, is for the listed scenarios.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, LeftOut, one_of, transition, which
from ..base.message_changes import another_value
from ..base.outcome import ObservedOutcome
from ..base.paths import value_at
from ..base.token_state import HeldApproval, Misuses
from .driver import Elicitation
from .exploration_open_calls import OpenCallsModel
from .form_answers import LEFT_OUT
from .health import honest_approval
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool
from .vocabulary import Action, Mode

_SURELY_GOOD = datetime.timedelta(seconds=45)
NOT_DONE = "url-accept-is-not-done"
_OTHERS = "exploration: tools that ask in another way"


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
        return self._asked(call, call.failing_arguments)

    def issue(self, call: ElicitingTool, session: Session | None = None) -> HeldApproval:
        del session
        return self._asked(call, call.arguments)

    def _asked(self, call: ElicitingTool, arguments: Any) -> HeldApproval:
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
        if asked.mode is None or asked.siblings:
            self.leave_out(call)
            raise EndOfWalk("it asks in another way than by one form or page")
        self.checked("asks-first")
        if asked.runs:
            raise self.broken(
                "asks-first",
                "it runs before the answer",
                sent=f"tools/call {call.name}",
                expected="a question, and nothing run",
                got=f"a question, and {asked.runs} runs",
            )
        # How long a question can be answered is the server's choice, and meant to be short.
        until = self.target.clock.now() + _SURELY_GOOD
        held = HeldApproval(asked, call.name, 0, good_until=until)
        if asked.mode is Mode.URL:
            self.unseen.append(held)
        return held

    # ---- pages

    @property
    def has_unseen(self) -> bool:
        return any(one in self.issued for one in self.unseen)

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
        person = self.driver.person
        try:
            (person.approve if approves else person.decline)(approved.thing)
        except DriverError as error:
            if approved.tried or not approved.certain:
                raise LeftOut from error  # the page of a question that was asked anew may be gone
            raise EndOfWalk(f"nobody could decide on the page: {error}") from error
        self.driver.forget()
        if approves:
            self.unseen.remove(approved)
        approved.tried = approved.tried or not approves
        place = self.issued.index(approved) + 1
        self.say(f"question {place}: a person says {'yes' if approves else 'no'} on its page")

    def must_refuse(self, approved: HeldApproval) -> tuple[str, str]:
        rule, why = super().must_refuse(approved)
        if not rule and approved in self.unseen:
            return NOT_DONE, "a question whose page nobody has approved"
        return rule, why

    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        question: AskedQuestion = approved.thing
        own = session is None and question.client.driver is self.driver
        how: dict[str, Any] = {} if own else {"client": self.driver.new_client()}
        outcome = self.driver.answer(question, honest=session is None, **how)
        asks_again = outcome.question is not None and approved not in self.unseen
        if asks_again and not approved.used and not approved.tried:
            self.leave_out(question.tool)
            raise EndOfWalk("it asks more than once")
        if approved in self.unseen:
            approved.tried = True  # the server may ask anew, about another page
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
        outcome = self.driver.answer(question, response)
        self.answered(outcome.reply)
        self.say(f"question {self.issued.index(approved) + 1}: {action}", outcome.describe())
        approved.tried = True  # whether it can still be accepted is left open (readings)
        if outcome.executed:
            approved.used = True
        self.expect_nothing_runs(outcome, action, f"a call whose answer was {action}")

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
