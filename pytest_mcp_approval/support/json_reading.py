"""Reads untrusted JSON so that the result can do no harm.

Everything that a server, a URL or a hook says in JSON is read here, with one kind of error. Strict:
no NaN, no number beyond a double, and limited nesting, so that recursive code (such as
`json.dumps`) does not overflow. Does not know what the values mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 200
"""Levels of nesting. Python's recursion ends at about a thousand calls, of which a test has used a
hundred, and some code needs several calls for each level."""
_MOST_DIGITS = 308
"""Whole numbers with more digits overflow a double, and break code that calculates with them."""


class JsonError(ValueError):
    """It cannot be read; the text says why, in our own words."""


def read_json(text: Any, *, deepest: int = DEEPEST, decoder: json.JSONDecoder | None = None) -> Any:
    """The value, or `JsonError`, also for input that is not text at all. The caller's own decoder
    may be stricter about members and numbers."""
    if not isinstance(text, (bytes, str)):
        raise JsonError(f"{type(text).__name__}, not text")
    try:
        # Decoded here, since json.loads would also accept UTF-16 and UTF-32.
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        value = (decoder or _DECODER).decode(decoded)
    except JsonError:
        raise
    except UnicodeDecodeError:
        raise JsonError("not UTF-8") from None
    except RecursionError:
        raise JsonError(_BEYOND) from None
    except ValueError:
        raise JsonError("not JSON" if text.strip() else "empty") from None
    # Each level has a bracket of its own, so that few brackets cannot be deep.
    if decoded.count("[") + decoded.count("{") > deepest and _is_too_deep(value, deepest):
        raise JsonError(_BEYOND)
    return value


def with_texts(tree: Any, change: Callable[[str], Any]) -> Any:
    """The tree with each of its texts changed, at any depth."""
    if isinstance(tree, str):
        return change(tree)
    if isinstance(tree, Mapping):
        return {name: with_texts(member, change) for name, member in tree.items()}
    return [with_texts(one, change) for one in tree] if isinstance(tree, (list, tuple)) else tree


_BEYOND = "JSON with excessive nesting or numbers"


def refuse_constant(name: str) -> Any:
    raise JsonError(f"not JSON ({name} is not a JSON number)")


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For decoders that must not choose between two members of one name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonError("a member that stands twice")
    return found


def read_float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise JsonError(_BEYOND)
    return value


def read_integer(text: str) -> int:
    if len(text.lstrip("-")) > _MOST_DIGITS:
        raise JsonError(_BEYOND)
    return int(text)


_CONTAINERS = frozenset((dict, list))
_DECODER = json.JSONDecoder(
    parse_constant=refuse_constant, parse_float=read_float, parse_int=read_integer
)


def _is_too_deep(value: Any, deepest: int) -> bool:
    """Checks level by level: recursion would overflow itself. Decoders make no other containers
    than these two, so that their types are compared, which takes half the time."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(deepest):
        if not level:
            return False
        level = [
            child
            for one in level
            for child in (one.values() if type(one) is dict else one)
            if type(child) in _CONTAINERS
        ]
    return bool(level)
