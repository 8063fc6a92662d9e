"""What the user said about a server that the suite starts, and about its clock: read and checked.

Knows the text of the options only; what they do is `target`'s and `clock`'s matter.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .settings import PREFIX, SettingsError

LONGEST_WAIT = 900.0
"""Seconds that `wait` waits for one rule, unless told otherwise."""


def command(value: str | None) -> str | None:
    if value is not None:
        _words(value, "launch")
    return value


def timeout(value: Any) -> float:
    seconds = _seconds(value)
    if not 0 < seconds <= 3600:
        raise SettingsError(f"{PREFIX}launch-timeout: got {value!r}, expected seconds, up to 3600")
    return seconds


def environment(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            if not isinstance(value, (str, int, float)) or isinstance(value, bool):
                raise SettingsError(f"environment: got no text for {name!r}, expected one")
        return {name: str(value) for name, value in given.items()}
    found = {}
    for text in (given,) if isinstance(given, str) else given:
        name, equals, value = str(text).partition("=")
        if not equals or not name.strip():
            # The value may be a secret, so it is not shown.
            raise SettingsError(
                f"{PREFIX}environment: got no 'NAME=VALUE', expected one, e.g. LOG_LEVEL=debug"
            )
        found[name.strip()] = value
    return found


def directory(value: str | None, start: Path) -> Path | None:
    if value is None:
        return None
    path = start / value
    if not path.is_dir():
        raise SettingsError(f"{PREFIX}directory: got {value!r}, which is no folder")
    return path


def clock(value: str) -> str:
    kind, colon, rest = value.partition(":")
    if kind == "hook" and rest.strip():
        if not rest.startswith(("http://", "https://")):
            _words(rest, "clock=hook")
        return value
    if kind == "wait" and (not colon or 0 < _seconds(rest) <= 7 * 86400):
        return value
    if value in ("auto", "faketime", "none"):
        return value
    raise SettingsError(
        f"{PREFIX}clock: got {value!r}, expected auto, faketime, hook:<command or URL>, wait, "
        "wait:<seconds> or none"
    )


def longest_wait(value: str) -> float:
    """The seconds of `wait` or `wait:<seconds>`."""
    _, _, rest = value.partition(":")
    return _seconds(rest) if rest else LONGEST_WAIT


def _seconds(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0


def _words(text: str, option: str) -> None:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise SettingsError(f"{PREFIX}{option}: cannot read {text!r}: {error}") from None
    if not words:
        raise SettingsError(f"{PREFIX}{option}: got {text!r}, expected a command line")
