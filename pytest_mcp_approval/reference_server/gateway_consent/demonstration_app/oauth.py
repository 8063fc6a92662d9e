"""The app's authorisation server: codes with PKCE, access tokens, refresh tokens.

Takes text, returns an outcome; each rule is a method. Parameters have the names of RFC 6749 here,
whatever the spelling of the request. Responses name the issuer (RFC 9207), so that a client of
several apps can tell them apart. Knows no HTML, and of HTTP only bearer tokens.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from ....families.gateway_consent.vocabulary import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
from ...server.clock import Clock
from ...server.secret_text import same, sha256_challenge
from . import spelling
from .grants import Allowed, Grant, Ledger
from .locks import Closed, Lock, bearer

CODE_SECONDS = 300
"""RFC 6749, section 4.1.2: ten minutes at most."""
QUESTION_SECONDS = 600
SCOPES = ("read", "write")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class NotAskedError(ValueError):
    """A faulty request: the person is told, nobody is redirected. Contains no value of it."""


class OAuthError(Exception):
    """`error` is a word of RFC 6749, section 4.1.2.1 or 5.2. Contains no value of the request."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.status = status
        self.members = {"error": error, "error_description": description}


@dataclass(frozen=True)
class RegisteredClient:
    """A public client: it has no secret; PKCE distinguishes it from others."""

    client_id: str
    redirect_uris: Callable[[], Sequence[str]]
    name: str = ""


@dataclass(frozen=True)
class AuthorisationQuestion:
    """What a person is asked: may this client use these tools?"""

    id: str = field(repr=False)
    client: RegisteredClient
    redirect_uri: str
    scopes: tuple[str, ...]
    tools: tuple[str, ...]
    state: str = field(repr=False)
    challenge: str = field(repr=False)
    expires_at: datetime


@dataclass(frozen=True)
class Redirect:
    """Where the person's browser goes next: always a registered address."""

    location: str = field(repr=False)


