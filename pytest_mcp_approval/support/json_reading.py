"""JSON of a stranger, read so that nothing that comes out of it can hurt.

Everything that a server, a URL or a hook says in JSON is read here, and what cannot be read is one
kind of error. Strict: no NaN, no number beyond a double, nesting only so deep that code that walks
through a value by recursion (`json.dumps`, to begin with) gets to its end. Knows nothing of what
the values mean.
"""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 200
"""Levels of nesting. Python's own walks end at about a thousand calls, of which a test has used a
hundred, and some need several for a level."""
_MOST_DIGITS = 308
"""Whole numbers of more digits overflow a double, and with it everything that calculates."""


class JsonError(ValueError):
    """It cannot be read; the text says why, in a few words of our own."""


def read_json(text: Any, *, deepest: int = DEEPEST, decoder: json.JSONDecoder | None = None) -> Any:
    """The value that stands there, or `JsonError`; also for what is no text at all. A decoder of
    the caller's own may be stricter about members and numbers."""
    if not isinstance(text, (bytes, str)):
        raise JsonError(f"{type(text).__name__}, not text")
    try:
        # Decoded here, since json.loads would also take UTF-16 and UTF-32.
        value = (decoder or _DECODER).decode(
            text if isinstance(text, str) else text.decode("utf-8")
        )
    except JsonError:
        raise
    except UnicodeDecodeError:
        raise JsonError("not UTF-8") from None
    except RecursionError:
        raise JsonError(_BEYOND) from None
    except ValueError:
        raise JsonError("not JSON" if text.strip() else "empty") from None
    if _is_too_deep(value, deepest):
        raise JsonError(_BEYOND)
    return value


_BEYOND = "JSON with nesting or numbers beyond measure"


def refuse_constant(name: str) -> Any:
    raise JsonError(f"not JSON ({name} is no JSON number)")


def _read_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError(_BEYOND)
    return value


def _read_int(text: str) -> int:
    if len(text.lstrip("-")) > _MOST_DIGITS:
        raise JsonError(_BEYOND)
    return int(text)


_DECODER = json.JSONDecoder(
    parse_constant=refuse_constant, parse_float=_read_float, parse_int=_read_int
)


def _is_too_deep(value: Any, deepest: int) -> bool:
    """Level by level: by recursion it would be hurt itself."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(deepest):
        if not level:
            return False
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, (dict, list))
        ]
    return bool(level)
