"""What protects an app's tools: one lock for each way in, on the app's side (the one for OAuth is
in `oauth.py`).

A lock checks one request and says why it does not open. Comparisons take the same time whatever is
wrong. The secrets that a person needs are random for each lock, so none is ever in a file of the
project. Knows no gateway.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ....families.gateway_consent.vocabulary import APP_TOKEN_SECONDS
from ...server.clock import Clock
from ...server.secret_text import same
from .grants import Ledger


class Closed(HTTPException):
    """`error` is a word of RFC 6750, section 3.1."""

    def __init__(self, status: int = 401, error: str = "invalid_token") -> None:
        super().__init__(status, error, {"WWW-Authenticate": f'Bearer error="{error}"'})


class Lock:
    """Open to everybody, for the app without authorisation."""

    known: Mapping[str, str] = {}
    """What a person finds on their account page, to type in."""

    def open(self, request: Request, tool: str) -> None:
        """Returns, or raises `Closed`."""

    def clear(self) -> None:
        """Forget what was issued; a person's secrets stay."""


class KeyLock(Lock):
    """An API key, exactly where and how the descriptor says; it opens every tool."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        key = f"key_{secrets.token_urlsafe(24)}"
        self.known = {"apiKey": key}
        self._in_query = settings.get("location") == "query"
        self._name = str(settings.get("name", ""))
        prefix = "" if self._in_query else settings.get("prefix")
        self._expected = f"{prefix} {key}" if prefix else key

    def open(self, request: Request, tool: str) -> None:  # noqa: ARG002
        shown = request.query_params if self._in_query else request.headers
        if not same(shown.get(self._name), self._expected):
            raise Closed


class AppTokenLock(Lock):
    """App credentials: they are exchanged for a token that lasts two hours, for every tool."""

    def __init__(self, settings: Mapping[str, Any], clock: Clock) -> None:
        self.known = {
            "appId": f"cli_{secrets.token_hex(8)}",
            "appSecret": secrets.token_urlsafe(24),
        }
        self._member = str(settings.get("tokenType", "tenantAccessToken"))
        self._clock = clock
        self._tokens: Ledger[datetime] = Ledger()

    def exchange(self, given: Any) -> dict[str, Any]:
        """The answer of the token endpoint; `Closed` for other credentials."""
        members = given if isinstance(given, dict) else {}
        if not _all_right(members, self.known):
            raise Closed(401, "invalid_client")
        token = f"t-{secrets.token_urlsafe(24)}"
        self._tokens.add(token, self._clock.now() + timedelta(seconds=APP_TOKEN_SECONDS))
        return {self._member: token, "expire": APP_TOKEN_SECONDS}

    def open(self, request: Request, tool: str) -> None:  # noqa: ARG002
        expires_at = self._tokens.find(bearer(request))
        if expires_at is None or self._clock.now() >= expires_at:
            raise Closed

    def clear(self) -> None:
        self._tokens.clear()


class CookieLock(Lock):
    """A session: all of the cookies that a browser would send, for every tool."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.known = {name: secrets.token_hex(20) for name in settings.get("requiredCookies", [])}

    def open(self, request: Request, tool: str) -> None:  # noqa: ARG002
        if not _all_right(request.cookies, self.known):
            raise Closed


def _all_right(given: Mapping[str, Any], known: Mapping[str, str]) -> bool:
    """All are compared, so that the time does not show which is wrong."""
    right = [same(given.get(name), value) for name, value in known.items()]
    return bool(right) and all(right)


def bearer(request: Request) -> str:
    """The token of an Authorization header (RFC 6750, section 2.1), "" if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""