class AuthorisationServer(Lock):
    """The server of one app. `issuer` returns its address, once it runs."""

    code_seconds = CODE_SECONDS
    access_seconds = ACCESS_TOKEN_SECONDS
    refresh_seconds = REFRESH_TOKEN_SECONDS

    def __init__(
        self,
        clock: Clock,
        issuer: Callable[[], str],
        clients: Mapping[str, RegisteredClient],
        tools: Mapping[str, str],
    ) -> None:
        self.clock = clock
        self.issuer = issuer
        self.clients = clients
        self.tools = tools
        self.questions: Ledger[AuthorisationQuestion] = Ledger()
        self.codes: Ledger[Grant] = Ledger()
        self.access: Ledger[Grant] = Ledger()
        self.refresh: Ledger[Grant] = Ledger()

    def after(self, seconds: float) -> datetime:
        return self.clock.now() + timedelta(seconds=seconds)

    # ---- the authorisation request

    def ask(self, query: str) -> AuthorisationQuestion | Redirect:
        """What to show, or a redirect that tells the client its mistake, or `NotAskedError`."""
        try:
            asked = spelling.read(query).values
        except spelling.SpellingError as error:
            raise NotAskedError(str(error)) from None
        client = self.clients.get(asked.get("client_id", ""))
        if client is None:
            raise NotAskedError("clientId: got no client that this app knows")
        redirect_uri = asked.get("redirect_uri", "")
        if not self.is_registered(client, redirect_uri):
            raise NotAskedError("redirectUri: got an address that the client has not registered")
        state = asked.get("state", "")
        try:
            self.check_request(asked)
            question = AuthorisationQuestion(
                secrets.token_urlsafe(32),
                client,
                redirect_uri,
                self.scopes_of(asked, SCOPES),
                self.tools_of(asked),
                state,
                asked.get("code_challenge", ""),
                self.after(QUESTION_SECONDS),
            )
        except OAuthError as error:
            return self.send_back(redirect_uri, state, **error.members)
        self.questions.add(question.id, question)
        return question

    def is_registered(self, client: RegisteredClient, redirect_uri: str) -> bool:
        """Character for character (RFC 9700, section 2.1)."""
        return redirect_uri in client.redirect_uris()

    def check_request(self, asked: Mapping[str, str]) -> None:
        if _needed(asked, "response_type") != "code":
            raise OAuthError("unsupported_response_type", "responseType has to be code")
        _needed(asked, "state")  # the RFC recommends it; this profile's table has it
        self.check_challenge(asked)

    def check_challenge(self, asked: Mapping[str, str]) -> None:
        """The digest of S256 in base64url. Without a method, "plain" would apply (RFC 7636, 4.3):
        then the challenge is the verifier."""
        challenge = _needed(asked, "code_challenge")
        if asked.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
            raise OAuthError("invalid_request", "codeChallenge has to be one of S256")

    def tools_of(self, asked: Mapping[str, str]) -> tuple[str, ...]:
        """The listed tools must be tools of this app, each once."""
        named = asked.get("aai_tools", "").split(",")
        if not set(named) <= set(self.tools) or len(set(named)) != len(named):
            raise OAuthError("invalid_request", "aaiTools has to list tools of this app")
        return tuple(named)

    def scopes_of(self, asked: Mapping[str, str], most: tuple[str, ...]) -> tuple[str, ...]:
        scopes = tuple(asked["scope"].split()) if "scope" in asked else most
        if not set(scopes) <= set(most):
            raise OAuthError("invalid_scope", f"scope: expected some of {' '.join(most)}")
        return scopes

    def decide(self, question_id: str, allow: bool) -> Redirect:
        """The person's answer, accepted once."""
        question = self.questions.take(question_id)
        if question is None or self.clock.now() >= question.expires_at:
            raise NotAskedError("this question is answered, or too old: start again from the agent")
        if not allow:
            return self.send_back(question.redirect_uri, question.state, error="access_denied")
        code = secrets.token_urlsafe(32)
        allowed = Allowed(question.client.client_id, question.scopes, question.tools)
        ends = self.after(self.code_seconds)
        self.codes.add(code, Grant(allowed, ends, question.redirect_uri, question.challenge))
        return self.send_back(question.redirect_uri, question.state, code=code)

    def send_back(self, uri: str, state: str, **told: str) -> Redirect:
        named = {**told, **({"state": state} if state else {}), "iss": self.issuer()}
        return Redirect(f"{uri}{'&' if '?' in uri else '?'}{urlencode(named)}")

    # ---- the token request

    def token(self, body: str) -> Mapping[str, Any]:
        """The answer's members in the spelling of the request; `OAuthError` for a refusal."""
        try:
            parameters = spelling.read(body)
        except spelling.SpellingError as error:
            raise OAuthError("invalid_request", str(error)) from None
        asked = parameters.values
        match asked.get("grant_type"):
            case "authorization_code":
                held = self.held(self.codes, asked, "code")
                self.check_verifier(held, asked)
                self.check_redirect_uri(held, asked)
                scopes = held.allowed.scopes
            case "refresh_token":
                held = self.held(self.refresh, asked, "refresh_token")
                scopes = self.scopes_of(asked, held.allowed.scopes)
            case _:
                raise OAuthError("unsupported_grant_type", "grantType: got one not known here")
        self.spend(held)
        return self.token_members(parameters, self.given(held.allowed, scopes))

    def held(self, ledger: Ledger[Grant], asked: Mapping[str, str], name: str) -> Grant:
        """The code or refresh token, if it is good for this client now. This profile's token
        request names no client; if one is named, it must be the one that got the code or token."""
        found, client_id = ledger.find(_needed(asked, name)), asked.get("client_id")
        if client_id is not None and client_id not in self.clients:
            raise OAuthError("invalid_client", "clientId: got no client known here", 401)
        if (
            found is None
            or (client_id is not None and not self.check_client(found, client_id))
            or not self.check_unused(found)
            or not self.is_good(found)
        ):
            raise _not_granted()
        return found

    def check_client(self, held: Grant, client_id: str) -> bool:
        return held.allowed.client_id == client_id

    def check_unused(self, held: Grant) -> bool:
        """A second use means that two parties have it: everything issued for it ends (RFC 6749,
        sections 4.1.2 and 10.4; RFC 9700, section 4.14.2)."""
        if held.used:
            held.allowed.revoked = True
        return not held.used

    def is_good(self, held: Grant) -> bool:
        return self.clock.now() < held.expires_at and not held.allowed.revoked

    def check_verifier(self, held: Grant, asked: Mapping[str, str]) -> None:
        verifier = _needed(asked, "code_verifier")
        proved = same(sha256_challenge(verifier), held.challenge)
        if not proved or not _VERIFIER.fullmatch(verifier):
            raise _not_granted()

    def check_redirect_uri(self, held: Grant, asked: Mapping[str, str]) -> None:
        if _needed(asked, "redirect_uri") != held.redirect_uri:
            raise _not_granted()

    def spend(self, held: Grant) -> None:
        """After all other checks; only one of several at once wins."""
        if not held.spend():
            held.allowed.revoked = True
            raise _not_granted()

    def given(self, allowed: Allowed, scopes: Sequence[str]) -> dict[str, Any]:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.access.add(access, Grant(allowed, self.after(self.access_seconds)))
        self.refresh.add(refresh, Grant(allowed, self.after(self.refresh_seconds)))
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.access_seconds,
            "refresh_token": refresh,
            "scope": " ".join(scopes),
        }

    def token_members(
        self, parameters: spelling.Parameters, members: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return parameters.answer(members)

    # ---- what an access token is good for

    def open(self, request: Request, tool: str) -> None:
        allowed = self.opened(bearer(request))
        if allowed is None:
            raise Closed
        if tool not in allowed.tools:
            raise Closed(403, "insufficient_scope")

    def opened(self, access_token: str) -> Allowed | None:
        """What the bearer may do; None for a token that is not valid (any more)."""
        held = self.access.find(access_token)
        return held.allowed if held is not None and self.is_good(held) else None

    def clear(self) -> None:
        for ledger in (self.questions, self.codes, self.access, self.refresh):
            ledger.clear()


def _needed(asked: Mapping[str, str], name: str) -> str:
    if name not in asked:
        raise OAuthError("invalid_request", f"{name}: got nothing, expected a value")
    return asked[name]


def _not_granted() -> OAuthError:
    """The same answer for every fault of a code or token: guessing reveals nothing."""
    return OAuthError("invalid_grant", "it is unknown, not yours, or no longer valid")
