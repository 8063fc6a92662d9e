"""What single options may be: a command line, seconds, a clock, an effects probe.

Each function reads one value, and raises `ValueError` with what was expected. Knows only the text;
`target` and `clock` know what it does.
"""

from __future__ import annotations

import shlex
from typing import Any

TEXT_OR_NUMBER = {"type": ["string", "number"]}
"""As JSON Schema, and so are these two: for what a file may say and the type does not tell."""
ONE_OR_SEVERAL_CODES = {
    "anyOf": [TEXT_OR_NUMBER, {"type": "array", "items": TEXT_OR_NUMBER}],
}
ALL_OR_PATTERNS = {"type": ["boolean", "string", "array"], "items": {"type": "string"}}
MOST_REPLICAS = 16
TRUE_OR_SECONDS = {"type": ["boolean", "string", "number"]}
ONE_OR_SEVERAL_TEXTS = {"type": ["string", "array"], "items": {"type": "string"}}
USUAL_BUDGET = 60.0
"""How many seconds an exploration takes by default."""
LONGEST_WAIT = 900.0
"""How many seconds `wait` waits for one rule by default."""


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def patterns(value: Any) -> tuple[str, ...]:
    """One pattern or several, or true for all rules."""
    if isinstance(value, bool):
        return ("*",) if value else ()
    return tuple(text(one) for one in (value if isinstance(value, list) else [value]))


def variable(value: Any) -> str:
    """The value of an environment variable; a number in a file is taken as text."""
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise ValueError("expected text")
    return str(value)


def command_line(value: Any) -> str:
    written = text(value)
    try:
        words = shlex.split(written)
    except ValueError as error:
        raise ValueError(f"cannot read {value!r}: {error}") from None
    if not words:
        raise ValueError("expected a command line")
    return written


def seconds(value: Any) -> float:
    found = _seconds(value)
    if not 0 < found <= 3600:
        raise ValueError("expected seconds, up to 3600")
    return found


def replicas(value: Any) -> int:
    written = str(value)
    if isinstance(value, bool) or not written.isascii() or not written.isdigit():
        raise ValueError("expected a whole number")
    if not 2 <= int(written[:9]) <= MOST_REPLICAS:
        raise ValueError(f"expected 2 to {MOST_REPLICAS}")
    return int(written)


def budget(value: Any) -> float:
    """How long an exploration may take; `true` in a file means the usual time."""
    if isinstance(value, bool):
        return USUAL_BUDGET if value else 0.0
    found = _seconds(value)
    if not 0 <= found <= 86_400:
        raise ValueError("expected seconds, up to 86400 (a day)")
    return found


def rate(value: Any) -> float:
    found = _seconds(value)
    if not 0 < found <= 100_000:
        raise ValueError("expected requests a second")
    return found


def databases(value: Any) -> tuple[str, ...]:
    return tuple(text(one) for one in (value if isinstance(value, list) else [value]))


def effects(value: Any) -> str:
    if not text(value).startswith(("http://", "https://", "tool:")):
        raise ValueError("expected a URL or tool:NAME")
    return str(value)


def clock(value: Any) -> str:
    kind, colon, rest = text(value).partition(":")
    if kind == "hook" and rest.strip():
        if not rest.startswith(("http://", "https://")):
            command_line(rest)
        return str(value)
    if kind == "wait" and (not colon or 0 < _seconds(rest) <= 7 * 86400):
        return str(value)
    if value in ("auto", "faketime", "none"):
        return str(value)
    raise ValueError("expected auto, faketime, hook:<command or URL>, wait, wait:<seconds> or none")


def longest_wait(value: str) -> float:
    """The seconds of `wait` or `wait:<seconds>`."""
    _, _, rest = value.partition(":")
    return _seconds(rest) if rest else LONGEST_WAIT


def _seconds(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0
