"""A clock object that a server in this process was given: the reference server's."""

from __future__ import annotations

import datetime
from typing import Protocol

from .base import ClockControl


class InjectableClock(Protocol):
    def now(self) -> datetime.datetime: ...

    def move_to(self, instant: datetime.datetime) -> None: ...


class InjectedClock(ClockControl):
    """Moves the clock that the server holds."""

    kind = "injected"

    def __init__(self, clock: InjectableClock) -> None:
        self._clock = clock

    def now(self) -> datetime.datetime:
        return self._clock.now()

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        del before  # it stands still
        self._clock.move_to(instant)

    def release(self) -> None:
        self._clock.move_to(datetime.datetime.now(datetime.UTC))
