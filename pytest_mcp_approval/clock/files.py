"""A clock in another process that reads its time from a file: the reference server's over stdio."""

from __future__ import annotations

import datetime
from pathlib import Path

from .base import StoppedClock


class FileClockControl(StoppedClock):
    """Writes the instant into the file that the server reads."""

    kind = "file"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def _tell(self, instant: datetime.datetime | None) -> None:
        replace_file(self._path, instant.isoformat() if instant is not None else "")


def replace_file(path: Path, text: str) -> None:
    """Replaced as a whole: a reader never sees half of an instant."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
