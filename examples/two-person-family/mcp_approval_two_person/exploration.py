"""What can be done with requests and approvals in any order, and what must then hold."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from pytest_mcp_approval import Model, one_of, transition, which

from .driver import Request, TwoPerson
from .health import honest_approval

_MOST_GUESSES = 5
"""So many wrong PINs close a request."""
_MOST_REQUESTS = 6
_CLOSE = datetime.timedelta(seconds=3)
"""An instant so near to the end is neither before nor after it."""


@dataclass
class Held:
    """A request, and what became of it."""

    request: Request
    done: bool = False
    wrong: int = 0
    """How many wrong PINs it got."""
    own: int = 0
    """How often the requester tried. The document does not say whether that is a wrong PIN."""


class TwoPersonModel(Model):
    """Requests of one person, and what became of them."""

    family = "two_person"
    served_rule = "2-approved-once"

    def begin(self) -> None:
        self.driver = TwoPerson(self.target)
        self.held: list[Held] = []

    def honest(self) -> str:
        return honest_approval(self.target)

    def state(self) -> tuple[Any, ...]:
        done = sum(one.done for one in self.held)
        return len(self.held), done, sum(one.wrong >= _MOST_GUESSES for one in self.held)

    # ---- what can be done now

    @property
    def can_request(self) -> bool:
        return len(self.held) < _MOST_REQUESTS

    @property
    def has_request(self) -> bool:
        return bool(self.held)

    @property
    def can_wait(self) -> bool:
        return self.has_request and self.clock_moves

    # ---- transitions

    @transition(
        "a request is made", when="can_request", rules=("1-request-runs-nothing",), weight=2
    )
    def request(self) -> None:
        with self.honest_steps("2-approved-once", "an honest request is refused", sent="request"):
            request, runs = self.driver.runs_during(self.driver.request)
        self.held.append(Held(request))
        self.say("a request is made", f"request {len(self.held)}")
        self.checked("1-request-runs-nothing")
        if runs:
            raise self.broken(
                "1-request-runs-nothing",
                "a request runs its action",
                sent="a request",
                expected="nothing run",
                got=f"{runs} run(s)",
            )

    @transition(
        "the second person approves",
        when="has_request",
        rules=("2-approved-once", "5-expiry", "6-guessing"),
        weight=2,
        number=which(),
    )
    def approve(self, number: int) -> None:
        held: Held = self.pick(self.held, number)
        rule, why = self._refusal_due(held)
        must_run = not rule and self._surely_open(held)
        outcome = self.driver.approve(held.request)
        self.answered(outcome.reply)
        self.say(f"request {self.held.index(held) + 1} is approved", outcome.describe())
        held.done = held.done or outcome.executed
        self.checked(rule or "2-approved-once")
        if rule and outcome.executed:
            raise self.broken(
                rule,
                f"{why} runs",
                sent=f"an approval of {why}",
                expected="a refusal",
                got=outcome.describe(),
            )
        if must_run and not outcome.served_once:
            raise self.broken(
                "2-approved-once",
                "an approval does not run its action once",
                sent="an approval with the second person's PIN",
                expected="it runs once",
                got=outcome.describe(),
            )

    @transition(
        "somebody else tries to approve",
        when="has_request",
        rules=("3-wrong-pin", "4-second-person"),
        number=which(),
        own=one_of(True, False),
    )
    def approve_wrongly(self, number: int, own: bool) -> None:
        held: Held = self.pick(self.held, number)
        table = self.driver.table
        if not (own or table.may_guess or held.wrong + held.own < _MOST_GUESSES - 1):
            return
        rule = "4-second-person" if own else "3-wrong-pin"
        outcome = self.driver.approve(held.request, table.requester_pin if own else "0")
        self.answered(outcome.reply)
        who = "the requester" if own else "somebody with a wrong PIN"
        self.say(f"{who} approves request {self.held.index(held) + 1}", outcome.describe())
        self.checked(rule)
        if own:
            held.own += 1
        elif self._surely_open(held):
            held.wrong += 1
        if outcome.executed:
            raise self.broken(
                rule,
                f"{who} approves",
                sent=f"an approval by {who}",
                expected="a refusal",
                got=outcome.describe(),
            )

    @transition("time passes", when="can_wait", seconds=one_of(1, 60, 299, 3600))
    def wait(self, seconds: int) -> None:
        self.move_clock(seconds)

    # ---- what is owed

    def _refusal_due(self, held: Held) -> tuple[str, str]:
        """The rule for which an approval must be refused now, and why; empty if it need not be."""
        if held.done:
            return "2-approved-once", "a request that was approved"
        if self.target.clock.now() > held.request.expires_at + _CLOSE:
            return "5-expiry", "a request that is over"
        if held.wrong >= _MOST_GUESSES:
            return "6-guessing", "a request with too many wrong PINs"
        return "", ""

    def _surely_open(self, held: Held) -> bool:
        """Whether nothing speaks against it, and nothing is left open."""
        in_time = self.target.clock.now() < held.request.expires_at - _CLOSE
        return in_time and not held.done and held.wrong + held.own < _MOST_GUESSES


MODEL = TwoPersonModel
