"""What happens during one test, in order: every exchange, and what else is noted beside the wire.

A test may speak to several servers, restart them, move their clocks and let authenticators sign.
All of it passes here while a recording is on. Keeps what it is given (others turn it into a
report), and only so much of it: of one test, and of all tests of a run, since what is kept of each
is held until the reports are written. Knows no family, no clock and no authenticator: they say what
they did.
"""

import threading
from collections import deque
from typing import Any, NamedTuple

from .deadline import now
from .exchanges import Exchange

KEPT_FIRST = 60
KEPT_LAST = 60
"""Of a very long conversation its beginning and its end are kept: the end is where it broke."""

MOST_OF_A_TEST = 512 * 1024
LEAST_OF_A_TEST = 32 * 1024
"""Bytes: what one test may keep as long as the run has room, and what each may keep in any case."""
MOST_OF_A_RUN = 32 * 1024 * 1024
_SHARE = 16
"""The part of the room that is left in the run, that one test may take."""
_SMALLEST_CUT = 256


class Note(NamedTuple):
    """Something that happened beside the wire."""

    lane: str
    """Who did it: "authenticator", "clock" or "effects"."""
    what: str
    details: dict[str, Any]


Happening = Exchange | Note


class Recording:
    """The happenings of one test, each with the moment at which it began."""

    def __init__(self) -> None:
        self.began = now()
        self.left_out = 0
        self._first: list[tuple[float, Happening]] = []
        self._last: deque[tuple[float, Happening]] = deque()
        self._lock = threading.Lock()
        self._room = _run.room_for_a_test()
        self._cut = self._room
        """What each part of what is added may have: less and less, so that all find room."""
        self._weight = 0

    def add(self, at: float, what: Happening) -> None:
        if isinstance(what, Exchange):
            what = what.cut_to(self._cut)
        with self._lock:
            before = self._weight
            self._keep(at, what)
            while self._weight > self._room and self._cut > _SMALLEST_CUT:
                self._cut_all()
            _run.kept += self._weight - before

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
        """Small messages stay whole, large ones are cut alike."""
        self._cut //= 2

        def cut(one: tuple[float, Happening]) -> tuple[float, Happening]:
            at, what = one
            return at, what.cut_to(self._cut) if isinstance(what, Exchange) else what

        self._first = [cut(one) for one in self._first]
        self._last = deque(cut(one) for one in self._last)
        self._weight = sum(_weight(what) for _, what in (*self._first, *self._last))

    @property
    def happenings(self) -> list[tuple[float, Happening]]:
        """By the moment they began: what is recorded when it ends may have begun before others."""
        with self._lock:
            return sorted([*self._first, *self._last], key=lambda one: one[0])

    @property
    def gap(self) -> int:
        """After how many happenings something was left out."""
        return len(self._first)


def _weight(what: Happening) -> int:
    return what.weight if isinstance(what, Exchange) else 0


class _Run:
    """What the tests of a run have kept, all together."""

    def __init__(self) -> None:
        self.kept = 0

    def room_for_a_test(self) -> int:
        left = max(0, MOST_OF_A_RUN - self.kept)
        return min(MOST_OF_A_TEST, max(LEAST_OF_A_TEST, left // _SHARE))


_run = _Run()


def begin_run() -> None:
    """What was kept before belongs to another run."""
    _run.kept = 0


_current: Recording | None = None


def begin() -> Recording:
    """Record from now on; what was recorded before is somebody else's already."""
    return resume(Recording())


def resume(recording: Recording) -> Recording:
    """Go on with this one: a test has several phases."""
    global _current  # noqa: PLW0603  # one test at a time runs in a process
    _current = recording
    return recording


def current() -> Recording | None:
    return _current


def end() -> None:
    global _current  # noqa: PLW0603
    _current = None


def note(lane: str, what: str, **details: Any) -> None:
    """For everybody else: this happened, now."""
    if _current is not None:
        _current.add(now(), Note(lane, what, details))
