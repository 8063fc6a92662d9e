"""Gateways in which one client, app or tool gets in the way of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.api_key import ApiKeys
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.authoriser import Authoriser
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    KIND as CREDENTIALS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import KIND as FLOWS
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    Asking,
    Sending,
)
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


@mutant(kills="gateway_consent/dialog-fields", because="with others open[^§]*the page shows")
@in_extension
class NamesTheFirstClient(ConsentPages):
    """Keeps one page for each tool, about the client that asked first."""

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Any:
        first: dict[str, str] = self.__dict__.setdefault("first", {})
        caller = first.setdefault(tool.name, question.caller)
        return super().render(replace(question, caller=caller), app, tool)


@mutant(
    kills="gateway_consent/tool-isolation",
    because=r"answered while other questions were open[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class OneQuestionForTheApp(Decisions):
    """Leads to the question about an app that is open already, though it is about another tool."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        asked = [*self.questions._open.values()]
        same = (one for one in asked if (one.caller, one.app_id) == (caller, app_id))
        return next(same, None) or super().ask(caller, app_id, tool)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="other questions were open[^§]*a person could not decide",
)
@in_extension
class OneQuestionAtATime(Decisions):
    """Has one question at a time: that of a second client ends that of the first."""

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        for one in [*self.questions._open.values()]:
            if one.caller != caller:
                self.questions.drop(*one.subject)
        return super().ask(caller, app_id, tool)


@mutant(
    kills="gateway_consent/api-key",
    because=r"whose key was typed in[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class OneDialogForAllApps(Authoriser):
    """Leads to a dialog that a client has open already: the key of one app goes to another."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        mine = (one for one in [*self.tickets._open.values()] if one.caller == caller)
        ticket = next(mine, None)
        if ticket is None:
            return super().ask(app, caller, consented)
        return self.pages_url() + self.dialogs.path(ticket)


@mutant(
    kills="gateway_consent/api-key",
    because=r"by the client that gave a key[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class OneDialogForAllCallers(Authoriser):
    """Leads a second client to the dialog that the first has open: what is typed is the first's."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        same = (one for one in [*self.tickets._open.values()] if one.app_id == app.id)
        ticket = next(same, None)
        if ticket is None:
            return super().ask(app, caller, consented)
        return self.pages_url() + self.dialogs.path(ticket)


@mutant(
    kills="gateway_consent/oauth-callback",
    because=r"the app's answer to the second of two clients[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class OneFlowForEachApp(OAuth2):
    """Has one request for each app: that of a second client ends that of the first."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        vault = self.credentials._vault
        for key in vault.keys(FLOWS):
            if (vault.load(FLOWS, *key) or {}).get("app_id") == app.id:
                vault.delete(FLOWS, *key)
        return super().start(app, caller, consented)


@mutant(
    kills="gateway_consent/oauth-callback",
    because=r"the app's answer to the second of two clients[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class GivesTokensToTheLastCaller(OAuth2):
    """Keeps the tokens for the client that asked last, whoever the answer is for."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        self.last = caller
        return super().start(app, caller, consented)

    def redeem(self, app: App, flow: Flow, code: str) -> None:
        super().redeem(app, replace(flow, caller=self.last), code)


@mutant(kills="gateway_consent/api-key", because="whose key was not typed in[^§]*, tool run")
@in_extension
class OneKeyForAllApps(ApiKeys):
    """Has one API key for each client, and sends it to every app that wants one."""

    def load(self, asking: Asking) -> dict[str, Any] | None:
        own = super().load(asking)
        keys = self.credentials._vault.keys(CREDENTIALS)
        kept = (self.credentials.load(*key) for key in keys if key[0] == asking.caller)
        return own or next((one for one in kept if one and one.get("type") == "apiKey"), None)


@mutant(
    kills="gateway_consent/app-credential",
    because=r"of an app that is authorised[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class WantsASecretForEachTool(AppCredentials):
    """Asks for app id and secret again when another tool of the app is called."""

    def sending(self, asking: Asking) -> Sending | None:
        tools: dict[Any, Any] = self.__dict__.setdefault("tools", {})
        sent = super().sending(asking)
        known = tools.setdefault((asking.caller, asking.app.id), asking.tool) if sent else None
        return sent if known == asking.tool else None


@mutant(kills="gateway_consent/deny", because="was denied[^§]*nobody was asked: CONSENT_DENIED")
@in_extension
class DeniesTheNameInEveryApp(Decisions):
    """Denies a tool's name, in whichever app it is."""

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        for key in self.vault.keys("consent"):
            own = self.record(*key)["tools"].get(tool)
            if key[0] == caller and own and not own["granted"]:
                return False
        return super().remembered(caller, app_id, tool)


@mutant(
    kills="gateway_consent/deny",
    because=r"denied, after another client was allowed all tools[^§]*CONSENT_REQUIRED \(error",
)
@in_extension
class AllToolsEndsEverybodysDenials(Decisions):
    """Where one client may use all tools of an app, the denials of other clients end too."""

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        super().keep(question, choice)
        for caller, app_id in self.vault.keys("consent"):
            if choice is Choice.ALL and app_id == question.app_id:
                record = self.record(caller, app_id)
                own = record["tools"].items()
                record["tools"] = {name: one for name, one in own if one["granted"]}
                self.save_record(record, caller, app_id)


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because=r"not called yet\naaiTools read,write\naaiTools read(?!,)",
)
@in_extension
class TellsWhatWasAskedFirst(Authoriser):
    """Tells an app of the tools that were allowed when its page was first asked for."""

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        opened = [*self.tickets._open.values()]
        same = (one for one in opened if one.subject == (caller, app.id))
        ticket = next(same, None)
        return super().ask(app, caller, consented if ticket is None else ticket.consented)


@mutant(
    kills="gateway_consent/cookie",
    because=r"of an app that is authorised[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class WantsCookiesForEachTool(Cookies):
    """Asks for cookies again when another tool of the app is called."""

    def sending(self, asking: Asking) -> Sending | None:
        first: dict[tuple[str, str], str | None] = self.__dict__.setdefault("first", {})
        sending = super().sending(asking)
        key = asking.caller, asking.app.id
        if sending is None or first.setdefault(key, asking.tool) != asking.tool:
            return None
        return sending
