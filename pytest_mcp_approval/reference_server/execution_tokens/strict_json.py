"""Reads a token's JSON so that it can have only one meaning.

A repeated member, a number beyond a double, very deep nesting: languages read these differently, so
they are refused, with the same limits as the verifiers in Bash and Node. Standard library only.
Knows no member of a token.
"""

from __future__ import annotations

import json
from typing import Any

from ...families.execution_tokens.vocabulary import ExecutionReason
from ...support.json_reading import JsonError, members_once, read_float, refuse_constant
from ...support.json_reading import read_json as read_any_json
from .refusals import ExecutionRefusal

MAXIMUM_BYTES = 1_000_000
MAXIMUM_DEPTH = 32
MAXIMUM_NUMBER = 400
"""Characters of one number, well within what every language can read."""


def read_json(text: bytes) -> Any:
    """The value of a JSON text; `ExecutionRefusal` says what is wrong with it."""
    try:
        if len(text) > MAXIMUM_BYTES:
            raise JsonError(f"got {len(text)} bytes, expected at most {MAXIMUM_BYTES}")
        return read_any_json(text, deepest=MAXIMUM_DEPTH, decoder=_DECODER)
    except JsonError as error:
        raise ExecutionRefusal(ExecutionReason.MALFORMED, f"token: {error}") from None


def _float(text: str) -> float:
    return read_float(_short(text))


def _integer(text: str) -> int:
    return int(_short(text))


def _short(number: str) -> str:
    if len(number) > MAXIMUM_NUMBER:
        raise JsonError("a number beyond a double's range")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=members_once,
    parse_constant=refuse_constant,
    parse_float=_float,
    parse_int=_integer,
)
