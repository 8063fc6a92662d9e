"""JSON-RPC 2.0 messages as bytes: spelling ours, reading theirs.

Knows nothing of transports, sessions or MCP's methods. What is sent can be spelled exactly; what is
received is read strictly, and what is no message says why.
"""

import enum
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from pytest_mcp_approval.support.http1 import Headers
from pytest_mcp_approval.support.json_reading import JsonError, read_json

RequestId = int | str
Json = Any
"""A value as `json.loads` gives it. `Any`, since nothing that a server says can be relied on."""

METHOD_NOT_FOUND = -32601


@dataclass(frozen=True, slots=True)
class RawJson:
    """JSON text to be sent as it stands, anywhere inside params: duplicate members, NaN, 1e400, odd
    spacing.

    Bytes need not even be UTF-8. It is not checked: broken text breaks the message, which may be
    the aim.
    """

    text: str | bytes

    def to_bytes(self) -> bytes:
        # surrogatepass: a lone surrogate in the text goes out as its three (invalid) bytes.
        return (
            self.text
            if isinstance(self.text, bytes)
            else self.text.encode("utf-8", "surrogatepass")
        )


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that is ready to be sent."""

    body: bytes
    request_id: RequestId | None
    """The id under which an answer is awaited; None for what gets no answer."""
    method: str = ""
    headers: Headers = field(default=(), repr=False)
    http_method: str = "POST"


_TOKEN = f"raw-json-{secrets.token_hex(16)}-"


def to_json(value: object) -> bytes:
    """`value` as compact JSON, with each `RawJson` inside it put in verbatim.

    NaN and infinities are a mistake of the caller here; `RawJson("NaN")` says that they are meant.
    """
    verbatim: list[RawJson] = []

    def stand_in(item: object) -> str:
        if not isinstance(item, RawJson):
            raise TypeError(f"{type(item).__name__} is not JSON: {item!r}")
        verbatim.append(item)
        return f"{_TOKEN}{len(verbatim) - 1};"

    # ASCII only: a lone surrogate in a str then leaves as \udXXX, which is JSON, instead of
    # failing.
    encoded = json.dumps(value, separators=(",", ":"), allow_nan=False, default=stand_in).encode(
        "ascii"
    )
    if not verbatim:
        return encoded
    pieces = encoded.split(f'"{_TOKEN}'.encode("ascii"))
    whole = [pieces[0]]
    for piece in pieces[1:]:
        number, rest = piece.split(b';"', 1)
        whole += [verbatim[int(number)].to_bytes(), rest]
    return b"".join(whole)


def request_bytes(request_id: RequestId | RawJson, method: str, params: object = None) -> bytes:
    """A request. `params` of None leaves the member out; any part of it may be `RawJson`."""
    return _message_bytes({"id": request_id}, method, params)


def notification_bytes(method: str, params: object = None) -> bytes:
    return _message_bytes({}, method, params)


def _message_bytes(first: dict[str, object], method: str, params: object) -> bytes:
    message: dict[str, object] = {"jsonrpc": "2.0", **first, "method": method}
    return to_json(message if params is None else {**message, "params": params})


class MessageKind(enum.Enum):
    RESPONSE = "response"
    REQUEST = "request"
    NOTIFICATION = "notification"


@dataclass(frozen=True, slots=True)
class Message:
    """One JSON-RPC message that was received."""

    kind: MessageKind
    value: dict[str, Json]
    raw: bytes

    @property
    def id(self) -> Json:
        return self.value.get("id")

    @property
    def method(self) -> str:
        return str(self.value.get("method", ""))

    @property
    def params(self) -> Json:
        return self.value.get("params")

    def answers(self, request_id: RequestId) -> bool:
        """Whether this is the response to `request_id`. 1, "1", 1.0 and true are four different
        ids."""
        return (
            self.kind is MessageKind.RESPONSE
            and type(self.id) is type(request_id)
            and bool(self.id == request_id)
        )


class NotAMessageError(ValueError):
    """What was received is no JSON-RPC message; the text says what it is instead."""


def parse_message(raw: bytes) -> Message:
    """Read one message, or raise `NotAMessageError`."""
    try:
        value = read_json(raw)
    except JsonError as problem:
        if raw[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
            raise NotAMessageError("HTML") from None
        raise NotAMessageError(str(problem)) from None
    if isinstance(value, list):
        raise NotAMessageError("a JSON array, not one message")
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise NotAMessageError("JSON, but not JSON-RPC 2.0")
    if "method" in value:
        if not isinstance(value["method"], str):
            raise NotAMessageError("a JSON-RPC message whose method is not a string")
        return Message(
            MessageKind.REQUEST if "id" in value else MessageKind.NOTIFICATION, value, raw
        )
    if ("result" in value) == ("error" in value):
        what = "both a result and an error" if "result" in value else "neither method nor result"
        raise NotAMessageError(f"a JSON-RPC message with {what}")
    if "id" not in value:
        raise NotAMessageError("a JSON-RPC response without an id")
    return Message(MessageKind.RESPONSE, value, raw)


def response_bytes(request_id: Json, **members: object) -> bytes:
    """A response under whatever id, with a `result` or an `error`."""
    return to_json({"jsonrpc": "2.0", "id": request_id, **members})


def answer_to(request: Message) -> bytes | None:
    """What a client without any capability says to a server's own request: pong, or "not here".

    None for a request under an id that JSON-RPC does not know (null, true, a list): nobody waits
    for an answer under that.
    """
    if type(request.id) not in (int, float, str):
        return None
    if request.method == "ping":
        return response_bytes(request.id, result={})
    refusal = {"code": METHOD_NOT_FOUND, "message": "This client declared no capability for that"}
    return response_bytes(request.id, error=refusal)
