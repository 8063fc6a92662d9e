"""What stands before an app's tools: one lock for each way in, on the app's side.

A lock looks at one request and says why it does not open. Comparisons take the same time whatever
is wrong. Knows no HTTP framework and no gateway.
"""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from ....families.gateway_consent.vocabulary import APP_TOKEN_SECONDS
from ...server.clock import Clock
from ...server.secret_text import digest, same
from .oauth import AuthorisationServer

_MOST_TOKENS = 1000


@dataclass(frozen=True)
class ShownCredentials:
    """What a request shows to get in."""

    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    cookies: Mapping[str, str] = field(repr=False)


class Closed(Exception):  # noqa: N818 - an answer, not an error of the code
    """`status` is HTTP's, `error` is a word of RFC 6750, section 3.1."""

    def __init__(self, status: int = 401, error: str = "invalid_token") -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        self.error = error


class Lock(ABC):
    @abstractmethod
    def open(self, shown: ShownCredentials, tool: str) -> None:
        """Returns, or raises `Closed`."""


class NoLock(Lock):
    def open(self, shown: ShownCredentials, tool: str) -> None:
        """For everybody."""


class TokenLock(Lock):
    """OAuth 2.0: a bearer token that was given for this tool."""

    def __init__(self, server: AuthorisationServer) -> None:
        self.server = server

    def open(self, shown: ShownCredentials, tool: str) -> None:
        allowed = self.server.opened(bearer(shown))
        if allowed is None:
            raise Closed
        if tool not in allowed.tools:
            raise Closed(403, "insufficient_scope")


class KeyLock(Lock):
    """An API key, just where the descriptor says, and just as it says."""

    def __init__(self, key: str, settings: Mapping[str, Any]) -> None:
        self._key = key
        self._in_query = settings.get("location") == "query"
        self._name = str(settings.get("name", ""))
        self._prefix = str(settings.get("prefix") or "")

    def open(self, shown: ShownCredentials, tool: str) -> None:  # noqa: ARG002 - a key opens every tool
        if self._in_query:
            given, expected = shown.query.get(self._name, ""), self._key
        else:
            given = shown.headers.get(self._name.lower(), "")
            expected = f"{self._prefix} {self._key}" if self._prefix else self._key
        if not same(given, expected):
            raise Closed


class AppTokenLock(Lock):
    """App credentials: they are exchanged for a token that lasts two hours."""

    seconds = APP_TOKEN_SECONDS

    def __init__(self, clock: Clock, app_id: str, app_secret: str, member: str) -> None:
        self.clock = clock
        self.member = member
        self._app_id = app_id
        self._app_secret = app_secret
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, datetime] = OrderedDict()

    def exchange(self, given: Any) -> dict[str, Any]:
        """The answer of the token end point; `Closed` for other credentials."""
        members = given if isinstance(given, dict) else {}
        right_id = same(members.get("appId"), self._app_id)
        if not same(members.get("appSecret"), self._app_secret) or not right_id:
            raise Closed(401, "invalid_client")
        token = f"t-{secrets.token_urlsafe(24)}"
        with self._lock:
            self._tokens[digest(token)] = self.clock.now() + timedelta(seconds=self.seconds)
            while len(self._tokens) > _MOST_TOKENS:
                self._tokens.popitem(last=False)
        return {self.member: token, "expire": self.seconds}

    def open(self, shown: ShownCredentials, tool: str) -> None:  # noqa: ARG002 - a token opens every tool
        with self._lock:
            expires_at = self._tokens.get(digest(bearer(shown)))
        if expires_at is None or self.clock.now() >= expires_at:
            raise Closed

    def knows(self, token: str) -> bool:
        with self._lock:
            return digest(token) in self._tokens

    def clear(self) -> None:
        with self._lock:
            self._tokens.clear()


class CookieLock(Lock):
    """A session: all of the cookies that a browser would send."""

    def __init__(self, cookies: Mapping[str, str]) -> None:
        self._cookies = cookies

    def open(self, shown: ShownCredentials, tool: str) -> None:  # noqa: ARG002 - a session opens every tool
        right = [same(shown.cookies.get(name), value) for name, value in self._cookies.items()]
        if not right or not all(right):
            raise Closed


def bearer(shown: ShownCredentials) -> str:
    """The token of an Authorization header (RFC 6750, section 2.1), "" where there is none."""
    scheme, _, token = shown.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""
