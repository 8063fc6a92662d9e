"""The model of a gateway: what each client was granted or denied, and which calls it asks about.

What an app's own authorisation needs is in `exploration_apps` and `exploration_oauth`, with apps of
the suite's own; of other apps, only that it comes after consent. Where the document leaves
something open, either answer is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ...catalogue import Grade
from ..base.driver import DriverError
from ..base.exploration import (
    AnyChange,
    EndOfWalk,
    is_internal_error,
    one_of,
    transition,
    which,
)
from ..base.fuzzing import fuzzed
from .exploration_apps import is_own
from .exploration_oauth import OAuthModel
from .exploration_state import ALWAYS, DENIED, ONCE, OPEN, UNDECIDED, ClientStand
from .health import honest_approval
from .outcome import GatewayOutcome
from .settings import SafeTool
from .vocabulary import Choice


class GatewayModel(OAuthModel):
    """Two or three clients, and the tools that they may be granted."""

    family = "gateway_consent"
    served_rule: ClassVar[str] = "consent-required"

    def begin(self) -> None:
        if self.driver.asks_in_dialogs:
            raise EndOfWalk("a gateway that asks in dialogs is not explored")
        if not self.tools:
            raise EndOfWalk("no tool that may be run is named")

    @property
    def has_question(self) -> bool:
        return any(one.asked is not None for one in self.stands.values())

    @property
    def has_decided(self) -> bool:
        return any(one.state != UNDECIDED for one in self.stands.values())

    @property
    def can_restart(self) -> bool:
        keeps = self.driver.keeps_over_restarts and self.driver.target.can_restart
        return keeps and not self.restarted and self.has_decided

    @property
    def can_wait(self) -> bool:
        return self.has_decided and self.clock_moves

    def honest(self) -> str:
        return honest_approval(self.driver.target)

    @transition(
        "a client calls a tool",
        rules=(
            *("consent-required", "caller-isolation", "tool-isolation", "deny", "remember"),
            *("two-layers", "api-key", "app-credential", "cookie"),
        ),
        weight=5,
        client=which(2),
        tool=which(11),
    )
    def call(self, client: int, tool: int) -> None:
        self._call(client, self.pick(self.tools, tool))

    def _call(self, client: int, chosen: SafeTool) -> ClientStand:
        stand = self.stand(client, chosen)
        before = self.seen_by_apps()
        outcome = self.client(client).call(chosen)
        self.answered(outcome.reply)
        self.say(f"client {client + 1} calls {chosen.name} ({stand.state})", outcome.describe())
        if is_own(chosen):
            self.compare_app(stand, outcome, client, chosen, before)
        self._compare(stand, outcome, client, chosen)
        return stand

    @transition(
        "a client is let into an app",
        when="has_apps",
        rules=("api-key", "app-credential", "aai-tools-only-consented"),
        weight=2,
        client=which(1),
        tool=which(11),
    )
    def let_in(self, client: int, tool: int) -> None:
        """All the way, as far as it is not made yet: consent, the app's authorisation, a call."""
        chosen: SafeTool = self.pick(self.app_tools, tool)
        if self.until_needed(client, chosen).needed is not None:
            self.authorise_at(client, chosen.name)
            self._call(client, chosen)

    def until_needed(self, client: int, tool: SafeTool) -> ClientStand:
        stand = self._call(client, tool)
        if stand.asked is not None:
            self._decide(client, tool.name, "tool", remember=True)
            self._call(client, tool)
        return stand

    def _compare(
        self, stand: ClientStand, outcome: GatewayOutcome, client: int, tool: SafeTool
    ) -> None:
        sent = f"tools/call {tool.name} by client {client + 1} ({stand.state})"
        rule = self._rule(client, stand)
        self.checked(rule)
        if stand.state in (UNDECIDED, DENIED) and (outcome.executed or outcome.succeeded):
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
        if stand.state in (UNDECIDED, DENIED) and outcome.needs_authorization:
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
        if stand.state == UNDECIDED and not outcome.needs_consent:
            raise self.broken(
                rule, "nobody is asked", sent=sent, expected="a question", got=outcome.describe()
            )
        # The document has no code for it: any refusal but another question will do (readings).
        refused = outcome.refused and not (outcome.executed or outcome.needs_consent)
        authorised_next = tool.own_authorisation and refused
        if stand.state in (ONCE, ALWAYS) and not (outcome.served or authorised_next):
            raise self.broken(
                rule,
                f"a call is refused that was allowed {stand.state}",
                sent=sent,
                expected="it runs",
                got=outcome.describe(),
            )
        if stand.state == ONCE:
            # Whether the way to the app's authorisation uses up a decision is left open.
            stand.state = OPEN if authorised_next else UNDECIDED
        stand.asked = outcome if outcome.needs_consent else None
        stand.needed = outcome if is_own(tool) and outcome.needs_authorization else None
        if stand.state == OPEN and outcome.needs_consent:
            stand.state = UNDECIDED

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
        before = self.seen_by_apps()
        outcomes, runs = self.client(client).at_once(chosen, copies)
        served = sum(one.succeeded for one in outcomes)
        ran = served if runs is None else runs
        self.say(
            f"client {client + 1} calls {chosen.name} {copies} times at once ({stand.state})",
            f"{served} results, {ran} runs",
        )
        self.look_at_apps(before)
        rule = "remember" if stand.state == ONCE else self._rule(client, stand)
        self.checked(rule)
        allowed = {UNDECIDED: 0, DENIED: 0, ONCE: 1}.get(stand.state, copies)
        if ran > allowed:
            told = ", ".join(one.describe() for one in outcomes)
            raise self.broken(
                rule,
                f"of many calls at once more run than were allowed ({stand.state})",
                sent=f"tools/call {chosen.name} {copies} times at once by client {client + 1}",
                expected=f"at most {allowed} of them run",
                got=f"{ran} runs: {told}",
                grade=Grade.RAN,
                by_chance=stand.state == ONCE,
            )
        for one in outcomes:
            self.answered(one.reply)
        stand.asked = next((one for one in outcomes if one.needs_consent), stand.asked)
        if stand.state == ONCE:
            stand.state = OPEN
            stand.asked = None

    def _rule(self, client: int, stand: ClientStand) -> str:
        """What a wrong answer would break: by what others were granted."""
        if stand.state == DENIED:
            return "deny"
        if stand.by_all:
            return "authorize-all"
        if stand.state in (ONCE, ALWAYS):
            return "remember" if stand.state == ALWAYS else "consent-required"
        granted = [key for key, one in self.stands.items() if one.state in (ONCE, ALWAYS)]
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
        # What one for all tools does that is not remembered is left open.
        self._decide(client, name, choice, remember=remember or choice == "all")

    def _decide(self, client: int, name: str, choice: str, *, remember: bool) -> None:
        stand = self.stands[client, name]
        asked, stand.asked = stand.asked, None
        assert asked is not None
        self.say(
            f"client {client + 1}, {name}: {choice}{', remembered' if remember else ', this once'}"
        )
        try:
            self.driver.decide(asked, Choice(choice), remember=remember)
        except DriverError as error:
            raise EndOfWalk(f"a person could not decide: {error}") from error
        if choice == "deny":
            stand.state = DENIED if remember else OPEN
        elif choice == "tool":
            stand.state = ALWAYS if remember else ONCE
        else:
            self._allow_all(client, name)

    def _allow_all(self, client: int, name: str) -> None:
        """Every tool of that app; what was decided on one of them before is left open."""
        app = next(one.app for one in self.tools if one.name == name)
        for tool in self.tools:
            if tool.app == app:
                stand = self.stand(client, tool)
                fresh = stand.state == UNDECIDED or tool.name == name
                stand.state = ALWAYS if fresh else OPEN
                stand.by_all = fresh
                stand.asked = None

    @transition("the gateway is restarted", when="can_restart", rules=("remember",))
    def restart(self) -> None:
        self.restart_target(self.driver.restart)
        self.restarted = True
        self.no_longer_asked()
        self.forget_entries()

    @transition("time passes", when="can_wait", seconds=one_of(60, 3600, 43_200))
    def wait(self, seconds: int) -> None:
        self.move_clock(seconds)

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
        before = self.seen_by_apps()
        replies, runs = asking.connection.runs_during(lambda: [request.send()])
        ran = bool(runs) if asking.connection.effects is not None else False
        self.say(f"client {client + 1}, {request.words}", replies[0].describe())
        self.look_at_apps(before)
        self.checked("consent-required")
        # A name may have become another tool's, which this client was granted.
        if ran and not any(
            one.state in (ONCE, ALWAYS, OPEN)
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
        self.no_longer_once()
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
