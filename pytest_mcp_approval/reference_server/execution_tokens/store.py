"""The log of spent nonces: the first to spend one wins, on this machine and after any crash.

A nonce is on disk before `spend` returns, so that what runs afterwards cannot run twice, even if
the process is killed at that moment. Knows no token.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from ..server.tables import RecordStore


class NonceLog(Protocol):
    """Every method may be called by several threads and processes at once."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        """Mark it spent; returns whether this very call did so. It is durable when this returns."""
        ...


@dataclass(frozen=True)
class SpentNonce:
    nonce: str
    expires_at: datetime.datetime
    spent_at: datetime.datetime


class NonceStore(RecordStore):
    """In a database; or in memory for tests, which ADR-006 does not allow for a service.

    A nonce is kept as long as its token is valid: after that the token is refused as expired. One
    hour is added in case a clock is set back.
    """

    prefix: ClassVar[str] = "execution_tokens_"
    outlives_the_machine: ClassVar[bool] = True  # the content runs right after

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self._nonces = self.table("nonces", SpentNonce, indexed=("expires_at",))

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = now - datetime.timedelta(hours=1)
        self._nonces.remove_below("expires_at", forgotten)
        return self._nonces.add(SpentNonce(nonce.lower(), expires_at, now))


class FolderNonceLog:
    """A file for each nonce, created only if it is not there: one system call decides.

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
            os.fsync(folder)  # the entry itself, in case the machine fails
        finally:
            os.close(folder)
        return True
