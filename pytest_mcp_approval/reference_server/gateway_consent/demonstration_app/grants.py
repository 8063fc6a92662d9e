"""What an app has issued: codes and tokens, by the digests of their texts.

Everything issued after one "Allow" shares one `Allowed`, which can be revoked as a whole. Using
something up is one indivisible step, however many try at once. Knows no HTTP, no rule about who may
have what, and no clock.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from ...server.secret_text import digest

_MOST = 10_000
"""The oldest go first, so that nobody can fill up the demonstration."""

Record = TypeVar("Record")


@dataclass
class Allowed:
    """What a person has allowed a client."""

    client_id: str
    scopes: tuple[str, ...]
    tools: tuple[str, ...]
    revoked: bool = False


@dataclass
class Grant:
    """A code, an access token or a refresh token; only a code has the last two members."""

    allowed: Allowed
    expires_at: datetime
    redirect_uri: str = ""
    challenge: str = field(default="", repr=False)
    _use: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def used(self) -> bool:
        return self._use.locked()

    def spend(self) -> bool:
        """Use it up; returns whether this very call did so."""
        return self._use.acquire(blocking=False)


class Ledger(Generic[Record]):
    """Records by a secret, in memory. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: OrderedDict[str, Record] = OrderedDict()

    def add(self, secret: str, record: Record) -> None:
        with self._lock:
            self._records[digest(secret)] = record
            while len(self._records) > _MOST:
                self._records.popitem(last=False)

    def find(self, secret: str) -> Record | None:
        with self._lock:
            return self._records.get(digest(secret))

    def take(self, secret: str) -> Record | None:
        """Find it and remove it."""
        with self._lock:
            return self._records.pop(digest(secret), None)

    def clear(self) -> None:
        with self._lock:
            self._records.clear()
