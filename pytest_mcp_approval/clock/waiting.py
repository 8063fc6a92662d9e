"""A clock that really waits: time is not moved, it passes. Knows no server and no test runner."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable

from ..support.deadline import Deadline
from .base import ClockControl, ClockError

_FAR = 1.0
"""Seconds by which the clock of another machine may differ from ours."""
_NEAR = 0.05


class WaitClock(ClockControl):
    """Waits until real time has come to where it was to be moved."""

    kind = "wait"
    stops = False

    def __init__(self, longest: float, *, nearby: bool = True) -> None:
        self.longest = longest
        self.note = f"really waits, at most {longest:g} s for a rule"
        self.announce: Callable[[float], None] = lambda _: None
        """Told how many seconds a wait takes, before it begins."""
        self._margin = _NEAR if nearby else _FAR
        self._furthest: datetime.datetime | None = None

    def _move(self, instant: datetime.datetime, before: datetime.datetime | None) -> None:
        if self._furthest is not None and instant < self._furthest:
            raise ClockError("real time does not go back")
        seconds = (instant - self.now()).total_seconds()
        if seconds > self.longest:
            raise ClockError(
                f"would take {_spoken(seconds)}, and {self.longest:g} s is the limit: "
                f"--mcp-approval-clock=wait:{seconds + 1:.0f}"
            )
        if before is None:
            # Later does no harm, and too early by the other's clock would.
            seconds += self._margin
        self._furthest = instant
        if seconds > 0:
            self.announce(seconds)
            wait(seconds)
        if before is not None and self.now() >= before:
            late = (self.now() - instant).total_seconds()
            raise ClockError(f"real time has passed the intended instant, by {late:.1f} s")

    def release(self) -> None:
        self._furthest = None


def wait(seconds: float) -> None:
    """Ctrl-C ends it at once."""
    until = Deadline(seconds)
    while not until.passed:
        time.sleep(until.left())


def _spoken(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds >= 2 * 3600 else f"{seconds:.0f} s"
