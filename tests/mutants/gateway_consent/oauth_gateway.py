"""Gateways that ask apps for too much, or believe whoever answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import KIND
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, Flows
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

AUTHORIZE = "gateway_consent/oauth-authorize"
CALLBACK = "gateway_consent/oauth-callback"
AAI_TOOLS = "gateway_consent/aai-tools-only-consented"


# ---- oauth-authorize: the gateway


class _Asks(OAuth2):
    """Asks for something else."""

    def changed(self, asked: dict[str, str]) -> dict[str, str]:
        raise NotImplementedError

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        start = super().start(app, caller, consented)
        parts = urlsplit(start.location)
        asked = self.changed(dict(parse_qsl(parts.query)))
        return FlowStart(
            parts._replace(query=urlencode(asked)).geturl(), start.cookie_name, start.cookie
        )


@mutant(kills=AUTHORIZE, because='not as it should be: {"codeChallengeMethod"')
@in_extension
class AsksForPlain(_Asks):
    """Leaves codeChallengeMethod out, which means plain."""

    def changed(self, asked: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in asked.items() if name != "codeChallengeMethod"}


@mutant(kills=AUTHORIZE, because='not as it should be: {"state"')
@in_extension
class AsksWithoutState(_Asks):
    """Leaves the state out."""

    def changed(self, asked: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in asked.items() if name != "state"}


@mutant(kills=AUTHORIZE, because='not as it should be: {"aaiTools"')
@in_extension
class AsksWithoutTools(_Asks):
    """Does not tell the app which tools it is about."""

    def changed(self, asked: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in asked.items() if name != "aaiTools"}


@mutant(kills=AUTHORIZE, because="two values of codeChallenge[^§]*one value")
@in_extension
class HasOneVerifier(OAuth2):
    """Proves itself with the same verifier every time."""

    def new_verifier(self) -> str:
        return "v" * 64


# ---- oauth-callback


class _OtherFlows(OAuth2):
    flows_class: ClassVar[type[Flows]]

    def __init__(self, credentials: Any, vault: Any, pages_url: Any) -> None:
        super().__init__(credentials, vault, pages_url)
        self.flows = self.flows_class(vault, credentials)
        self.started: list[str] = []

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        start = super().start(app, caller, consented)
        self.started.append(dict(parse_qsl(urlsplit(start.location).query))["state"])
        return start


@mutant(kills=CALLBACK, because="without its state[^§]*no access to the app[^§]*, tool run")
@in_extension
class NeedsNoState(_OtherFlows):
    """Takes an answer without a state for that to the latest request."""

    flows_class = Flows

    def state_of(self, back: Return) -> str:
        return back.parameters.get("state") or self.started[-1]


@mutant(kills=CALLBACK, because="with another state[^§]*no access to the app[^§]*, tool run")
@in_extension
class DoesNotCompareTheState(_OtherFlows):
    """Takes any answer for that to the latest request."""

    flows_class = Flows

    def state_of(self, back: Return) -> str:
        super().state_of(back)
        return self.started[-1]


class _KeepsStates(Flows):
    def use_up(self, state: str) -> None:
        """A state is good for ever."""


@mutant(kills=CALLBACK, because="a state that was answered before[^§]*its code was redeemed")
@in_extension
class TakesAStateTwice(_OtherFlows):
    """Does not forget a state that was answered."""

    flows_class = _KeepsStates


@mutant(kills=CALLBACK, because="brought by another browser[^§]*, tool run")
@in_extension
class TakesAnyBrowser(OAuth2):
    """Does not look who brings the answer."""

    def check_browser(self, back: Return, flow: Flow) -> None:
        """Whoever has the state is right."""


@mutant(
    kills=CALLBACK,
    because="the answer of one app with the state of another[^§]*was sent to a token end point",
)
@in_extension
class MixesUpApps(OAuth2):
    """Goes by the state alone, wherever the answer comes to."""

    def check_place(self, back: Return, flow: Flow) -> None:
        """One address for all."""

    def check_browser(self, back: Return, flow: Flow) -> None:
        """And one cookie for all."""


@mutant(
    kills=CALLBACK,
    because="by a client that nobody consented to[^§]*nobody was asked: AUTHORIZATION_REQUIRED",
)
@in_extension
class LetsAllClientsIn(Gateway):
    """Once the app has let one client in, consents of that app are everybody's."""

    def check_consent(self, caller: str, app: App, tool: Any) -> None:
        if not any(app.id == key[1] for key in self.decisions.vault.keys(KIND)):
            super().check_consent(caller, app, tool)


# ---- aai-tools-only-consented


@mutant(kills=AAI_TOOLS, because="aaiTools read[^§]*aaiTools read,write,wipe")
@in_extension
class TellsAllTools(OAuth2):
    """Tells the app of all its tools."""

    def aai_tools(self, app: App, consented: Sequence[str]) -> tuple[str, ...]:
        return tuple(app.tools)


@mutant(kills=AAI_TOOLS, because="'wipe' denied[^§]*aaiTools read,write,wipe")
@in_extension
class TellsWhatWasDecided(Gateway):
    """Tells the app of every tool that was decided on, granted or not."""

    def consented(self, caller: str, app: App) -> list[str]:
        record = self.decisions.record(caller, app.id)
        return [*record["tools"]] if record["tools"] else super().consented(caller, app)


@mutant(
    kills=AAI_TOOLS, because="with others' consents to other tools[^§]*aaiTools read,write,wipe"
)
@in_extension
class TellsWhatOthersMay(Gateway):
    """Tells the app of the tools that any client may use."""

    def consented(self, caller: str, app: App) -> list[str]:
        callers = {key[0] for key in self.decisions.vault.keys("consent")} | {caller}
        granted = [self.decisions.tools_granted(app, one) for one in callers]
        return [tool for tool in app.tools if any(tool in tools for tools in granted)]


@mutant(kills=AAI_TOOLS, because="aaiTools read,write[^§]*aaiTools read$")
@in_extension
class TellsTheToolAtHand(Gateway):
    """Tells the app of the one tool that is called, and not of the others that were allowed."""

    def consented(self, caller: str, app: App) -> list[str]:
        return super().consented(caller, app)[:1]
