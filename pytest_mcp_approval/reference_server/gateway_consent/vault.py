"""Where the gateway keeps what nobody else may read: records by kind and key, encrypted at rest.

Keys are lists of texts, and any text will do: `address` gives each list a name of its own, of one
length, so that no two lists share a record and no key store finds a name too long. Records are JSON
objects. Knows no consent and no credential; the file and the key store are in files of their own.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

Record = dict[str, Any]
Key = tuple[str, ...]


class VaultError(Exception):
    """The vault cannot be read or written; nothing of what it holds is in the words."""


class Vault(Protocol):
    """Every method may be called by several threads, and where it outlives the process by several
    processes."""

    def load(self, kind: str, *key: str) -> Record | None: ...

    def save(self, kind: str, record: Record, *key: str) -> None: ...

    def delete(self, kind: str, *key: str) -> None:
        """Also of what is not there."""
        ...

    def keys(self, kind: str) -> list[Key]:
        """In no particular order."""
        ...

    def exclusive(self) -> AbstractContextManager[None]:
        """Alone with the vault: what is loaded inside is still true when it is saved inside."""
        ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


def address(kind: str, key: Key) -> str:
    """One name for one kind and key.

    JSON of a list is injective (joined text is not: "a-b", "c" and "a", "b-c"), and SHA-256 makes
    it short: Windows takes names of 337 bytes, others less.
    """
    text = json.dumps([kind, *key], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class MemoryVault:
    """For tests and trials: gone with the process, and never on disk."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._records: dict[tuple[str, Key], Record] = {}

    def load(self, kind: str, *key: str) -> Record | None:
        with self._lock:
            return copy.deepcopy(self._records.get((kind, key)))

    def save(self, kind: str, record: Record, *key: str) -> None:
        with self._lock:
            self._records[kind, key] = copy.deepcopy(record)

    def delete(self, kind: str, *key: str) -> None:
        with self._lock:
            self._records.pop((kind, key), None)

    def keys(self, kind: str) -> list[Key]:
        with self._lock:
            return [key for own, key in self._records if own == kind]

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._lock:
            yield

    def reset(self) -> None:
        with self._lock:
            self._records.clear()

    def close(self) -> None:
        """Nothing is open, and a restarted server finds what it had."""
