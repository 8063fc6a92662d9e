"""A clock in another process that reads its time from a file: the reference server's over stdio."""

from __future__ import annotations

import datetime
from pathlib import Path

from .base import ClockControl


class FileClockControl(ClockControl):
    """Writes the instant into the file that the server reads."""

    kind = "file"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stopped_at: datetime.datetime | None = None

    def now(self) -> datetime.datetime:
        return self._stopped_at or datetime.datetime.now(datetime.UTC)

    def move_to(self, instant: datetime.datetime) -> None:
        self._stopped_at = instant
        self._write(instant.isoformat())

    def release(self) -> None:
        self._stopped_at = None
        self._write("")

    def _write(self, text: str) -> None:
        # Replaced as a whole: a reader never sees half of an instant.
        draft = self._path.with_suffix(".new")
        draft.write_text(text, encoding="utf-8")
        draft.replace(self._path)
