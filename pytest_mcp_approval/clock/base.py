"""What a clock control can do, and the one that can do nothing. Knows no server."""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod


class ClockError(Exception):
    """Time could not be moved; one line says why."""


class ClockControl(ABC):
    """Moves the time of the target. Instants are aware of their time zone."""

    kind: str
    """How it is done, for the header of a run."""
    movable: bool = True
    why_not: str = ""

    @abstractmethod
    def now(self) -> datetime.datetime:
        """What the target's clock shows, as far as the suite knows."""

    @abstractmethod
    def move_to(self, instant: datetime.datetime) -> None:
        """Stop the clock at this instant."""

    def advance(self, seconds: float) -> None:
        self.move_to(self.now() + datetime.timedelta(seconds=seconds))

    @abstractmethod
    def release(self) -> None:
        """Let time be what it was: as if it had never been moved."""


class NoClock(ClockControl):
    """A target whose time the suite cannot move."""

    kind = "none"
    movable = False

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)

    def move_to(self, instant: datetime.datetime) -> None:
        raise ClockError(f"the clock cannot be moved to {instant.isoformat()}: {self.why_not}")

    def release(self) -> None:
        """Nothing was moved."""
