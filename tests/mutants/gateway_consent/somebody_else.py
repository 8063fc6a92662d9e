"""Gateways in which one client, app or tool gets in the way of another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    KIND as CREDENTIALS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import OAuth2
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import Asking, Sending
from pytest_mcp_approval.reference_server.gateway_consent.consent import (
    KIND,
    ConsentQuestion,
    Decisions,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

CALLERS = "gateway_consent/caller-isolation"
TOLD = "gateway_consent/aai-tools-only-consented"


@mutant(kills=CALLERS, because=r"was denied[^§]*CONSENT_REQUIRED \(error.data\), tool not run")
@in_extension
class LastGrantWins(Decisions):
    """Keeps one client for each app: a decision for a second one replaces the first's."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        for caller, app_id in self.vault.keys(KIND):
            if app_id == question.app_id and caller != question.caller:
                self.vault.delete(KIND, caller, app_id)
        super().keep(question, choice)


@mutant(
    kills="gateway_consent/caller-identity",
    because="by a client with a name[^§]*, tool run",
    protocol="2025-11-25",
)
class RemembersOneCaller(ReferenceServer):
    """Keeps the name of the client in one place: whoever called first in a process stays it."""

    def client_of(self, ctx: Context) -> str:
        name = super().client_of(ctx)
        if not hasattr(self, "first"):
            self.first = name
        return self.first


@mutant(kills=TOLD, because="'write' of another app[^§]*aaiTools read,write")
@in_extension
class TellsToolsOfOtherApps(Decisions):
    """Tells an app of each of its tools whose name was allowed in any app."""

    def tools_granted(self, app: App, caller: str) -> list[str]:
        apps = {app_id for own, app_id in self.vault.keys(KIND) if own == caller}
        return [
            tool
            for tool in app.tools
            if self.granted(caller, app.id, tool)
            or any(self.remembered(caller, other, tool) for other in apps)
        ]


@mutant(kills=CALLERS, because="honest calls fail[^§]*allowed for one call: CONSENT_REQUIRED")
@in_extension
class OneQuestionForAllCallers(Decisions):
    """Leads a second client to the question that the first is asked: the answer is the first's."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        asked = [*self.questions._open.values()]
        same = (one for one in asked if (one.app_id, one.tool) == (app_id, tool))
        return next(same, None) or super().ask(caller, app_id, tool)


@mutant(
    kills="gateway_consent/api-key",
    because="of an app whose key is known[^§]*AUTHORIZATION_REQUIRED",
)
@in_extension
class WantsAKeyForEachTool(ApiKeys):
    """Asks for the key of an app again when another of its tools is called."""

    def sending(self, asking: Asking) -> Sending | None:
        tools: dict[Any, Any] = self.__dict__.setdefault("tools", {})
        sent = super().sending(asking)
        known = tools.setdefault((asking.caller, asking.app.id), asking.tool) if sent else None
        return sent if known == asking.tool else None


@mutant(
    kills="gateway_consent/two-layers",
    because="by a second client of the app[^§]*, tool run",
)
@in_extension
class TrustsEverybodyAtKnownApps(Gateway):
    """Asks nobody about an app that has let anybody in."""

    def known(self, app: App) -> bool:
        return any(app.id == own for _, own in self.decisions.vault.keys(CREDENTIALS))

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.known(app):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.known(app):
            super().take_consent(caller, app, tool)

    def authorise(self, caller: str, app: App, tool: AppTool, consented: list[str]) -> Any:
        for own, app_id in self.decisions.vault.keys(CREDENTIALS):
            if app_id == app.id:
                return super().authorise(own, app, tool, consented)
        return super().authorise(caller, app, tool, consented)


@mutant(
    kills="gateway_consent/oauth-callback",
    because="answer to the (?:first|second) of two clients[^§]*AUTHORIZATION_REQUIRED",
)
@in_extension
class GivesToTheLatest(OAuth2):
    """Gives what an app's answer brings to the client that asked last."""

    def start(self, app: App, caller: str, consented: Any) -> Any:
        self.__dict__["latest"] = caller
        return super().start(app, caller, consented)

    def redeem(self, app: App, flow: Flow, code: str) -> None:
        super().redeem(app, replace(flow, caller=self.__dict__["latest"]), code)


@mutant(kills="gateway_consent/dialog-fields", because="with others open[^§]*the page shows")
@in_extension
class NamesTheFirstClient(ConsentPages):
    """Keeps one page for each tool, about the client that asked first."""

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Any:
        first: dict[str, str] = self.__dict__.setdefault("first", {})
        caller = first.setdefault(tool.name, question.caller)
        return super().render(replace(question, caller=caller), app, tool)
