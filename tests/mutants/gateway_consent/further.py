"""Gateways and apps of which only one scenario notices what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_mcp_approval.families.gateway_consent.vocabulary import Refusal
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    KIND as CREDENTIALS,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.flows import Flow, Flows
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    OAuthError,
    RegisteredClient,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

PKCE = "gateway_consent/oauth-pkce"
AUTHORIZE = "gateway_consent/oauth-authorize"
TOKEN = "gateway_consent/oauth-token"


# ---- who asks, and how


@mutant(
    kills="gateway_consent/caller-identity",
    because="with _meta[^§]*of 'Trusted[^§]*tool run",
    protocol="2025-11-25",
)
class RenamesSessions(ReferenceServer):
    """Goes by what a request says of its client, also where a handshake has said it already."""

    def client_of(self, ctx: Context) -> str:
        meta = (ctx.params or {}).get("_meta")
        for key in ("io.modelcontextprotocol/clientInfo", "clientInfo"):
            info = meta.get(key) if isinstance(meta, Mapping) else None
            if isinstance(info, Mapping) and isinstance(info.get("name"), str):
                return str(info["name"])
        return super().client_of(ctx)


@mutant(
    kills="gateway_consent/consent-required",
    because="app_id[^§]*the document writes camelCase",
    warned=True,
)
@in_extension
class AsksInSnakeCase(Gateway):
    """Writes the members of its question as Python does."""

    def ask(self, caller: str, app: App, tool: AppTool) -> GatewayRefusal:
        refusal = super().ask(caller, app, tool)
        named = {re.sub("([A-Z])", r"_\1", name).lower(): one for name, one in refusal.data.items()}
        return GatewayRefusal(refusal.code, str(refusal), named)


@mutant(
    kills="gateway_consent/caller-isolation",
    because="'Cursor [0-9a-f]+ ' is taken for 'Cursor",
    warned=True,
)
@in_extension
class TrimsCallers(Decisions):
    """Takes the blanks around a client's name off before it looks for decisions."""

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return super().record_key(caller.strip(), app_id)


# ---- two layers


@mutant(kills="gateway_consent/two-layers", because="denied, of an authorised app[^§]*tool run")
@in_extension
class LetsTheAppDecide(Gateway):
    """Asks a person, and goes by the app's authorisation where the person says no."""

    def overruled(self, caller: str, app: App, tool: AppTool) -> bool:
        let_in = (caller, app.id) in self.decisions.vault.keys(CREDENTIALS)
        return let_in and self.decisions.granted(caller, app.id, tool.name) is False

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.overruled(caller, app, tool):
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if not self.overruled(caller, app, tool):
            super().take_consent(caller, app, tool)


@mutant(kills="gateway_consent/app-credential", because="a wrong app secret[^§]*tool run")
@in_extension
class SaysYesToCallsThatWait(Gateway):
    """Puts a call that waits for an authorisation in a queue, and says that it is done."""

    def authorise(self, caller: str, app: App, tool: AppTool, consented: list[str]) -> Any:
        asked: set[tuple[str, str]] = self.__dict__.setdefault("asked", set())
        try:
            return super().authorise(caller, app, tool, consented)
        except GatewayRefusal as refusal:
            again = (caller, app.id) in asked
            asked.add((caller, app.id))
            if refusal.code is not Refusal.AUTHORIZATION_REQUIRED or not again:
                raise
            raise _QueuedError from refusal

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return super().call_web(caller, app, tool, arguments)
        except _QueuedError:
            return {"content": [{"type": "text", "text": "done"}]}


class _QueuedError(Exception):
    """It is in the queue."""


# ---- the gateway's side of OAuth


