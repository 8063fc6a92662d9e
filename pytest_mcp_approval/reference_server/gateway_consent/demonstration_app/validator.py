"""The app's rules of OAuth 2.0, one small method each, in the shape that oauthlib asks for.

oauthlib decides which question comes when; the answers are here: which clients there are, where
they may be sent, what a code and a refresh token are good for. Where the library is more lenient
than this profile (state, S256 only), or answers another error than RFC 6749 section 5.2 names, the
method says so. Knows no HTTP and no page.
"""
# ruff: noqa: ARG002 - oauthlib's signatures, whatever a method needs of them

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from oauthlib.oauth2 import RequestValidator  # type: ignore[import-untyped]
from oauthlib.oauth2.rfc6749 import errors  # type: ignore[import-untyped]

from ....families.gateway_consent.vocabulary import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS
from ...server.clock import Clock
from .grants import AccessToken, Allowed, Code, Grants, RefreshToken

CODE_SECONDS = 300
"""RFC 6749, section 4.1.2: ten minutes at most."""

SCOPES = ("read", "write")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")


@dataclass(frozen=True)
class RegisteredClient:
    """A public client: it has no secret, PKCE is what tells it from others."""

    client_id: str
    redirect_uris: Callable[[], Sequence[str]]
    name: str = ""


