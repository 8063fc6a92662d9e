"""A clock that the user moves: their command or endpoint is told the new time.

The command gets the instant as its last word, the endpoint as JSON. Does not know what they do with
it: whoever uses this clock checks that time moved.
"""

from __future__ import annotations

import datetime
from pathlib import Path

from ..support.hook import HookError, tell_hook
from ..support.text import neutralise
from .base import ClockError, StoppedClock

RELEASE = "release"
"""The command's last argument when time is to go on by itself."""


class HookClock(StoppedClock):
    """Tells a command or a URL where time is to stand still."""

    kind = "hook"
    if_stuck = "the hook was called and did not fail: does the server follow it?"

    def __init__(self, hook: str, timeout: float, directory: Path | None = None) -> None:
        super().__init__()
        self._hook = hook
        self._timeout = timeout
        self._directory = directory
        self.note = neutralise(hook, 60)

    def _tell(self, instant: datetime.datetime | None) -> None:
        text = None if instant is None else written(instant)
        try:
            tell_hook(
                self._hook,
                {"now": text},
                words=[text or RELEASE],
                seconds=self._timeout,
                directory=self._directory,
            )
        except HookError as error:
            raise ClockError(f"clock hook {self.note}: {error}") from None


def written(instant: datetime.datetime) -> str:
    """ISO 8601 in UTC with milliseconds: 2030-06-01T12:00:00.000Z.

    Finer parts are cut off, never rounded up: an instant before a boundary stays before it.
    """
    text = instant.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
