"""What an app has given out: codes and tokens, by the digests of their texts.

All that came of one "Allow" shares one `Allowed`, which can be revoked as a whole. Using something
up is one step that decides, however many come at once. Knows no HTTP, no rule about who may have
what, and no time: it is told.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from ...server.secret_text import digest

_MOST = 10_000
"""The oldest go first. A demonstration is not filled up by whoever asks most."""

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
    """A code, an access token or a refresh token; the two last members are those of a code."""

    allowed: Allowed
    expires_at: datetime
    redirect_uri: str = ""
    challenge: str = field(default="", repr=False)
    _use: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def used(self) -> bool:
        return self._use.locked()

    def spend(self) -> bool:
        """Whether it was this very call that used it up."""
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
        """It is not there any more."""
        with self._lock:
            return self._records.pop(digest(secret), None)

    def clear(self) -> None:
        with self._lock:
            self._records.clear()