@mutant(kills="gateway_consent/oauth-callback", because="access_denied[^§]*no access[^§]*tool run")
@in_extension
class FallsBackToOthers(OAuth2):
    """Where an answer brings no code, takes an authorisation of the app that is there already."""

    def check_allowed(self, back: Return) -> None:
        pass

    def code_of(self, back: Return) -> str:
        return back.parameters.get("code", "")

    def redeem(self, app: App, flow: Flow, code: str) -> None:
        if code:
            super().redeem(app, flow, code)
            return
        for caller, app_id in self.flows._vault.keys(CREDENTIALS):
            record = self.credentials.load(caller, app_id)
            if app_id == app.id and record is not None:
                self.credentials.save(flow.caller, app.id, record)


@mutant(kills=TOKEN, because="the person is asked again", warned=True)
@in_extension
class NeverRefreshes(OAuth2):
    """Keeps the refresh token, and does not use it."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        raise RenewalRefusedError


class _NotedFlows(Flows):
    """Writes down which flows are under way."""

    def begin(
        self, caller: str, app_id: str, redirect_uri: str, tools: tuple[str, ...], verifier: str
    ) -> tuple[str, str]:
        state, cookie = super().begin(caller, app_id, redirect_uri, tools, verifier)
        folder: Path | None = getattr(self._vault, "folder", None)
        if folder is not None:
            (folder / "flows.json").write_text(json.dumps({"state": state, "verifier": verifier}))
        return state, cookie


@mutant(kills="gateway_consent/stored-encrypted", because="is under way[^§]*in clear in flows.json")
@in_extension
class KeepsFlowsInAFile(OAuth2):
    """Encrypts credentials, and keeps what will bring them in a file of its own."""

    def __init__(self, credentials: Any, vault: Any, pages_url: Any) -> None:
        super().__init__(credentials, vault, pages_url)
        self.flows = _NotedFlows(vault, credentials)


# ---- the app's side of OAuth


@mutant(kills=AUTHORIZE, because='responseType "token"[^§]*neither a code[^§]*with a code')
@in_extension
class GivesACodeForAnyType(AuthorisationServer):
    """Knows one response type, and does not ask which one is wanted."""

    def check_request(self, asked: Mapping[str, str]) -> None:
        super().check_request({**asked, "response_type": "code"})


class _AnyClient(Mapping[str, RegisteredClient]):
    """Whoever is not known is the first one."""

    def __init__(self, known: Mapping[str, RegisteredClient]) -> None:
        self._known = known

    def __getitem__(self, name: str) -> RegisteredClient:
        return self._known.get(name) or next(iter(self._known.values()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@mutant(kills=AUTHORIZE, because="clientId[^§]*no code[^§]*with a code")
@in_extension
class TakesAnyClientForItsOwn(AuthorisationServer):
    """Looks at the address that people are sent back to, and not at who asks."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, _AnyClient(clients), tools)


@mutant(kills=PKCE, because="a fresh code with its verifier[^§]*HTTP 401")
@in_extension
class WantsASecretOfPublicClients(AuthorisationServer):
    """Wants every client to prove itself, and native apps have nothing to do it with."""

    def token(self, body: str) -> Mapping[str, Any]:
        if "Secret=" not in body and "secret=" not in body:
            raise OAuthError("invalid_client", "clientSecret: got nothing", 401)
        return super().token(body)


@mutant(kills=PKCE, because="one character more[^§]*HTTP 200")
@in_extension
class LooksUpTheBeginningOfCodes(AuthorisationServer):
    """Cuts a code at the length that its column has."""

    COLUMN = 43

    def held(self, ledger: Any, asked: Mapping[str, str], name: str) -> Any:
        cut = {**asked, name: asked[name][: self.COLUMN]} if name in asked else asked
        return super().held(ledger, cut, name)


@mutant(kills=TOKEN, because="grantType[^§]*HTTP 200")
@in_extension
class TakesAnyGrantForARefresh(AuthorisationServer):
    """What is no code must be a refresh token, whatever the request calls it."""

    def token(self, body: str) -> Mapping[str, Any]:
        known = re.search(r"grant_?[tT]ype=(authorization_code|refresh_token)", body)
        if known is None:
            rest = re.sub(r"&?grant_?[tT]ype=[^&]*", "", body)
            body = f"{rest}&grantType=refresh_token"
        return super().token(body)
