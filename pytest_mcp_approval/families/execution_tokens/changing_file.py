"""A content file that is another one for whoever opens it again.

On Linux the kernel asks the suite before it lets anybody open a file that is under a lease. The
file is replaced while its reader waits: what the next one gets is certain, and no race. Knows no
token and no verdict.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_PAUSE = 0.0005


class LeaseError(Exception):
    """Nobody asks before a file is opened: on another system, or on this file system."""


class ChangingFile:
    """At `path`: the approved bytes for as many readers as `good`, and then others for all."""

    def __init__(
        self, folder: Path, approved: bytes, other: bytes, *, good: int, linked: bool
    ) -> None:
        folder.mkdir()
        self.path = folder / "content"
        self._linked = linked
        self._copies = [folder / f"copy-{number}" for number in range(good + 1)]
        for copy in self._copies:
            copy.write_bytes(approved)
        self._copies[-1].write_bytes(other)
        self._held: list[int] = []

    @contextlib.contextmanager
    def held(self) -> Iterator[Path]:
        """While the kernel asks before anybody opens one of the approved copies."""
        with contextlib.ExitStack() as stack:
            self._held = [stack.enter_context(_lease(copy)) for copy in self._copies[:-1]]
            self._show(self._copies[0])
            yield self.path

    def change(self, done: threading.Event) -> None:
        """Replace the file each time somebody opens it, until `done`."""
        import fcntl

        for handle, following in zip(self._held, self._copies[1:], strict=True):
            if not _wait_for_reader(handle, done):
                return
            self._show(following)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def _show(self, copy: Path) -> None:
        """In one step: there is a file at `path` at any moment."""
        if self._linked:
            link = copy.with_suffix(".link")
            link.symlink_to(copy)
            link.replace(self.path)
        else:
            copy.replace(self.path)


@contextlib.contextmanager
def _lease(place: Path) -> Iterator[int]:
    handle = os.open(place, os.O_RDWR)
    try:
        try:
            import fcntl

            # The usual signal would end this process; this one does nothing.
            fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except (ImportError, AttributeError, OSError) as error:
            raise LeaseError(
                f"needs file leases (Linux), to change a file between two looks: {error}"
            ) from None
        yield handle
    finally:
        os.close(handle)


def _wait_for_reader(handle: int, done: threading.Event) -> bool:
    """Whether somebody waits to open it; they go on when the lease is given back."""
    import fcntl

    while not done.is_set():
        if fcntl.fcntl(handle, fcntl.F_GETLEASE) != fcntl.F_WRLCK:
            return True
        time.sleep(_PAUSE)
    return False
