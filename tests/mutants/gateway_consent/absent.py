"""Gateways and apps that do not check what is not there, or is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.app_credential import (
    AppCredentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import (
    Credentials,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    member,
    settings_of,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.mcp_server import Context, ReferenceServer
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

PKCE = "gateway_consent/oauth-pkce"
AUTHORIZE = "gateway_consent/oauth-authorize"
IDENTITY = "gateway_consent/caller-identity"


@mutant(
    kills=IDENTITY, because=r"with no clientInfo[^§]*CONSENT_REQUIRED \(error.data\), tool not run"
)
class TakesTheNamelessForTheLast(ReferenceServer):
    """Takes a client without a name for the one that called last."""

    def client_of(self, ctx: Context) -> str:
        name = super().client_of(ctx) or getattr(self, "last", "")
        self.last = name
        return name


@mutant(kills=IDENTITY, because=r"by a client with no clientInfo[^§]*isError[^§]*tool run")
@in_extension
class AsksAboutTheNamedOnly(Gateway):
    """Has nobody to ask about when a client gives no name, and so does not ask."""

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if caller:
            super().check_consent(caller, app, tool)

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        if caller:
            super().take_consent(caller, app, tool)

    def caller_name(self, who: Caller, arguments: Any) -> str:
        return who.client


@mutant(kills=AUTHORIZE, because="responseType null[^§]*sent back with a code")
@in_extension
class TakesNoTypeForCode(AuthorisationServer):
    """Takes a request without a response type for one for a code."""

    def check_request(self, asked: Mapping[str, str]) -> None:
        super().check_request({"response_type": "code", **asked})


@mutant(
    kills="gateway_consent/oauth-token", because="grantType null[^§]*HTTP 200 with an access token"
)
@in_extension
class TakesNoGrantTypeForARefresh(AuthorisationServer):
    """Takes a token request without a grant type for a refresh, if it has a refresh token."""

    def token(self, body: str) -> Mapping[str, Any]:
        named = {name for name, _ in parse_qsl(body)}
        bare = not named & {"grantType", "grant_type"} and "refreshToken" in named
        return super().token(f"{body}&grantType=refresh_token" if bare else body)


@mutant(kills=PKCE, because="an empty verifier[^§]*HTTP 200 with an access token")
@in_extension
class TakesEmptyVerifiers(AuthorisationServer):
    """Wants codeVerifier to be there, and does not compare an empty one."""

    def token(self, body: str) -> Mapping[str, Any]:
        given = dict(parse_qsl(body, keep_blank_values=True))
        self.empty = any(given.get(name) == "" for name in ("codeVerifier", "code_verifier"))
        return super().token(body)

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        if not self.empty:
            super().check_verifier(held, asked)


@mutant(kills="gateway_consent/oauth-callback", because="brought by another browser[^§]*, tool run")
@in_extension
class NeedsNoCookie(OAuth2):
    """Compares the browser's cookie where it brings one."""

    def check_browser(self, back: Return, flow: Any) -> None:
        if back.cookies:
            super().check_browser(back, flow)


@mutant(kills=AUTHORIZE, because='not as it should be: {"scope":null')
@in_extension
class AsksWithoutScope(OAuth2):
    """Leaves the scope out of the authorisation request."""

    def start(self, app: App, caller: str, consented: Any) -> Any:
        start = super().start(app, caller, consented)
        kept = [one for one in start.location.split("&") if not one.startswith("scope=")]
        return replace(start, location="&".join(kept))


@mutant(kills="gateway_consent/consent-required", because="toolParameters null")
class LeavesOutWhatIsEmpty(GatewayExtension):
    """Leaves members out of the question that are empty, as where a tool takes nothing."""

    def refuse(self, refusal: GatewayRefusal) -> dict[str, Any]:
        refusal.data = {name: value for name, value in refusal.data.items() if value}
        return super().refuse(refusal)


@mutant(kills="gateway_consent/credential-shape", because='no refreshToken in {"accessToken')
@in_extension
class KeepsNoRefreshToken(OAuth2):
    """Keeps an access token and its end, and no refresh token."""

    def read_tokens(self, members: Mapping[str, Any]) -> dict[str, Any]:
        kept = super().read_tokens(members)
        return {name: one for name, one in kept.items() if name != words.REFRESH_TOKEN}


@mutant(kills="gateway_consent/credential-shape", because='no createdAt in {"type":"cookie')
@in_extension
class DatesKeysOnly(Credentials):
    """Keeps when an API key was created, and not when cookies or app credentials were."""

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        if record.get(words.TYPE) != "apiKey":
            record = {name: one for name, one in record.items() if name != words.CREATED_AT}
        super().save(caller, app_id, record)


# ---- what an app leaves out


@mutant(
    kills="gateway_consent/two-layers",
    because="token end point answered with [^§]*called with 'Bearer (?:None|null|undefined)",
)
@in_extension
class TakesNoTokenForOne(OAuth2):
    """Keeps what the token end point gave, as text, without a look at it."""

    def read_tokens(self, members: Mapping[str, Any]) -> dict[str, Any]:
        return super().read_tokens({**members, "accessToken": str(member(members, "accessToken"))})


@mutant(
    kills="gateway_consent/all-platforms",
    because=r"a first call of a tool of a desktop app for \[\][^§]*, tool run",
)
@in_extension
class TrustsAppsWithoutPlatforms(Gateway):
    """Asks about the apps of each platform, and about none that names no platform."""

    def needs_consent(self, app: App) -> bool:
        return bool(app.platforms)


@mutant(
    kills="gateway_consent/app-credential",
    because=r"token of which it says nothing[^§]*call\(s\) with a token that was over",
)
@in_extension
class TokensWithoutEndNeverEnd(AppCredentials):
    """Takes a token whose end the app does not tell for one that has none, whatever the descriptor
    says."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        endless = {**settings_of(app), "expiresIn": 10**8}
        auth = app.auth and replace(app.auth, settings=endless)
        return super().fresh(replace(app, auth=auth), record)


@mutant(
    kills="gateway_consent/oauth-token",
    because=r"suite\.oauth:read, after the end of its second token \(refresh token not",
    warned=True,
)
@in_extension
class LosesTheRefreshToken(OAuth2):
    """Drops its refresh token when the answer to a refresh brings no new one."""

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        return {words.REFRESH_TOKEN: None, **super().fresh(app, record)}
