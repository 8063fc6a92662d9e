"""The authenticator's sense of time: the machine's, or one that a test moves.

Nothing in this package sleeps by itself: all waiting uses a clock.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since 1970, and waiting that can be cancelled."""

    def now(self) -> float: ...

    def wait(self, seconds: float, cancelled: threading.Event | None = None) -> bool:
        """Let time pass; True if it was cut short by `cancelled`."""
        ...

    def skip(self, seconds: float) -> None:
        """Let time pass if that is free; a real clock stays as it is."""
        ...


class SystemClock:
    """The real clock: waiting really waits."""

    now = staticmethod(time.time)

    def wait(self, seconds: float, cancelled: threading.Event | None = None) -> bool:
        return (cancelled or threading.Event()).wait(seconds)

    def skip(self, seconds: float) -> None:
        pass


class ManualClock:
    """Stands still until it is moved; waiting moves it and returns at once."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now = start

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds

    skip = advance

    def wait(self, seconds: float, cancelled: threading.Event | None = None) -> bool:
        if cancelled is not None and cancelled.is_set():
            return True
        self.advance(seconds)
        return False
