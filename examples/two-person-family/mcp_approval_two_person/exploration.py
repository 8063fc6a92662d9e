"""What can be done with requests and approvals in any order, and what must then hold."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval import Model, one_of, transition, which

from .driver import Request, TwoPerson
from .health import honest_approval

_MOST_GUESSES = 4
"""Five wrong PINs close a request."""


class TwoPersonModel(Model):
    """Requests of one person, and what became of them."""

    family = "two_person"
    served_rule = "2-approved-once"

    def begin(self) -> None:
        self.driver = TwoPerson(self.target)
        self.requests: list[Request] = []
        self.done: set[str] = set()
        self.guesses = 0

    def honest(self) -> str:
        return honest_approval(self.target)

    def state(self) -> tuple[Any, ...]:
        return len(self.requests), len(self.done), self.guesses

    @property
    def has_request(self) -> bool:
        return bool(self.requests)

    @property
    def may_guess(self) -> bool:
        return self.has_request and self.guesses < _MOST_GUESSES

    @transition("a request is made", weight=2)
    def request(self) -> None:
        with self.honest_steps("2-approved-once", "an honest request is refused", sent="request"):
            self.requests.append(self.driver.request())
        self.say("a request is made", f"request {len(self.requests)}")

    @transition("the second person approves", when="has_request", weight=2, number=which())
    def approve(self, number: int) -> None:
        request: Request = self.pick(self.requests, number)
        outcome = self.driver.approve(request)
        self.answered(outcome.reply)
        self.say(f"request {self.requests.index(request) + 1} is approved", outcome.describe())
        self.checked("2-approved-once")
        expected = request.id not in self.done
        if outcome.executed:
            self.done.add(request.id)
        if outcome.executed != expected:
            raise self.broken(
                "2-approved-once",
                "an approval is refused" if expected else "a request runs twice",
                sent="an approval with the second person's PIN",
                expected="it runs" if expected else "it has run already",
                got=outcome.describe(),
            )

    @transition(
        "somebody else tries to approve",
        when="may_guess",
        rules=("3-wrong-pin", "4-second-person"),
        number=which(),
        own=one_of(True, False),
    )
    def approve_wrongly(self, number: int, own: bool) -> None:
        self.guesses += 1
        request: Request = self.pick(self.requests, number)
        rule = "4-second-person" if own else "3-wrong-pin"
        outcome = self.driver.approve(request, self.driver.table.requester_pin if own else "0")
        self.answered(outcome.reply)
        who = "the requester" if own else "somebody with a wrong PIN"
        self.say(f"{who} approves", outcome.describe())
        self.checked(rule)
        if outcome.executed:
            raise self.broken(
                rule,
                f"{who} approves",
                sent=f"an approval by {who}",
                expected="a refusal",
                got=outcome.describe(),
            )


MODEL = TwoPersonModel
