"""Gateways and apps whose OAuth is right for one kind of token or spelling, and not for another."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    FlowStart,
    OAuth2,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.renewing import (
    RenewalRefusedError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    members_of,
    needed_setting,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
    Grant,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.support.fetch import fetch
from tests.mutants.gateway_consent.parts import in_extension, sent_on
from tests.mutants.registry import mutant

TOKEN = "gateway_consent/oauth-token"


class _Regards(AuthorisationServer):
    """Has another regard for what is given for a refresh token."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.later: list[Grant] = []

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        raise NotImplementedError

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        again = any(one.allowed is allowed for one in self.refresh._records.values())
        given = super().given(allowed, scopes)
        access = self.access.find(given["access_token"])
        refresh = self.refresh.find(given["refresh_token"])
        if again and access is not None and refresh is not None:
            self.refreshed(access, refresh)
        return given


@mutant(kills=TOKEN, because="not used for a year[^§]*HTTP 200 with an access token")
@in_extension
class RefreshedRefreshTokensNeverEnd(_Regards):
    """Gives the first refresh token an end, and those that follow none."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        refresh.expires_at = self.after(3650 * 86400)


@mutant(
    kills="gateway_consent/oauth-authorize",
    because='denied[^§]*sent back with no code, {"error":"access_denied","iss"',
)
@in_extension
class LosesTheStateOfDenials(AuthorisationServer):
    """Sends people back with their state if they allowed it, and without it if they did not."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, "" if told.get("error") == "access_denied" else state, **told)


@mutant(kills=TOKEN, because="serves for more than seven days", warned=True)
@in_extension
class RefreshesForAMonth(AuthorisationServer):
    """Gives refresh tokens that last for thirty days."""

    refresh_seconds = 30 * 86400


@mutant(kills=TOKEN, because="expiresIn 86400: an hour", warned=True)
@in_extension
class OpensForADay(AuthorisationServer):
    """Gives access tokens that last for a day, and says so."""

    access_seconds = 86400


@mutant(kills="gateway_consent/oauth-pkce", because="a code serves after 600 s", warned=True)
@in_extension
class KeepsCodesForAQuarter(AuthorisationServer):
    """Lets a code live for a quarter of an hour."""

    code_seconds = 900


@mutant(
    kills="gateway_consent/aai-tools-only-consented",
    because=r"with Authorize All Tools[^§]*aaiTools \*",
)
@in_extension
class TellsAStarForAllTools(OAuth2):
    """Tells an app of a star where all its tools were allowed."""

    def start(self, app: App, caller: str, consented: Sequence[str]) -> FlowStart:
        start = super().start(app, caller, consented)
        every = urlencode({words.AAI_TOOLS: ",".join(app.tools)})
        return replace(start, location=start.location.replace(every, f"{words.AAI_TOOLS}=*"))


@mutant(
    kills="gateway_consent/oauth-token",
    because="whose token end point redirects to another host[^§]*the authorisation code in: body",
)
@in_extension
class RedeemsElsewhere(OAuth2):
    """Follows redirects of the token end point, with the code and its verifier."""

    def ask_for_tokens(self, app: App, asked: Mapping[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        end_point = needed_setting(app, "tokenEndpoint")
        answer = sent_on("POST", end_point, headers, urlencode(asked).encode())
        if answer.status >= 400:
            raise RenewalRefusedError
        return self.read_tokens(members_of(answer.body))


@mutant(
    kills="gateway_consent/token-request",
    because="POST with application/json\\b",
)
@in_extension
class AsksForTokensInJson(OAuth2):
    """Asks for tokens as app credentials are exchanged: in JSON."""

    def ask_for_tokens(self, app: App, asked: Mapping[str, str]) -> dict[str, Any]:
        fetch(
            needed_setting(app, "tokenEndpoint"),
            seconds=10,
            method="POST",
            headers={"Content-Type": "application/json"},
            body=json.dumps(dict(asked)).encode(),
        )
        return super().ask_for_tokens(app, asked)


@mutant(kills="gateway_consent/oauth-token", because="refreshed with more: [^§]*scope 'read write'")
@in_extension
class RefreshesAnyScope(AuthorisationServer):
    """Looks at the scope when a person is asked, and not when a token is refreshed."""

    def scopes_of(self, asked: Mapping[str, str], most: tuple[str, ...]) -> tuple[str, ...]:
        if asked.get("grant_type") == "refresh_token" and "scope" in asked:
            return tuple(asked["scope"].split())
        return super().scopes_of(asked, most)


@mutant(
    kills="gateway_consent/oauth-token",
    because="s that a refresh brought, after its end[^§]*it opens",
)
@in_extension
class RefreshedTokensNeverEnd(_Regards):
    """Gives the access tokens of a code an end, and those of a refresh none."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        access.expires_at = self.after(3650 * 86400)


@mutant(kills="gateway_consent/oauth-token", because="the second refresh token, used[^§]*HTTP 200")
@in_extension
class RefreshedTokensServeTwice(_Regards):
    """Uses the first refresh token up, and none of those that follow."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        self.later.append(refresh)

    def check_unused(self, held: Grant) -> bool:
        return any(held is one for one in self.later) or super().check_unused(held)

    def spend(self, held: Grant) -> None:
        if not any(held is one for one in self.later):
            super().spend(held)


@mutant(
    kills="gateway_consent/oauth-token",
    because="the second refresh token, by another client[^§]*HTTP 200",
)
@in_extension
class RefreshedTokensAreAnybodys(_Regards):
    """Knows whose the first refresh token is, and not whose those are that follow."""

    def refreshed(self, access: Grant, refresh: Grant) -> None:
        self.later.append(refresh)

    def check_client(self, held: Grant, client_id: str) -> bool:
        return any(held is one for one in self.later) or super().check_client(held, client_id)


@mutant(
    kills="gateway_consent/oauth-pkce", because="a code with another verifier, in RFC[^§]*HTTP 200"
)
@in_extension
class ComparesVerifiersInCamelCase(AuthorisationServer):
    """Compares the verifier of requests in this profile's spelling, and not in the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "codeVerifier=" in body or "code_verifier=" not in body
        return super().token(body)

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        if self.camel:
            super().check_verifier(held, asked)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a code that was redeemed before, in RFC[^§]*HTTP 200",
)
@in_extension
class UsesUpCodesInCamelCase(AuthorisationServer):
    """Marks a code as used in requests of this profile's spelling, and not of the RFC's."""

    def token(self, body: str) -> Mapping[str, Any]:
        self.camel = "grantType=" in body
        return super().token(body)

    def spend(self, held: Grant) -> None:
        if self.camel or not held.challenge:
            super().spend(held)


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="a fresh code with its verifier, 44 characters[^§]*HTTP 400",
)
@in_extension
class KnowsVerifiersOfBase64(AuthorisationServer):
    """Takes verifiers of base64url only, though a verifier may have dots and tildes."""

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        bare = re.sub(r"[^A-Za-z0-9_-]", "", asked.get("code_verifier", ""))
        super().check_verifier(held, {**asked, "code_verifier": bare} if bare else asked)


@mutant(
    kills="gateway_consent/aai-tools-only-consented", because="allowed once[^§]*aaiTools left out"
)
@in_extension
class TellsRememberedTools(Gateway):
    """Tells an app of the tools that were allowed for good, and not of the one for this call."""

    def consented(self, caller: str, app: App) -> list[str]:
        return [tool for tool in app.tools if self.decisions.remembered(caller, app.id, tool)]
