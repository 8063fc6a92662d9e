"""One at a time, across threads and processes: a lock on an empty file.

The operating system releases it when its process ends, however it ends. Knows no record.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .vault import VaultError

SECONDS = 10.0


class FileLock:
    """Re-entrant: whoever has it may take it again."""

    def __init__(self, path: Path, seconds: float = SECONDS) -> None:
        self._path = path
        self._seconds = seconds
        self._threads = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        give_up = time.monotonic() + self._seconds
        if not self._threads.acquire(timeout=self._seconds):
            raise VaultError(f"{self._path.name}: held by another thread for {self._seconds:g} s")
        try:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            handle = self._open()
            try:
                self._await(handle, give_up)
                self._depth = 1
                try:
                    yield
                finally:
                    self._depth = 0
                    _release(handle)
            finally:
                os.close(handle)
        finally:
            self._threads.release()

    def _open(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise VaultError(f"{self._path.name}: cannot be opened: {error.strerror}") from None

    def _await(self, handle: int, give_up: float) -> None:
        while not _take(handle):
            if time.monotonic() > give_up:
                raise VaultError(
                    f"{self._path.name}: held by another process for {self._seconds:g} s"
                )
            time.sleep(0.002)


_take: Callable[[int], bool]
_release: Callable[[int], None]

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        try:
            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
