"""The clocks of the reference server: what time it is, and how instants are stored and written.

Knows no expiry and no specification. A gate takes its clock as an argument, so a test moves time
by moving the clock.
"""

from __future__ import annotations

import datetime
import threading
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """Anything that tells the time, with a time zone."""

    def now(self) -> datetime.datetime: ...


class SystemClock:
    """The time of the machine."""

    def now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC)


class SettableClock:
    """Stands still until it is moved, forwards or backwards; any thread may move or read it."""

    def __init__(self, start: datetime.datetime | None = None) -> None:
        self._lock = threading.Lock()
        self._now = _aware(start or datetime.datetime.now(datetime.UTC))

    def now(self) -> datetime.datetime:
        with self._lock:
            return self._now

    def move_to(self, instant: datetime.datetime) -> None:
        instant = _aware(instant)
        with self._lock:
            self._now = instant

    def advance(self, by: datetime.timedelta | float) -> None:
        """By a duration, or by seconds."""
        if not isinstance(by, datetime.timedelta):
            by = datetime.timedelta(seconds=by)
        with self._lock:
            self._now += by


class FileClock:
    """What a file says: a shift in seconds (`+61`, `-5`), or an instant to stand still at.

    Read every time, so that a suite can move the clock of a server in another process. Without the
    file, or with an empty one, it is the system's clock. Replace the file as a whole.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def now(self) -> datetime.datetime:
        try:
            text = self._path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            text = ""
        system = datetime.datetime.now(datetime.UTC)
        if not text:
            return system
        try:
            if text[0] in "+-":
                return system + datetime.timedelta(seconds=float(text))
            return _aware(datetime.datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            raise ValueError(
                f"{self._path}: got {text[:40]!r}, expected seconds such as +61, "
                "or an instant such as 2030-01-01T00:00:00Z"
            ) from None


def _aware(instant: datetime.datetime) -> datetime.datetime:
    if instant.tzinfo is None:
        raise ValueError(f"instant: got {instant} without a time zone, expected one with it")
    return instant.astimezone(datetime.UTC)


def whole_milliseconds(instant: datetime.datetime) -> datetime.datetime:
    """What is written is what is stored, so that "at expiresAt" means the same instant to the
    client who reads it and to the server who compares it."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def iso_8601(instant: datetime.datetime) -> str:
    written = instant.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")
