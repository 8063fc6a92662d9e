"""Instants as the gate keeps and writes them. Knows no clock.

What is written is what is kept: whole milliseconds, so that "at expiresAt" means the same instant
to the client who reads it and to the server who compares it.
"""

from __future__ import annotations

import datetime


def whole_milliseconds(instant: datetime.datetime) -> datetime.datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def iso_8601(instant: datetime.datetime) -> str:
    written = instant.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    return written.replace("+00:00", "Z")
