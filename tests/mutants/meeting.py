"""The moment between a look and an act, for servers that lose a race there.

A pause of a fixed length is too short on a busy machine. Knows no family.
"""

from __future__ import annotations

import threading
from contextlib import suppress


class Meeting:
    """Where two threads wait for each other; one that is alone goes on after a while."""

    def __init__(self, seconds: float = 0.25) -> None:
        self._seconds = seconds
        self._barrier = threading.Barrier(2)

    def wait(self) -> None:
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait(self._seconds)
        if self._barrier.broken:
            self._barrier.reset()
