"""A clock that really waits. Knows no server and no test runner.

Time is not moved: it comes. Who waits can be kept waiting together with others (`hold`), so that a
run waits once for all of them; without that, a test waits where it stands.
"""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Callable

from ..support.deadline import now as monotonic_now
from .base import ClockControl, ClockError

Hold = Callable[[float], None]
"""Comes back when this instant of the monotonic clock has passed, or later; for an infinite one,
when nobody else is held."""

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
        self.hold: Hold = wait_here
        self._margin = _NEAR if nearby else _FAR
        self._mine = threading.local()  # one thread is one test

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        furthest = getattr(self._mine, "furthest", None)
        if furthest is not None and instant < furthest:
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
        self._mine.furthest = instant
        if seconds > 0:
            self.interruptions += 1
            self.hold(monotonic_now() + seconds)
        if before is not None and self.now() >= before:
            late = (self.now() - instant).total_seconds()
            raise ClockError(f"real time went past the instant that was meant, by {late:.1f} s")

    def release(self) -> None:
        self._mine.furthest = None

    def await_solitude(self) -> None:
        self.interruptions += 1
        self.hold(math.inf)


def wait_here(until: float) -> None:
    """Nobody else has anything to do meanwhile."""
    if until == math.inf:
        return
    waiting = threading.Event()
    while (left := until - monotonic_now()) > 0:
        waiting.wait(left)


def _spoken(seconds: float) -> str:
    return f"{seconds / 3600:.0f} h" if seconds >= 2 * 3600 else f"{seconds:.0f} s"
