"""What a clock control can do, and the one that can do nothing. Knows no server."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping

from ..support import recording


class ClockError(Exception):
    """Time could not be moved; one line says why."""


class ClockControl(ABC):
    """Moves the time of the target. Instants are aware of their time zone."""

    kind: str
    """How it is done, for the header of a run."""
    note: str = ""
    """Why this one was taken, for the header."""
    movable: bool = True
    why_not: str = ""
    stops: bool = True
    """Whether time stands still where it is put. A clock that really waits only reaches it."""
    if_stuck: str = ""
    """What to do if it turns out not to move the target's time."""

    def now(self) -> datetime.datetime:
        """What the target's clock shows, as far as the suite knows."""
        return datetime.datetime.now(datetime.UTC)

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        """Stop the clock at this instant.

        `before` is what must not have come when the target is asked next: a clock that cannot
        stand still says so if it has.
        """
        was = self.now()
        self._move(instant, before)
        recording.note("clock", "moved", before=was, instant=instant, kind=self.kind)

    def advance(self, seconds: float, *, at_most: float | None = None) -> None:
        """`at_most`: the seconds after which it would be too late, as `before` of `move_to`."""
        now = self.now()
        before = None if at_most is None else now + datetime.timedelta(seconds=at_most)
        self.move_to(now + datetime.timedelta(seconds=seconds), before=before)

    @abstractmethod
    def _move(self, instant: datetime.datetime, before: datetime.datetime | None) -> None:
        """What `move_to` promises; each kind in its own way."""

    @abstractmethod
    def release(self) -> None:
        """Let time be what it was: as if it had never been moved."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What a server's environment must have besides `inherited`, for this clock to reach it."""
        del inherited
        return {}

    def close(self) -> None:  # noqa: B027  # most have nothing to leave
        """The end: leave nothing behind."""


class NoClock(ClockControl):
    """A target whose time the suite cannot move."""

    kind = "none"
    movable = False

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not

    def _move(self, instant: datetime.datetime, _before: datetime.datetime | None) -> None:
        raise ClockError(f"the clock cannot be moved to {instant.isoformat()}: {self.why_not}")

    def release(self) -> None:
        """Nothing was moved."""


class StoppedClock(ClockControl):
    """What the clocks of other processes share: the suite remembers where it stopped them, because
    it cannot look."""

    def __init__(self) -> None:
        self._stopped_at: datetime.datetime | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was moved, and not released since."""
        return self._stopped_at is not None

    def now(self) -> datetime.datetime:
        return self._stopped_at or datetime.datetime.now(datetime.UTC)

    def _move(self, instant: datetime.datetime, _before: datetime.datetime | None) -> None:
        instant = instant.astimezone(datetime.UTC)
        # A move that fails half-way must be released too.
        self._stopped_at = self._stopped_at or instant
        self._tell(instant)
        self._stopped_at = instant

    def release(self) -> None:
        # Telling costs time: none for a test that moved nothing.
        if self.stopped:
            # Even if the telling fails, nobody may go on believing in the old instant.
            self._stopped_at = None
            self._tell(None)

    @abstractmethod
    def _tell(self, instant: datetime.datetime | None) -> None:
        """Let the target know: stand still at this instant, or go on (None)."""
