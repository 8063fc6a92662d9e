"""The log of spent nonces: who spends one first has it, on this machine and after any crash.

A nonce is on disk before `spend` returns, so that whatever runs afterwards cannot run twice, even
if the process is killed at the next instant. Knows no token.
"""

from __future__ import annotations

import datetime
import os
import threading
from pathlib import Path
from typing import Protocol


class NonceLog(Protocol):
    """Every method may be called by several threads and processes at once."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        """Mark it spent; whether this very call did so. It is durable when this returns."""
        ...

    def reset(self) -> None: ...

    def close(self) -> None: ...


class MemoryNonceLog:
    """For tests and trials: gone with the process, which ADR-006 does not allow a service."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: set[str] = set()

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:  # noqa: ARG002
        with self._lock:
            key = nonce.lower()
            if key in self._spent:
                return False
            self._spent.add(key)
            return True

    def reset(self) -> None:
        with self._lock:
            self._spent.clear()

    def close(self) -> None:
        """Nothing is open."""


class FolderNonceLog:
    """A file for each nonce, made only if it is not there: one system call decides.

    The verifiers in Bash and Node keep the same folder in the same way, so that they can share it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:  # noqa: ARG002
        try:
            handle = os.open(
                self._folder / nonce.lower(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600
            )
        except FileExistsError:
            return False
        os.close(handle)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # the entry itself, should the machine fail
        finally:
            os.close(folder)
        return True

    def reset(self) -> None:
        for path in self._folder.iterdir():
            path.unlink()

    def close(self) -> None:
        """Nothing is open."""
