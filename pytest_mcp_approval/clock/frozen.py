"""freezegun, for a server that runs in this process and asks Python for the time."""

from __future__ import annotations

import datetime
from typing import Any

from .base import ClockControl, ClockError


class FrozenClock(ClockControl):
    """Freezes the time of this process while it is moved. The suite's own deadlines go on."""

    kind = "freezegun"

    def __init__(self) -> None:
        self._freezer: Any = None
        self._frozen: Any = None

    def now(self) -> datetime.datetime:
        # Under freezegun this is the frozen time.
        return datetime.datetime.now(datetime.UTC)

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        del before  # it stands still
        if self._frozen is None:
            try:
                import freezegun
            except ModuleNotFoundError:
                raise ClockError("freezegun is not installed: pip install freezegun") from None
            # real_asyncio: with a frozen monotonic clock the event loop would wait for ever.
            self._freezer = freezegun.freeze_time(instant, real_asyncio=True)
            self._frozen = self._freezer.start()
        else:
            self._frozen.move_to(instant)

    def release(self) -> None:
        if self._freezer is not None:
            self._freezer.stop()
            self._freezer = self._frozen = None