class Validator(RequestValidator):  # type: ignore[misc]
    """`request` is oauthlib's, with the parameters under the names of the RFC."""

    code_seconds = CODE_SECONDS
    access_seconds = ACCESS_TOKEN_SECONDS
    refresh_seconds = REFRESH_TOKEN_SECONDS

    def __init__(
        self,
        clock: Clock,
        grants: Grants,
        clients: Mapping[str, RegisteredClient],
        tools: Sequence[str],
    ) -> None:
        self.clock = clock
        self.grants = grants
        self.clients = clients
        self.tools = tuple(tools)

    def now(self) -> datetime:
        return self.clock.now()

    def after(self, seconds: float) -> datetime:
        return self.now() + timedelta(seconds=seconds)

    # ---- the authorisation request

    def validate_client_id(self, client_id: str, request: Any, *_: Any, **__: Any) -> bool:
        request.client = self.clients.get(client_id)
        return request.client is not None

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Any, *_: Any, **__: Any
    ) -> bool:
        """Character for character (RFC 9700, section 2.1)."""
        return redirect_uri in self.clients[client_id].redirect_uris()

    def get_default_redirect_uri(self, client_id: str, request: Any, *_: Any, **__: Any) -> None:
        """None: it has to be said, in both requests."""

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Any, *_: Any, **__: Any
    ) -> bool:
        return response_type == "code"

    def check_state(self, request: Any) -> dict[str, Any]:
        """The library does without; this profile's table has it."""
        if not request.state:
            raise errors.InvalidRequestError(description="state required.", request=request)
        return {}

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        return True

    def check_challenge(self, request: Any) -> dict[str, Any]:
        """The digest of S256 in base64url, and nothing that could be compared as if it were one."""
        given = request.code_challenge
        if given is not None and not _CHALLENGE.fullmatch(given):
            raise errors.InvalidRequestError(
                description="codeChallenge is no S256 challenge.", request=request
            )
        return {}

    def check_tools(self, request: Any) -> dict[str, Any]:
        """What is listed for confirmation are tools of this app, each once."""
        named = (getattr(request, "aai_tools", None) or "").split(",")
        if not set(named) <= set(self.tools) or len(set(named)) != len(named):
            raise errors.InvalidRequestError(
                description="aaiTools has to list tools of this app.", request=request
            )
        request.tools = tuple(named)
        return {"tools": request.tools}

    def get_default_scopes(self, client_id: str, request: Any, *_: Any, **__: Any) -> list[str]:
        return list(SCOPES)

    def validate_scopes(
        self, client_id: str, scopes: Sequence[str], client: Any, request: Any, *_: Any, **__: Any
    ) -> bool:
        return set(scopes) <= set(SCOPES)

    def save_authorization_code(
        self, client_id: str, code: Mapping[str, str], request: Any, *_: Any, **__: Any
    ) -> None:
        allowed = Allowed(request.lineage, client_id, tuple(request.scopes), request.tools)
        kept = Code(
            allowed, request.redirect_uri, request.code_challenge, self.after(self.code_seconds)
        )
        self.grants.add_code(code["code"], kept)

    # ---- the token request: which client

    def client_authentication_required(self, request: Any, *_: Any, **__: Any) -> bool:
        return False

    def authenticate_client_id(
        self, client_id: str | None, request: Any, *_: Any, **__: Any
    ) -> bool:
        """This profile's token request names no client: then it is the one that the code or the
        refresh token was given to. One that is named has to be the same (`check_client`)."""
        if client_id is None:
            held = self._held(request)
            client_id = held.allowed.client_id if held else ""
            # For what nobody was given, the answer is about the grant and not about the client.
            request.client = self.clients.get(client_id) or RegisteredClient("", tuple)
        else:
            request.client = self.clients.get(client_id)
        return request.client is not None

    def _held(self, request: Any) -> Code | RefreshToken | None:
        if request.grant_type == "refresh_token":
            return self.grants.refresh(request.refresh_token)
        return self.grants.code(request.code)

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Any, *_: Any, **__: Any
    ) -> bool:
        return grant_type in ("authorization_code", "refresh_token")

    # ---- the token request: a code

    def validate_code(
        self, client_id: str, code: str, client: RegisteredClient, request: Any, *_: Any, **__: Any
    ) -> bool:
        held = self.grants.code(code)
        if held is None:
            return False
        request.held, request.scopes = held, list(held.allowed.scopes)
        return (
            self.check_client(held, client)
            and self.check_unused(held)
            and self.check_unexpired(held)
            and self.check_not_revoked(held)
        )

    def check_client(self, held: Code | RefreshToken, client: RegisteredClient) -> bool:
        return held.allowed.client_id == client.client_id

    def check_unused(self, held: Code | RefreshToken) -> bool:
        """A second use means that two have it: all that came of it ends (RFC 6749, sections 4.1.2
        and 10.4; RFC 9700, section 4.14.2)."""
        if held.used:
            self.grants.revoke(held.allowed.lineage)
        return not held.used

    def check_unexpired(self, held: Code | RefreshToken | AccessToken) -> bool:
        return self.now() < held.expires_at

    def check_not_revoked(self, held: Code | RefreshToken | AccessToken) -> bool:
        return not self.grants.is_revoked(held.allowed)

    def get_code_challenge(self, code: str, request: Any) -> str:
        """The library compares in constant time; what is no verifier need not be compared."""
        if request.code_verifier is not None and not _VERIFIER.fullmatch(request.code_verifier):
            raise errors.InvalidGrantError(request=request)
        challenge: str = request.held.challenge
        return challenge

    def get_code_challenge_method(self, code: str, request: Any) -> str:
        return "S256"

    def confirm_redirect_uri(
        self,
        client_id: str,
        code: str,
        redirect_uri: str,
        client: Any,
        request: Any,
        *_: Any,
        **__: Any,
    ) -> bool:
        """The library would say invalid_request; RFC 6749, section 5.2 says invalid_grant."""
        if redirect_uri != request.held.redirect_uri:
            raise errors.InvalidGrantError(request=request)
        return True

    # ---- the token request: a refresh token

    def validate_refresh_token(
        self, refresh_token: str, client: RegisteredClient, request: Any, *_: Any, **__: Any
    ) -> bool:
        held = self.grants.refresh(refresh_token)
        if held is None:
            return False
        request.held = held
        return (
            self.check_client(held, client)
            and self.check_unused(held)
            and self.check_unexpired(held)
            and self.check_not_revoked(held)
        )

    def get_original_scopes(
        self, refresh_token: str, request: Any, *_: Any, **__: Any
    ) -> list[str]:
        return list(request.held.allowed.scopes)

    def rotate_refresh_token(self, request: Any) -> bool:
        return True

    # ---- the token request: when everything else is right

    def spend(self, request: Any) -> None:
        """The library looks first and marks as used later; of several at once one must win."""
        if not self.grants.spend(request.held):
            self.grants.revoke(request.held.allowed.lineage)
            raise errors.InvalidGrantError(request=request)

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Any, *_: Any, **__: Any
    ) -> None:
        """`spend` has done it."""

    def save_bearer_token(self, token: Mapping[str, Any], request: Any, *_: Any, **__: Any) -> None:
        allowed: Allowed = request.held.allowed
        narrowed = replace(allowed, scopes=tuple(request.scopes))
        access = AccessToken(narrowed, self.after(self.access_seconds))
        self.grants.add_access(token["access_token"], access)
        refresh = RefreshToken(allowed, self.after(self.refresh_seconds))
        self.grants.add_refresh(token["refresh_token"], refresh)

    # ---- what an access token is good for

    def opened(self, access_token: str) -> Allowed | None:
        """What the bearer may do; None for a token that is good for nothing (any more)."""
        held = self.grants.access(access_token)
        if held is None or not self.check_unexpired(held) or not self.check_not_revoked(held):
            return None
        return held.allowed
