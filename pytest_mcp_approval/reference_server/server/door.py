"""Strict JSON at the door: what a message must be before any protocol layer looks at it.

The SDK behind the door repairs some of what is refused here and leaves some without any answer.
What is refused, and by which code:

    -32700  the text has no one meaning: invalid UTF-8, no JSON, NaN or Infinity, a number too large
            for a double, a member twice, half of a surrogate pair, nesting beyond `MAXIMUM_DEPTH`
    -32600  it is no JSON-RPC 2.0 message: no object (a batch neither), another version, an id that
            is no text or whole number, a method that is no text; or it is too large to be read
    -32602  its params are no object, or the arguments in them hold a whole number beyond 2^53 - 1,
            which RFC 8785 cannot write and so nobody can sign

The answer carries the request's id wherever the id itself can be read. Knows JSON and the envelope
of JSON-RPC; no transport (`door_http`, `door_stdio`), and of methods only that params may have
arguments.
"""

from __future__ import annotations

import json
import math
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602

MAXIMUM_BYTES = 4 * 1024 * 1024
MAXIMUM_DEPTH = 100
MAXIMUM_INTEGER = 2**53 - 1
_MAXIMUM_DIGITS = 400  # beyond them not even a double; Python refuses to read thousands


class DoorRefusal(Exception):  # noqa: N818 - an answer, not an error of the code
    """A message that does not come in; `to_json` is the answer."""

    def __init__(self, code: int, message: str, id: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id if _is_id(id) else None

    def to_json(self) -> dict[str, Any]:
        return {
            "jsonrpc": "2.0",
            "id": self.id,
            "error": {"code": self.code, "message": str(self)},
        }

    def to_bytes(self) -> bytes:
        return json.dumps(self.to_json()).encode("ascii")


class TooLargeRefusal(DoorRefusal):
    """A message that is not even read to its end."""

    def __init__(self) -> None:
        super().__init__(
            INVALID_REQUEST, f"message: got too many bytes, expected {MAXIMUM_BYTES} at most"
        )


class _Twice(dict[str, Any]):
    """An object that had a member twice."""

    name = ""


class _TooLarge:
    """A number that a double cannot hold, or that JSON has no word for."""

    def __init__(self, text: str) -> None:
        self.text = text


def check(body: bytes) -> Any:
    """The message, if it may come in; else `DoorRefusal`."""
    message = _parse(body)
    claimed = message.get("id") if isinstance(message, dict) else None
    _check_text(message, claimed)
    _check_envelope(message)
    _check_params(message)
    return message


def _parse(body: bytes) -> Any:
    if len(body) > MAXIMUM_BYTES:
        raise TooLargeRefusal
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DoorRefusal(
            PARSE_ERROR, f"message: got byte {error.start} that is no UTF-8, expected UTF-8"
        ) from None
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_TooLarge,
            parse_float=_float,
            parse_int=_integer,
        )
    except RecursionError:
        raise _too_deep(None) from None
    except ValueError as error:
        raise DoorRefusal(PARSE_ERROR, f"message: got no JSON ({error})") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    twice = _Twice(members)
    names = [name for name, _ in pairs]
    twice.name = next(name for name in names if names.count(name) > 1)
    if twice.name == "id":
        del twice["id"]  # no telling which of them the sender waits for
    return twice


def _float(text: str) -> float | _TooLarge:
    number = float(text)
    return number if math.isfinite(number) else _TooLarge(text)


def _integer(text: str) -> int | _TooLarge:
    return int(text) if len(text) <= _MAXIMUM_DIGITS and _fits(int(text)) else _TooLarge(text)


def _fits(number: int) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _check_text(message: Any, claimed: Any) -> None:
    """Every value at every depth; with a stack of its own, since the message decides how deep."""
    remaining: list[tuple[Any, int]] = [(message, 1)]
    while remaining:
        value, depth = remaining.pop()
        if isinstance(value, str):
            _check_surrogates(value, claimed)
        elif isinstance(value, _TooLarge):
            raise DoorRefusal(
                PARSE_ERROR,
                f"number: got {value.text[:20]}, expected one that a double can hold",
                claimed,
            )
        elif isinstance(value, (dict, list)):
            if depth > MAXIMUM_DEPTH:
                raise _too_deep(claimed)
            if isinstance(value, _Twice):
                raise DoorRefusal(
                    PARSE_ERROR,
                    f"member: got {value.name[:40]!a} twice in one object, expected it once",
                    claimed,
                )
            if isinstance(value, dict):
                for name in value:
                    _check_surrogates(name, claimed)
                remaining.extend((member, depth + 1) for member in value.values())
            else:
                remaining.extend((member, depth + 1) for member in value)


def _check_surrogates(text: str, claimed: Any) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise DoorRefusal(
            PARSE_ERROR, "text: got half of a surrogate pair, expected whole characters", claimed
        ) from None


def _too_deep(claimed: Any) -> DoorRefusal:
    return DoorRefusal(
        PARSE_ERROR,
        f"message: got deeper nesting, expected {MAXIMUM_DEPTH} levels at most",
        claimed,
    )


def _check_envelope(message: Any) -> None:
    if not isinstance(message, dict):
        kind = "a batch" if isinstance(message, list) else "no object"
        raise DoorRefusal(INVALID_REQUEST, f"message: got {kind}, expected one object")
    claimed = message.get("id")
    if message.get("jsonrpc") != "2.0":
        raise DoorRefusal(INVALID_REQUEST, "jsonrpc: expected '2.0'", claimed)
    if "id" in message and not _is_id(claimed):
        raise DoorRefusal(INVALID_REQUEST, "id: expected text or a whole number")
    if "method" in message:
        if not isinstance(message["method"], str):
            raise DoorRefusal(INVALID_REQUEST, "method: expected text", claimed)
    elif not ("id" in message and ("result" in message or "error" in message)):
        raise DoorRefusal(INVALID_REQUEST, "message: got neither a method nor an answer", claimed)


def _check_params(message: dict[str, Any]) -> None:
    params = message.get("params")
    if "method" not in message or params is None:
        return
    if not isinstance(params, dict):
        raise DoorRefusal(INVALID_PARAMS, "params: expected an object", message.get("id"))
    remaining = [params.get("arguments")]
    while remaining:
        value = remaining.pop()
        if isinstance(value, dict):
            remaining.extend(value.values())
        elif isinstance(value, list):
            remaining.extend(value)
        elif isinstance(value, int) and abs(value) > MAXIMUM_INTEGER:
            raise DoorRefusal(
                INVALID_PARAMS,
                f"arguments: got the whole number {str(value)[:20]}, "
                f"expected {MAXIMUM_INTEGER} at most (send larger ones as text)",
                message.get("id"),
            )


def _is_id(value: Any) -> bool:
    if isinstance(value, str):
        return all(not 0xD800 <= ord(character) < 0xE000 for character in value)
    return isinstance(value, int) and not isinstance(value, bool)
