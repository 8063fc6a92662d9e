"""Records what happens during one test, in order: every exchange, and other events.

A test may talk to several servers, restart them, move their clocks and let authenticators sign. All
of this is recorded here; others turn it into a report. The size is limited, for one test and for
all tests of a run, since everything is kept until the reports are written. Knows no family, no
clock and no authenticator: they say what they did.
"""

import threading
from collections import deque
from typing import Any, NamedTuple

from .deadline import now
from .exchanges import Exchange

KEPT_FIRST = 60
KEPT_LAST = 60
"""Only the beginning and the end of a very long conversation are kept: it failed at the end."""

MOST_OF_A_TEST = 512 * 1024
LEAST_OF_A_TEST = 32 * 1024
"""Bytes that one test may keep while the run has room, and that it may keep in any case."""
MOST_OF_A_RUN = 32 * 1024 * 1024
_SHARE = 16
"""One test may take one part in this many of the run's remaining room."""
_SMALLEST_CUT = 256


class Note(NamedTuple):
    """An event that is not an exchange."""

    lane: str
    """Who did it: "authenticator", "clock" or "effects"; "finding" says that what came before it
    was not what was expected."""
    what: str
    details: dict[str, Any]


Happening = Exchange | Note


class Recording:
    """The events of one test, each with the time at which it began."""

    kept_in_run = 0
    """Bytes that all tests of the run keep."""

    def __init__(self) -> None:
        self.began = now()
        self.left_out = 0
        self._first: list[tuple[float, Happening]] = []
        self._last: deque[tuple[float, Happening]] = deque()
        self._lock = threading.Lock()
        left = max(0, MOST_OF_A_RUN - Recording.kept_in_run)
        self._room = min(MOST_OF_A_TEST, max(LEAST_OF_A_TEST, left // _SHARE))
        self._cut = self._room
        """The size limit for each part: it shrinks, so that everything fits."""
        self._weight = 0

    def add(self, at: float, what: Happening) -> None:
        if isinstance(what, Exchange):
            what = what.cut_to(self._cut)
        with self._lock:
            before = self._weight
            self._keep(at, what)
            while self._weight > self._room and self._cut > _SMALLEST_CUT:
                self._cut_all()
            Recording.kept_in_run += self._weight - before

    def _keep(self, at: float, what: Happening) -> None:
        self._weight += _weight(what)
        if len(self._first) < KEPT_FIRST:
            self._first.append((at, what))
            return
        self._last.append((at, what))
        if len(self._last) > KEPT_LAST:
            self._weight -= _weight(self._last.popleft()[1])
            self.left_out += 1

    def _cut_all(self) -> None:
        """Small messages stay complete, large ones are cut to the same size."""
        self._cut //= 2

        def cut(one: tuple[float, Happening]) -> tuple[float, Happening]:
            at, what = one
            return at, what.cut_to(self._cut) if isinstance(what, Exchange) else what

        self._first = [cut(one) for one in self._first]
        self._last = deque(cut(one) for one in self._last)
        self._weight = sum(_weight(what) for _, what in (*self._first, *self._last))

    @property
    def happenings(self) -> list[tuple[float, Happening]]:
        """In the order in which they began: an event is recorded at its end, after later ones
        began."""
        with self._lock:
            return sorted([*self._first, *self._last], key=lambda one: one[0])

    @property
    def gap(self) -> int:
        """After how many events something was left out."""
        return len(self._first)


def _weight(what: Happening) -> int:
    return what.weight if isinstance(what, Exchange) else 0


def begin_run() -> None:
    """Start counting anew: what was kept before belongs to another run."""
    Recording.kept_in_run = 0


_current: Recording | None = None


def begin() -> Recording:
    """Start a new recording; the one before is finished."""
    return resume(Recording())


def resume(recording: Recording) -> Recording:
    """Continue this recording: a test has several phases."""
    global _current  # noqa: PLW0603  # a process runs one test at a time
    _current = recording
    return recording


def current() -> Recording | None:
    return _current


def end() -> None:
    global _current  # noqa: PLW0603
    _current = None


def add(exchange: Exchange) -> None:
    if _current is not None:
        _current.add(exchange.started, exchange)


def note(lane: str, what: str, **details: Any) -> None:
    """Note that something else happened now."""
    if _current is not None:
        _current.add(now(), Note(lane, what, details))
