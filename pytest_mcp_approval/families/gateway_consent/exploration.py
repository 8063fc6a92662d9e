"""The model of a gateway: what each client was granted or denied, and which calls it asks about.

Of tools whose apps have an authorisation of their own, that it comes after consent and never
before; what it needs itself is for the listed scenarios. Where the document leaves something open,
either answer is taken.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...catalogue import Grade
from ...target import Target
from ..base.driver import DriverError
from ..base.exploration import (
    AnyChange,
    EndOfWalk,
    Exercised,
    Model,
    is_internal_error,
    one_of,
    transition,
    which,
)
from ..base.fuzzing import fuzzed
from .driver import Client, GatewayConsent
from .health import honest_approval
from .outcome import GatewayOutcome
from .settings import SafeTool
from .vocabulary import Choice

_CLIENTS = ("Cursor", "Windsurf", "Cursor ")
_UNDECIDED, _ONCE, _ALWAYS, _DENIED, _OPEN = "undecided", "once", "always", "denied", "open"


@dataclass
class _Stand:
    """Where one client stands with one tool."""

    state: str = _UNDECIDED
    asked: GatewayOutcome | None = None
    """The question that nobody has answered yet."""
    by_all: bool = False
    """Whether it was granted with all tools of its app."""


class GatewayModel(Model):
    """Two or three clients, and the tools that they may be granted."""

    family = "gateway_consent"
    served_rule: ClassVar[str] = "consent-required"

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.driver = GatewayConsent(target)
        self.close_later(self.driver.close)
        # Names of their own: a gateway that is not reset remembers those of earlier walks.
        self.mark = secrets.token_hex(4)
        self.stands: dict[tuple[int, str], _Stand] = {}
        self.restarted = False

    def begin(self) -> None:
        if self.driver.asks_in_dialogs:
            raise EndOfWalk("a gateway that asks in dialogs is not explored")
        if not self.tools:
            raise EndOfWalk("no tool that may be run is named")

    @property
    def tools(self) -> list[SafeTool]:
        found = self.driver.tools()
        alone = [one for one in found if not one.own_authorisation]
        return [*alone[:5], *(one for one in found if one.own_authorisation)][:7]

    def client(self, number: int) -> Client:
        return self.driver.client(f"{self.mark} {_CLIENTS[number].strip()} {number}")

    def stand(self, client: int, tool: SafeTool) -> _Stand:
        return self.stands.setdefault((client, tool.name), _Stand())

    @property
    def has_question(self) -> bool:
        return any(one.asked is not None for one in self.stands.values())

    @property
    def has_decided(self) -> bool:
        return any(one.state != _UNDECIDED for one in self.stands.values())

    @property
    def can_restart(self) -> bool:
        return self.target.can_restart and not self.restarted and self.has_decided

    @property
    def can_wait(self) -> bool:
        return self.has_decided and self.clock_moves

    def state(self) -> tuple[Any, ...]:
        states = [one.state for one in self.stands.values()]
        kinds = (_UNDECIDED, _ONCE, _ALWAYS, _DENIED, _OPEN)
        return (*(states.count(kind) for kind in kinds), self.restarted)

    def honest(self) -> str:
        return honest_approval(self.target)

    @transition(
        "a client calls a tool",
        rules=(
            *("consent-required", "caller-isolation", "tool-isolation", "deny", "remember"),
            "two-layers",
        ),
        weight=5,
        client=which(2),
        tool=which(6),
    )
    def call(self, client: int, tool: int) -> None:
        chosen: SafeTool = self.pick(self.tools, tool)
        stand = self.stand(client, chosen)
        outcome = self.client(client).call(chosen)
        self.answered(outcome.reply)
        self.say(f"client {client + 1} calls {chosen.name} ({stand.state})", outcome.describe())
        self._compare(stand, outcome, client, chosen)

    def _compare(self, stand: _Stand, outcome: GatewayOutcome, client: int, tool: SafeTool) -> None:
        sent = f"tools/call {tool.name} by client {client + 1} ({stand.state})"
        rule = self._rule(client, stand)
        self.checked(rule)
        if stand.state in (_UNDECIDED, _DENIED) and (outcome.executed or outcome.succeeded):
            raise self.broken(
                rule,
                f"a call runs that was {stand.state}",
                sent=sent,
                expected="refused, tool not run",
                got=outcome.describe(),
                grade=Grade.RAN,
            )
        if tool.own_authorisation:
            self.checked("two-layers")
        if stand.state in (_UNDECIDED, _DENIED) and outcome.needs_authorization:
            raise self.broken(
                "two-layers",
                "the app's authorisation comes before consent",
                sent=sent,
                expected="a question about consent, or a denial",
                got=outcome.describe(),
            )
        if is_internal_error(outcome.reply):
            raise self.broken(
                rule,
                f"an internal error for a call that was {stand.state}",
                sent=sent,
                expected="a refusal that says why",
                got=outcome.describe(),
                warning=True,
            )
        if stand.state == _UNDECIDED and not outcome.needs_consent:
            raise self.broken(
                rule, "nobody is asked", sent=sent, expected="a question", got=outcome.describe()
            )
        authorised_next = tool.own_authorisation and outcome.needs_authorization
        if stand.state in (_ONCE, _ALWAYS) and not (outcome.served or authorised_next):
            raise self.broken(
                rule,
                f"a call is refused that was allowed {stand.state}",
                sent=sent,
                expected="it runs",
                got=outcome.describe(),
            )
        if stand.state == _ONCE:
            # Whether the way to the app's authorisation uses up a decision is left open.
            stand.state = _OPEN if authorised_next else _UNDECIDED
        stand.asked = outcome if outcome.needs_consent else None
        if stand.state == _OPEN and outcome.needs_consent:
            stand.state = _UNDECIDED

    @transition(
        "a client makes the same call several times at once",
        rules=("consent-required", "deny", "remember"),
        client=which(2),
        tool=which(6),
        copies=one_of(2, 3, 5),
    )
    def call_at_once(self, client: int, tool: int, copies: int) -> None:
        chosen: SafeTool = self.pick(self.tools, tool)
        stand = self.stand(client, chosen)
        outcomes, runs = self.client(client).at_once(chosen, copies)
        served = sum(one.succeeded for one in outcomes)
        ran = served if runs is None else runs
        self.say(
            f"client {client + 1} calls {chosen.name} {copies} times at once ({stand.state})",
            f"{served} results, {ran} runs",
        )
        rule = "remember" if stand.state == _ONCE else self._rule(client, stand)
        self.checked(rule)
        allowed = {_UNDECIDED: 0, _DENIED: 0, _ONCE: 1}.get(stand.state, copies)
        if ran > allowed:
            told = ", ".join(one.describe() for one in outcomes)
            raise self.broken(
                rule,
                f"of many calls at once more run than were allowed ({stand.state})",
                sent=f"tools/call {chosen.name} {copies} times at once by client {client + 1}",
                expected=f"at most {allowed} of them run",
                got=f"{ran} runs: {told}",
                grade=Grade.RAN,
                by_chance=stand.state == _ONCE,
            )
        for one in outcomes:
            self.answered(one.reply)
        stand.asked = next((one for one in outcomes if one.needs_consent), stand.asked)
        if stand.state == _ONCE:
            stand.state = _OPEN
            stand.asked = None

    def _rule(self, client: int, stand: _Stand) -> str:
        """What a wrong answer would break: by what others were granted."""
        if stand.state == _DENIED:
            return "deny"
        if stand.by_all:
            return "authorize-all"
        if stand.state in (_ONCE, _ALWAYS):
            return "remember" if stand.state == _ALWAYS else "consent-required"
        granted = [key for key, one in self.stands.items() if one.state in (_ONCE, _ALWAYS)]
        if any(other == client for other, _ in granted):
            return "tool-isolation"
        return "caller-isolation" if granted else "consent-required"

    @transition(
        "a person decides",
        when="has_question",
        rules=("remember", "deny", "authorize-all"),
        weight=4,
        number=which(),
        choice=one_of("tool", "tool", "deny", "all"),
        remember=one_of(True, False),
    )
    def decide(self, number: int, choice: str, remember: bool) -> None:
        open_ones = [key for key, one in self.stands.items() if one.asked is not None]
        client, name = self.pick(open_ones, number)
        stand = self.stands[client, name]
        asked, stand.asked = stand.asked, None
        assert asked is not None
        remember = remember or choice == "all"  # what an unremembered one does is left open
        self.say(
            f"client {client + 1}, {name}: {choice}{', remembered' if remember else ', this once'}"
        )
        try:
            self.driver.decide(asked, Choice(choice), remember=remember)
        except DriverError as error:
            raise EndOfWalk(f"a person could not decide: {error}") from error
        if choice == "deny":
            stand.state = _DENIED if remember else _OPEN
        elif choice == "tool":
            stand.state = _ALWAYS if remember else _ONCE
        else:
            self._allow_all(client, name)

    def _allow_all(self, client: int, name: str) -> None:
        """Every tool of that app; what was decided on one of them before is left open."""
        app = next(one.app for one in self.tools if one.name == name)
        for tool in self.tools:
            if tool.app == app:
                stand = self.stand(client, tool)
                fresh = stand.state == _UNDECIDED or tool.name == name
                stand.state = _ALWAYS if fresh else _OPEN
                stand.by_all = fresh
                stand.asked = None

    @transition("the gateway is restarted", when="can_restart", rules=("remember",))
    def restart(self) -> None:
        self.restart_target(self.driver.restart)
        self.restarted = True
        for stand in self.stands.values():
            stand.asked = None
            if stand.state == _ONCE:
                stand.state = _OPEN

    @transition("time passes", when="can_wait", seconds=one_of(60, 3600, 43_200))
    def wait(self, seconds: int) -> None:
        self.move_clock(seconds)
        for stand in self.stands.values():
            stand.asked = None  # a question may be over
            if stand.state == _ONCE:
                stand.state = _OPEN

    @transition(
        "a call is sent with a changed message",
        rules=("consent-required",),
        client=which(2),
        tool=which(6),
        change=AnyChange(),
    )
    def fuzz(self, client: int, tool: int, change: Mapping[str, Any]) -> None:
        chosen: SafeTool = self.pick(self.tools, tool)
        asking = self.client(client)
        params = self.driver.binding.call_params(chosen, chosen.arguments)
        request = fuzzed(asking.connection.session, "tools/call", params, change)
        if request is None:
            return
        replies, runs = asking.connection.runs_during(lambda: [request.send()])
        ran = bool(runs) if asking.connection.effects is not None else False
        self.say(f"client {client + 1}, {request.words}", replies[0].describe())
        self.checked("consent-required")
        # A name may have become another tool's, which this client was granted.
        if ran and not any(
            one.state in (_ONCE, _ALWAYS, _OPEN)
            for (other, _), one in self.stands.items()
            if other == client
        ):
            raise self.broken(
                "consent-required",
                "a changed message runs without consent",
                sent=request.words,
                expected="an error or a question, tool not run",
                got=f"{replies[0].describe()}, tool run",
                grade=Grade.RAN,
            )
        for tool_ in self.tools:
            stand = self.stand(client, tool_)
            if stand.state == _ONCE:
                stand.state = _OPEN  # it may have been used up
        if is_internal_error(replies[0]):
            raise self.broken(
                "consent-required",
                "an internal error",
                sent=request.words,
                expected="an error that says what is wrong with the message",
                got=replies[0].describe(),
                warning=True,
            )


MODEL = GatewayModel
