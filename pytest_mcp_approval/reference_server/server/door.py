"""Strict JSON at the door: what a message must be before any protocol layer looks at it.

The SDK behind the door repairs some of what is refused here, and leaves some unanswered. What is
refused, and with which code:

    -32700  the text has no one meaning: invalid UTF-8, no JSON, NaN or Infinity, a number too large
            for a double, a member twice, half of a surrogate pair, nesting beyond `MAXIMUM_DEPTH`
    -32600  it is no JSON-RPC 2.0 message: no object (a batch neither), another version, an id that
            is no text or whole number, a method that is no text; or it is too large to be read, or
            has more than `MAXIMUM_VALUES`
    -32602  its params are no object, or the arguments in them hold a whole number beyond 2^53 - 1,
            which RFC 8785 cannot write and so nobody can sign

The answer has the request's id whenever the id can be read. What a check costs grows with the bytes
and no faster, and both bounds together limit its time (benchmarks/door.py). Knows JSON and the
envelope of JSON-RPC; no event loop (`door_thread`), no transport (`door_http`, `stdio`), and of
methods only that params may have arguments.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...support.json_reading import (
    JsonError,
    members_once,
    read_float,
    read_integer,
    read_json,
    refuse_constant,
)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAXIMUM_BYTES = 4 * 1024 * 1024
MAXIMUM_VALUES = 200_000
"""Members and elements. A megabyte of text is read in a millisecond, one of empty lists takes a
hundred, here and in whatever comes after the door."""
MAXIMUM_DEPTH = 100
MAXIMUM_INTEGER = 2**53 - 1
_MAXIMUM_DIGITS = 400  # more do not even fit a double; Python refuses to read thousands


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


class TooManyValuesRefusal(DoorRefusal):
    """A message that would take too long to read, though it has not too many bytes."""

    def __init__(self) -> None:
        super().__init__(
            INVALID_REQUEST, f"message: got too many values, expected {MAXIMUM_VALUES} at most"
        )


def check(body: bytes) -> Any:
    """The message, if it may come in; else `DoorRefusal`."""
    if len(body) > MAXIMUM_BYTES:
        raise TooLargeRefusal
    if _has_too_many_values(body):
        raise TooManyValuesRefusal
    try:
        message = read_json(body, deepest=MAXIMUM_DEPTH, decoder=_DECODER)
        if b"\\u" in body:  # only an escape can be half of a pair: UTF-8 has none
            json.dumps(message, ensure_ascii=False).encode()
    except JsonError as error:
        raise DoorRefusal(PARSE_ERROR, f"message: got {error}", _claimed_id(body)) from None
    except UnicodeEncodeError:
        told = "text: got half of a surrogate pair, expected whole characters"
        raise DoorRefusal(PARSE_ERROR, told, _claimed_id(body)) from None
    _check_envelope(message)
    _check_params(message)
    return message


# It always matches to the end of what it has read: a text without an end is not read once for each
# quotation mark in it.
_TEXT = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def _has_too_many_values(body: bytes) -> bool:
    """Each value but the first of its list or object comes after a comma."""
    if _openings(body) <= MAXIMUM_VALUES:
        return False
    return _openings(_TEXT.sub(b"", body)) > MAXIMUM_VALUES  # a comma in a text opens nothing


def _openings(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{")


_DECODER = json.JSONDecoder(
    object_pairs_hook=members_once,
    parse_constant=refuse_constant,
    parse_float=read_float,
    parse_int=read_integer,
)


def _claimed_members(body: bytes) -> tuple[tuple[str, Any], ...]:
    """The members of a refused message, read again without being strict."""
    try:
        # Objects as tuples of their members, so that a repeated one is seen.
        members = json.loads(
            body.decode(),
            object_pairs_hook=tuple,
            parse_int=lambda text: int(text) if len(text) <= _MAXIMUM_DIGITS else None,
        )
    except (ValueError, RecursionError):
        return ()
    return members if type(members) is tuple else ()


def _claimed_id(body: bytes) -> Any:
    ids = [value for name, value in _claimed_members(body) if name == "id"]
    return ids[0] if len(ids) == 1 else None  # of two, nobody knows which one the sender expects


def _claims_to_answer(body: bytes) -> bool:
    names = {name for name, _ in _claimed_members(body)}
    return "method" not in names and bool(names & {"result", "error"})


def let_in(body: bytes) -> bytes:
    """The message as the SDK gets it, if it may come in; else `DoorRefusal`.

    An answer that cannot be read counts as an error of the client's: there is nobody to refuse it
    to, and the question that it is about would stay open.
    """
    try:
        message = check(body)
    except DoorRefusal as refusal:
        if refusal.id is None or not _claims_to_answer(body):
            raise
        return json.dumps(_no_answer(refusal.id)).encode("ascii")
    return body if is_readable(message) else json.dumps(_no_answer(message["id"])).encode("ascii")


def is_readable(message: dict[str, Any]) -> bool:
    """Whether the SDK does not drop it: an answer must be a result that is an object, or an
    error."""
    if "method" in message:
        return True
    result, error = message.get("result"), message.get("error")
    if "error" not in message:
        return isinstance(result, dict)
    return (
        "result" not in message
        and isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("message"), str)
    )


def _no_answer(id: Any) -> dict[str, Any]:
    """What an answer that says nothing readable counts as."""
    error = {"code": INVALID_REQUEST, "message": "the answer was neither a result nor an error"}
    return {"jsonrpc": "2.0", "id": id, "error": error}


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
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return False
        return True
    return isinstance(value, int) and not isinstance(value, bool)
