"""Gateways that read something from where it does not belong."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp_types import CLIENT_INFO_META_KEY

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

IDENTITY = "gateway_consent/caller-identity"


@mutant(kills=IDENTITY, because="another version of[^§]*asked again", warned=True)
class GoesByTheVersionToo(ReferenceServer):
    """Takes another version of a client for another client."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta") or {}
        info = meta.get("io.modelcontextprotocol/clientInfo") or {}
        name = super().client_of(ctx)
        return f"{name} {info['version']}" if name and info.get("version") else name


@mutant(kills=IDENTITY, because="with the header X-Client-Name[^§]*, tool run")
class TakesAHeaderForTheCaller(ReferenceServer):
    """Goes by a header that a proxy is to set."""

    def client_of(self, ctx: Context) -> str:
        headers = ctx.request.headers if ctx.request is not None else {}
        names = ("x-client-name", "x-mcp-client", "x-forwarded-client", "mcp-client-name")
        found = next((headers[name] for name in names if headers.get(name)), None)
        return found or super().client_of(ctx)


@mutant(kills="gateway_consent/oauth-callback", because="without its state[^§]*, tool run")
@in_extension
class TakesTheFlowOfTheBrowser(OAuth2):
    """Finds the request by the browser's cookie, whatever the state says."""

    def start(self, app: App, caller: str, consented: Any) -> Any:
        start = super().start(app, caller, consented)
        state = parse_qs(urlsplit(start.location).query)["state"][0]
        self.__dict__.setdefault("by_cookie", {})[start.cookie] = state
        return start

    def state_of(self, back: Return) -> str:
        known = self.__dict__.get("by_cookie", {})
        states = [known[one] for one in back.cookies if one in known]
        return states[-1] if states else super().state_of(back)


# ---- a person's word


class _TakesClaims(Gateway):
    """Takes what a call says of consent for a person's word."""

    remember: bool

    def call(self, who: Caller, app: App, tool: AppTool, arguments: Any) -> dict[str, Any]:
        given = arguments if isinstance(arguments, dict) else {}
        said = {name for name in given if re.search("consent|grant|approv|confirm", name)}
        if not any(given[name] for name in said):
            return super().call(who, app, tool, arguments)
        rest = {name: value for name, value in given.items() if name not in said}
        question = self.decisions.ask(self.caller_name(who, rest), app.id, tool.name)
        self.decisions.decide(question.id, Choice.TOOL, remember=self.remember)
        return super().call(who, app, tool, rest)


@mutant(
    kills="gateway_consent/consent-required",
    because="undecided, with [^§]*among the arguments[^§]*, tool run",
)
@in_extension
class LetsAgentsSayYes(_TakesClaims):
    """Has an argument for agents that have asked the person themselves."""

    remember = False


@mutant(
    kills="gateway_consent/deny", because="denied, with [^§]*among the arguments[^§]*, tool run"
)
@in_extension
class LetsAgentsTakeDenialsBack(_TakesClaims):
    """Takes an agent's word that the person has changed their mind."""

    remember = True


@mutant(
    kills="gateway_consent/consent-required",
    because="with the choice in its address[^§]*, tool run",
)
@in_extension
class DecidesByTheAddress(ConsentPages):
    """Has links for mails, with the choice in their address: to open one is to decide."""

    async def show(self, request: Any) -> Any:
        question = self.decisions.questions.find(request.path_params["id"])
        answer = await super().show(request)
        if question is not None and request.query_params.get("choice"):
            choice, remember = self.read_choice(request.query_params)
            self.decide(question, choice, remember)
        return answer


@mutant(
    kills="gateway_consent/consent-required",
    because="decided by a form that another site sent",
    warned=True,
)
@in_extension
class TakesFormsOfOtherSites(ConsentPages):
    """Takes a form for its own wherever it was sent from."""

    async def take(self, request: Any) -> Any:
        question = self.decisions.questions.find(request.path_params["id"])
        if question is None:
            return await super().take(request)
        form = {name: str(value) for name, value in (await request.form()).items()}
        choice, remember = self.read_choice(form)
        self.decide(question, choice, remember)
        return await self.show(request)


@mutant(kills=IDENTITY, because=r"' as \w+\n[^§]*, tool run")
class GoesByWhateverNamesIt(ReferenceServer):
    """Takes the longest text that a client says of itself for its name: titles are nicer."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta") or {}
        info = meta.get(CLIENT_INFO_META_KEY) or {}
        named = [one for name, one in info.items() if isinstance(one, str) and name != "version"]
        return max(named, key=len, default="") or super().client_of(ctx)
