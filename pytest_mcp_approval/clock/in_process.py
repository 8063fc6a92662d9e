"""Clocks of a server that runs in this process: freezegun, or a clock that the server was given."""

from __future__ import annotations

import datetime
import sys
from types import ModuleType
from typing import Any, Protocol

from .base import ClockControl, ClockError


class FrozenClock(ClockControl):
    """Freezes the time of this process while it is moved. The suite's own deadlines go on."""

    kind = "freezegun"

    def __init__(self) -> None:
        self._freezer: Any = None
        self._frozen: Any = None
        self._modules: dict[str, ModuleType] = {}
        """Those that there were when the time was frozen."""

    def _move(self, instant: datetime.datetime, _before: datetime.datetime | None) -> None:
        if self._frozen is None:
            try:
                import freezegun
            except ModuleNotFoundError:
                raise ClockError("freezegun is not installed: pip install freezegun") from None
            # real_asyncio: with a frozen monotonic clock the event loop would wait for ever.
            self._freezer = freezegun.freeze_time(instant, real_asyncio=True)
            self._modules = dict(sys.modules)
            self._frozen = self._freezer.start()
        else:
            self._frozen.move_to(instant)

    def release(self) -> None:
        if self._freezer is not None:
            # freezegun gives the time back to modules whose names are new. One that was imported
            # again, as in a restart, has an old name, and would keep a clock that is no more.
            self._freezer.modules_at_start -= {
                name
                for name, module in [*sys.modules.items()]
                if self._modules.get(name) is not module
            }
            self._modules = {}
            self._freezer.stop()
            self._freezer = self._frozen = None


class InjectableClock(Protocol):
    def now(self) -> datetime.datetime: ...

    def move_to(self, instant: datetime.datetime) -> None: ...


class InjectedClock(ClockControl):
    """Moves the clock that the server holds: the reference server's."""

    kind = "injected"

    def __init__(self, clock: InjectableClock) -> None:
        self._clock = clock

    def now(self) -> datetime.datetime:
        return self._clock.now()

    def _move(self, instant: datetime.datetime, _before: datetime.datetime | None) -> None:
        self._clock.move_to(instant)

    def release(self) -> None:
        self._clock.move_to(datetime.datetime.now(datetime.UTC))
