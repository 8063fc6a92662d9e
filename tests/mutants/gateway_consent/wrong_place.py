"""Gateways that read something from where it does not belong."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
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
