"""Gateways that read something from where it does not belong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from mcp_types import CLIENT_INFO_META_KEY

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_TOKEN_SECONDS,
    AuthType,
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent import execution, http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    lifetime,
    settings_of,
    text_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.vault import Record
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
        found = next((headers[name] for name in headers if re.search("client|caller", name)), None)
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


@mutant(
    kills="gateway_consent/app-credential",
    because=r"the end of its first token of ten minutes[^§]*call\(s\) with a token that was over",
)
@in_extension
class BelievesTheDescriptor(AppCredentials):
    """Takes the lifetime of a token from the descriptor, and not from the answer that brings it."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        fresh = super().fresh(app, record)
        usual = lifetime(settings_of(app).get("expiresIn"), APP_TOKEN_SECONDS)
        return {**fresh, words.EXPIRES_AT: self.credentials.now() + usual}


@mutant(kills="gateway_consent/storage-shape", because='decided on at[^§]*grantedAt "')
@in_extension
class DatesGrantsByTheQuestion(Decisions):
    """Writes when a person was asked where it should write when they decided."""

    def write(self, record: Record, question: ConsentQuestion, choice: Choice) -> None:
        super().write(record, question, choice)
        asked = question.asked_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        record[words.TOOLS][question.tool][words.GRANTED_AT] = asked


@mutant(kills="gateway_consent/caller-identity", because=r"in _meta\.clientInfo[^§]*, tool run")
class TakesAnotherKeyOfMeta(ReferenceServer):
    """Believes a member of _meta that any request may have, before the one of the protocol."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta")
        info = meta.get("clientInfo") if isinstance(meta, dict) else ""
        name = info.get("name") if isinstance(info, dict) else info
        return name if isinstance(name, str) else super().client_of(ctx)


@mutant(
    kills="gateway_consent/app-credential",
    because="whose token end point redirects to another host[^§]*in: (?:header|body|query)",
)
@in_extension
class FollowsTheTokenEndpoint(AppCredentials):
    """Follows a token endpoint that redirects to another host, and sends the secret there."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        where = text_setting(app, "tokenEndpoint")
        told = {name: record[name] for name in ("appId", words.APP_SECRET)}
        kind = {"Content-Type": "application/json"}
        answer = http_client.send("POST", where, kind, json.dumps(told).encode())
        moved = answer.header("location") if 300 <= answer.status < 400 else ""
        settings = {**settings_of(app), "tokenEndpoint": urljoin(where, moved)}
        auth = app.auth and replace(app.auth, settings=settings)
        return super().fresh(replace(app, auth=auth), record)


@mutant(
    kills="gateway_consent/app-credential",
    because="whose tool redirects to another host[^§]*in: (?:header|body|query)",
)
@in_extension
class TakesTheTokenAlong(Gateway):
    """Follows redirects of an app with app credentials, with the token."""

    def run(self, app: App, tool: AppTool, arguments: Any, sending: Any) -> dict[str, Any]:
        if app.auth is None or app.auth.type is not AuthType.APP_CREDENTIAL or sending is None:
            return super().run(app, tool, arguments, sending)
        where, body = execution.url_of(app, tool), json.dumps(arguments).encode()
        answer = http_client.send("POST", where, sending.headers, body)
        moved = answer.header("location") if 300 <= answer.status < 400 else ""
        if not moved:
            return super().run(app, tool, arguments, sending)
        there = http_client.send("POST", urljoin(where, moved), sending.headers, body)
        return {"status": there.status}
