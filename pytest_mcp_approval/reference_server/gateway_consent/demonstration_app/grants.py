"""What an authorisation server has given out: codes, access tokens, refresh tokens.

Tokens are kept by their digests. All that came of one "Allow" is a lineage, which can be revoked as
a whole. Using something up is one step that decides, however many come at once. Knows no HTTP, no
rule about who may have what, and no time: it is told.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from ...server.secret_text import digest

_MOST = 10_000
"""Of each kind; the oldest go first. A demonstration is not filled up by whoever asks most."""

Record = TypeVar("Record")


@dataclass(frozen=True)
class Allowed:
    """What a person has allowed a client."""

    lineage: str
    client_id: str
    scopes: tuple[str, ...]
    tools: tuple[str, ...]


@dataclass
class Code:
    allowed: Allowed
    redirect_uri: str
    challenge: str = field(repr=False)
    expires_at: datetime
    used: bool = False


@dataclass
class RefreshToken:
    allowed: Allowed
    expires_at: datetime
    used: bool = False


@dataclass
class AccessToken:
    allowed: Allowed
    expires_at: datetime


class Grants:
    """One server's ledger, in memory. Any thread may use them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: OrderedDict[str, Code] = OrderedDict()
        self._access: OrderedDict[str, AccessToken] = OrderedDict()
        self._refresh: OrderedDict[str, RefreshToken] = OrderedDict()
        self._revoked: OrderedDict[str, None] = OrderedDict()

    def add_code(self, secret: str, code: Code) -> None:
        self._add(self._codes, digest(secret), code)

    def add_access(self, secret: str, token: AccessToken) -> None:
        self._add(self._access, digest(secret), token)

    def add_refresh(self, secret: str, token: RefreshToken) -> None:
        self._add(self._refresh, digest(secret), token)

    def _add(self, ledger: OrderedDict[str, Record], key: str, record: Record) -> None:
        with self._lock:
            ledger[key] = record
            while len(ledger) > _MOST:
                ledger.popitem(last=False)

    def code(self, secret: str) -> Code | None:
        with self._lock:
            return self._codes.get(digest(secret))

    def access(self, secret: str) -> AccessToken | None:
        with self._lock:
            return self._access.get(digest(secret))

    def refresh(self, secret: str) -> RefreshToken | None:
        with self._lock:
            return self._refresh.get(digest(secret))

    def spend(self, record: Code | RefreshToken) -> bool:
        """Whether it was this very call that used it up."""
        with self._lock:
            won = not record.used
            record.used = True
            return won

    def revoke(self, lineage: str) -> None:
        self._add(self._revoked, lineage, None)

    def is_revoked(self, allowed: Allowed) -> bool:
        with self._lock:
            return allowed.lineage in self._revoked

    def clear(self) -> None:
        with self._lock:
            for ledger in (self._codes, self._access, self._refresh, self._revoked):
                ledger.clear()
