"""Reads a token's JSON so that it can mean one thing only.

A member that stands twice, a number that no double holds, NaN, bytes that are no UTF-8, nesting
without end: each is read differently by different languages, so each is refused. Standard library
only. Knows no member of a token.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAXIMUM_BYTES = 1_000_000
MAXIMUM_DEPTH = 32
MAXIMUM_NUMBER = 400
"""Characters of one number, well within what every language's reader takes."""


class JsonError(ValueError):
    """No JSON, or JSON that can be read in more than one way."""


def read_json(text: bytes) -> Any:
    """The value of a JSON text; `JsonError` says what is wrong with it."""
    if len(text) > MAXIMUM_BYTES:
        raise JsonError(f"got {len(text)} bytes, expected at most {MAXIMUM_BYTES}")
    _check_depth(text)
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_members,
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except UnicodeDecodeError:
        raise JsonError("got bytes that are no UTF-8") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"no JSON: {error.msg} at character {error.pos}") from None


def _check_depth(text: bytes) -> None:
    """Before the reader, which would descend as deep as it is told to."""
    depth, in_string, escaped = 0, False, False
    for byte in text:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:  # a backslash
                escaped = True
            elif byte == 0x22:  # a quote
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            if depth > MAXIMUM_DEPTH:
                raise JsonError(f"got nesting beyond {MAXIMUM_DEPTH}")
        elif byte in b"]}":
            depth -= 1


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonError("got a member that stands twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise JsonError(f"got {name}, which is no JSON")


def _float(text: str) -> float:
    value = float(text) if len(text) <= MAXIMUM_NUMBER else math.inf
    if math.isinf(value):
        raise JsonError("got a number beyond a double's range")
    return value


def _integer(text: str) -> int:
    if len(text) > MAXIMUM_NUMBER:
        raise JsonError("got a number beyond a double's range")
    return int(text)
