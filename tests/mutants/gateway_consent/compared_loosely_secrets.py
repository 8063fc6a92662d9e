"""Gateways and apps that take codes, states, addresses and cookies for others only alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.authorisation.cookies import Cookies
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.oauth2 import (
    OAuth2,
    Return,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Grant,
    Ledger,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    Redirect,
    RegisteredClient,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.server.secret_text import sha256_challenge
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

AUTHORIZE = "gateway_consent/oauth-authorize"


@mutant(kills=AUTHORIZE, because='what a URL escapes[^§]*"state":"a b')
@in_extension
class UnescapesStates(AuthorisationServer):
    """Reads the percent signs of a state once more before it sends it back."""

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        return super().send_back(uri, unquote(state), **told)


@mutant(kills=AUTHORIZE, because='responseType "code token"[^§]*sent back with a code')
@in_extension
class FindsCodeInTheType(AuthorisationServer):
    """Looks whether the word code is in the response type."""

    def check_request(self, asked: Mapping[str, str]) -> None:
        kind = asked.get("response_type", "")
        super().check_request({**asked, "response_type": "code" if "code" in kind else kind})


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="the verifier in another case[^§]*HTTP 200 with an access token",
)
@in_extension
class FoldsTheCaseOfVerifiers(AuthorisationServer):
    """Takes a verifier in another case for the same."""

    def check_verifier(self, held: Any, asked: Mapping[str, str]) -> None:
        verifier = asked.get("code_verifier", "")
        spelled = {verifier, verifier.swapcase(), verifier.lower(), verifier.upper()}
        if not any(sha256_challenge(one) == held.challenge for one in spelled):
            super().check_verifier(held, asked)


@mutant(kills="gateway_consent/oauth-pkce", because=r"/\.\./elsewhere?[^§]*sent back with a code")
@in_extension
class FindsTheAddressInside(AuthorisationServer):
    """Looks whether a registered address stands somewhere in the one that it is given."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return any(one in redirect_uri for one in client.redirect_uris())


class _FoldingLedger(Ledger[Grant]):
    """Finds what it has issued without regard to case."""

    def add(self, secret: str, record: Grant) -> None:
        super().add(secret.lower(), record)

    def find(self, secret: str) -> Grant | None:
        return super().find(secret.lower())


@mutant(kills="gateway_consent/oauth-pkce", because="a code, in another case[^§]*HTTP 200")
@in_extension
class FoldsTheCaseOfCodes(AuthorisationServer):
    """Looks codes up without regard to case, as some databases do."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.codes = _FoldingLedger()


@mutant(
    kills="gateway_consent/oauth-token", because="a refresh token, in another case[^§]*HTTP 200"
)
@in_extension
class FoldsTheCaseOfRefreshTokens(AuthorisationServer):
    """Looks refresh tokens up without regard to case, as some databases do."""

    def __init__(self, clock: Any, issuer: Any, clients: Any, tools: Any) -> None:
        super().__init__(clock, issuer, clients, tools)
        self.refresh = _FoldingLedger()


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="request with redirectUri with a path in capitals[^§]*sent back with a code",
)
@in_extension
class FoldsTheCaseOfAddresses(AuthorisationServer):
    """Compares the address that people are sent back to without regard to case."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return redirect_uri.lower() in [one.lower() for one in client.redirect_uris()]


@mutant(
    kills="gateway_consent/oauth-pkce",
    because="with a slash behind it: [^§]*sent back with a code",
    warned=True,
)
@in_extension
class DropsTheSlashOfAddresses(AuthorisationServer):
    """Takes the slash at the end of an address off before it compares."""

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        return super().is_registered(client, redirect_uri.rstrip("/"))


@mutant(
    kills="gateway_consent/oauth-callback",
    because="the app's answer with its state, in another case[^§]*, tool run",
)
@in_extension
class FoldsTheCaseOfStates(OAuth2):
    """Compares states without regard to case."""

    def start(self, app: App, caller: str, consented: Any) -> Any:
        start = super().start(app, caller, consented)
        state = parse_qs(urlsplit(start.location).query)["state"][0]
        self.__dict__.setdefault("folded", {})[state.lower()] = state
        return start

    def state_of(self, back: Return) -> str:
        state = super().state_of(back)
        return str(self.__dict__.get("folded", {}).get(state.lower(), state))


@mutant(
    kills="gateway_consent/cookie",
    because=r"of which one is in another case[^§]*AUTHORIZATION_REQUIRED \(error",
)
@in_extension
class FoldsTheCaseOfCookies(Cookies):
    """Looks for the required cookies without regard to case."""

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        folded = {name.lower(): value for name, value in found.items()}
        same = {name: folded.get(name.lower(), "") for name in self.required(app)}
        super().check_required(app, same)
