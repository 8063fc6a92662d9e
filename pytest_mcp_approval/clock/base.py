"""What a clock control can do, and the one that can do nothing. Knows no server."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

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

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Every move goes into the record of the test that makes it, whatever clock it is."""
        super().__init_subclass__(**keywords)
        if "move_to" in cls.__dict__:
            setattr(cls, "move_to", _noted(cls.__dict__["move_to"]))  # noqa: B010

    @abstractmethod
    def now(self) -> datetime.datetime:
        """What the target's clock shows, as far as the suite knows."""

    @abstractmethod
    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        """Stop the clock at this instant.

        `before` is what must not have come when the target is asked next: a clock that cannot
        stand still says so if it has.
        """

    def advance(self, seconds: float, *, at_most: float | None = None) -> None:
        """`at_most`: the seconds after which it would be too late, as `before` of `move_to`."""
        now = self.now()
        before = None if at_most is None else now + datetime.timedelta(seconds=at_most)
        self.move_to(now + datetime.timedelta(seconds=seconds), before=before)

    @abstractmethod
    def release(self) -> None:
        """Let time be what it was: as if it had never been moved."""

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """What a server's environment must have besides `inherited`, for this clock to reach it."""
        del inherited
        return {}

    def close(self) -> None:  # noqa: B027  # most have nothing to leave
        """The end: leave nothing behind."""


def _noted(move_to: Callable[..., None]) -> Callable[..., None]:
    @wraps(move_to)
    def moves(self: ClockControl, instant: datetime.datetime, **more: Any) -> None:
        before = self.now()
        move_to(self, instant, **more)
        recording.note("clock", "moved", before=before, instant=instant, kind=self.kind)

    return moves


class NoClock(ClockControl):
    """A target whose time the suite cannot move."""

    kind = "none"
    movable = False

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        del before
        raise ClockError(f"the clock cannot be moved to {instant.isoformat()}: {self.why_not}")

    def release(self) -> None:
        """Nothing was moved."""


class StoppedClock(ClockControl):
    """The part that the clocks of other processes share: the suite remembers where it stopped it,
    because it cannot look."""

    def __init__(self) -> None:
        self._stopped_at: datetime.datetime | None = None

    @property
    def stopped(self) -> bool:
        """Whether it was moved, and not released since."""
        return self._stopped_at is not None

    def now(self) -> datetime.datetime:
        return self._stopped_at or datetime.datetime.now(datetime.UTC)

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        del before
        instant = instant.astimezone(datetime.UTC)
        self._tell(instant)
        self._stopped_at = instant

    def release(self) -> None:
        # Whatever comes of the telling, nobody may go on believing in the old instant.
        self._stopped_at = None
        self._tell(None)

    @abstractmethod
    def _tell(self, instant: datetime.datetime | None) -> None:
        """Let the target know: stand still at this instant, or go on (None)."""
