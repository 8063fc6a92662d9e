"""Real monotonic time and deadlines.

The suite freezes time to test expiry, and a frozen clock must never freeze the suite itself.
freezegun replaces `time.monotonic` in every module that has it as an attribute, so this module does
not hold that function directly.
"""

import functools
import time
from collections.abc import Callable

_FOREVER = 1_000_000.0
"""Seconds; longer waits overflow the timeouts of sockets and locks."""


def _real_monotonic() -> Callable[[], float]:
    if hasattr(time, "clock_gettime"):
        # freezegun does not replace this one, so it is real even if this module is imported late.
        return functools.partial(time.clock_gettime, time.CLOCK_MONOTONIC)
    return functools.partial(time.monotonic)  # a partial is not recognised, hence not replaced


now: Callable[[], float] = _real_monotonic()
"""Seconds on a clock that only moves forward, even if the date is changed."""


class Deadline:
    """A point in real time by which something must have happened."""

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = min(max(seconds, 0.0), _FOREVER)
        self._end = now() + self.seconds

    def left(self) -> float:
        """Seconds that remain, never below zero."""
        return max(0.0, self._end - now())

    @property
    def in_words(self) -> str:
        """How long it was, for use in messages."""
        return f"{round(self.seconds, 1) or self.seconds:g} s"

    @property
    def passed(self) -> bool:
        return self.left() <= 0.0

    def at_most(self, seconds: float) -> "Deadline":
        """A deadline `seconds` from now, but not later than this one."""
        return Deadline(min(self.left(), seconds))
