"""Where the gateway keeps what nobody else may read: records by kind and key.

Keys are lists of any texts. Records are JSON objects. Knows no consent and no credential; the
encrypted file and the key store are in other modules.
"""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

Record = dict[str, Any]
Key = tuple[str, ...]
Records = dict[tuple[str, Key], Record]


class VaultError(Exception):
    """The vault cannot be read or written; the message contains nothing from it."""


class Vault(ABC):
    """Methods may be called by several threads, and by several processes if it outlives them."""

    storage: ClassVar[str]
    """Its name in the settings."""
    folder: Path | None = None
    """Where its files are; None if it writes none."""

    @abstractmethod
    def load(self, kind: str, *key: str) -> Record | None: ...

    @abstractmethod
    def save(self, kind: str, record: Record, *key: str) -> None: ...

    @abstractmethod
    def delete(self, kind: str, *key: str) -> None:
        """Does nothing if it is not there."""

    @abstractmethod
    def keys(self, kind: str) -> list[Key]:
        """In no particular order."""

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Exclusive access: what is loaded inside is still current when it is saved inside."""

    @abstractmethod
    def reset(self) -> None: ...

    def accounts(self) -> list[str]:
        """The names of its entries in a key store; none if it is in no key store."""
        return []

    def close(self) -> None:  # noqa: B027
        """Most have nothing to close; a restarted server finds its records again."""


class WholeVault(Vault):
    """A vault that handles all its records as a whole."""

    @abstractmethod
    def _all(self) -> Records:
        """The records as they are now; do not change them."""

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Records]:
        """Exclusive access to the records; changes made inside are stored."""

    def load(self, kind: str, *key: str) -> Record | None:
        return copy.deepcopy(self._all().get((kind, key)))

    def save(self, kind: str, record: Record, *key: str) -> None:
        with self._changing() as records:
            records[kind, key] = copy.deepcopy(record)

    def delete(self, kind: str, *key: str) -> None:
        with self._changing() as records:
            records.pop((kind, key), None)

    def keys(self, kind: str) -> list[Key]:
        return [key for own, key in self._all() if own == kind]

    def reset(self) -> None:
        with self._changing() as records:
            records.clear()


class MemoryVault(WholeVault):
    """For tests: gone with the process, and never on disk."""

    storage = "memory"

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._records: Records = {}

    def _all(self) -> Records:
        with self._lock:
            return dict(self._records)

    @contextmanager
    def _changing(self) -> Iterator[Records]:
        with self._lock:
            yield self._records

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        with self._lock:
            yield
