"""What happens during one test, in order: every exchange, and what else is noted beside the wire.

A transcript belongs to one transport; a test may speak to several servers, restart them, move
their clocks and let authenticators sign. All of it passes here while a recording is on. Keeps what
it is given as it is (turning it into a report is another's part), and only so much of it. Knows no
family, no clock and no authenticator: they say what they did.
"""

import threading
from collections import deque
from typing import Any, NamedTuple

from pytest_mcp_approval.wire.clock import now

KEPT_FIRST = 60
KEPT_LAST = 60
"""Of a very long conversation its beginning and its end are kept: the end is where it broke."""


class Note(NamedTuple):
    """Something that happened beside the wire."""

    lane: str
    """Who did it: "authenticator", "clock" or "effects"."""
    what: str
    details: dict[str, Any]


class Recording:
    """The happenings of one test, each with the moment at which it began."""

    def __init__(self) -> None:
        self.began = now()
        self.left_out = 0
        self._first: list[tuple[float, Any]] = []
        self._last: deque[tuple[float, Any]] = deque()
        self._lock = threading.Lock()

    def add(self, at: float, what: Any) -> None:
        with self._lock:
            if len(self._first) < KEPT_FIRST:
                self._first.append((at, what))
                return
            self._last.append((at, what))
            if len(self._last) > KEPT_LAST:
                self._last.popleft()
                self.left_out += 1

    @property
    def happenings(self) -> list[tuple[float, Any]]:
        """By the moment they began: what is recorded when it ends may have begun before others."""
        with self._lock:
            return sorted([*self._first, *self._last], key=lambda one: one[0])

    @property
    def gap(self) -> int:
        """After how many happenings something was left out."""
        return len(self._first)


_current: Recording | None = None


def begin() -> Recording:
    """Record from now on; what was recorded before is somebody else's already."""
    return resume(Recording())


def resume(recording: Recording) -> Recording:
    """Go on with this one: a test may be interrupted by others."""
    global _current  # noqa: PLW0603  # one test at a time runs in a process
    _current = recording
    return recording


def current() -> Recording | None:
    return _current


def end() -> None:
    global _current  # noqa: PLW0603
    _current = None


def record(at: float, what: Any) -> None:
    """For a transcript: an exchange that began at that moment."""
    if _current is not None:
        _current.add(at, what)


def note(lane: str, what: str, **details: Any) -> None:
    """For everybody else: this happened, now."""
    if _current is not None:
        _current.add(now(), Note(lane, what, details))
