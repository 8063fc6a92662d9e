"""What a recorded exchange means, in the words of its family: two short lines for a report.

    decode("sep2672", exchange)
    # Meaning("tools/call place_trade, with evidence for 3f2a9c04…", "refused: challenge_consumed")

A family has a module `decoder` with a function `decode(message)`, which returns a `Meaning`, or
None if the message is not part of the family. Makes no verdicts. Its input is untrusted: anything
may be missing or have another type. Knows MCP's envelope and no family by name.
"""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ...config.registry import FamilyError, registered
from ...support.exchanges import Exchange
from ...support.json_reading import JsonError, read_json
from ...support.text import neutralise
from .outcome import object_in, texts_in

LONGEST = 120
_MOST_VALUES = 2_000
_SHORT = 8
_SESSION = "mcp-session-id"
_CLIENT_INFO, _SERVER_INFO = (
    f"io.modelcontextprotocol/{side}Info" for side in ("client", "server")
)


@dataclass(frozen=True)
class Meaning:
    """What one side asked, what the other answered, and whether that was a refusal."""

    asked: str
    answered: str = ""
    refused: bool = False


@dataclass(frozen=True)
class DecodedMessage:
    """A request and its answer, as far as they could be read."""

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None
    error: Mapping[str, Any] | None = None
    session_caller: str = ""
    """Who opened the session, if there is one."""
    answered_with: Any = None
    """For an answer of ours to a request of the server's: its result, or its error."""
    asked_meanwhile: tuple[Mapping[str, Any], ...] = ()
    """Requests of the server's that came on the way to the answer."""

    @property
    def tool(self) -> str:
        return str(self.params.get("name", ""))

    @property
    def arguments(self) -> Mapping[str, Any]:
        return _mapping(self.params.get("arguments"))

    @property
    def meta(self) -> Mapping[str, Any]:
        return _mapping(self.params.get("_meta"))

    @property
    def caller(self) -> str:
        """Who the client says it is: in each request since MCP 2026-07-28, only once before."""
        info = self.meta.get(_CLIENT_INFO) or self.params.get("clientInfo")
        return str(_mapping(info).get("name", self.session_caller))

    @property
    def data(self) -> Mapping[str, Any]:
        """The data of an error."""
        return _mapping((self.error or {}).get("data"))

    @property
    def is_error(self) -> bool:
        return self.error is not None or _mapping(self.result).get("isError") is True

    @property
    def answer_in_words(self) -> str:
        """The answer, without any knowledge of the family; "" if there is none."""
        if self.error is not None:
            return f"error {self.error.get('code')} {self.error.get('message', '')}"
        if self.result is None:
            return ""
        found = object_in(self.result)
        said = " ".join(texts_in(self.result)) if found is None else _members(found)
        kind = "tool error" if self.is_error else "result"
        return f"{kind}: {said}" if said else kind


def _members(found: Mapping[str, Any]) -> str:
    """A short form of an object: its plain values, and the size of the others."""
    return ", ".join(f"{name} {_in_short(value)}" for name, value in found.items())


def _in_short(value: Any) -> str:
    if isinstance(value, (Mapping, list)):
        return f"({len(value)})"
    return value if isinstance(value, str) else json.dumps(value)


Decoder = Callable[[DecodedMessage], Meaning | None]


def decode(
    family: str,
    exchange: Exchange,
    hide: Callable[[bytes], bytes] = bytes,
    callers: dict[str, str] | None = None,
) -> Meaning:
    """What an exchange means. `hide` removes secrets before anything is read. `callers` are the
    clients by session, as known from earlier exchanges."""
    callers = {} if callers is None else callers
    headers = (*exchange.request_headers, *exchange.response_headers)
    session = next((value for name, value in headers if name.lower() == _SESSION), "")
    message = _read(exchange, hide, callers.get(session, ""))
    if message.method == "initialize" and session:
        callers[session] = message.caller
    own = _decoder_of(family)
    try:
        found = (own(message) if own is not None else None) or _plain(message)
    except Exception:  # untrusted input: show it as it is
        found = Meaning(message.method)
    return Meaning(_line(found.asked), _line(found.answered), found.refused)


def _line(text: str) -> str:
    line = neutralise(text, 10 * LONGEST)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def _plain(message: DecodedMessage) -> Meaning:
    """MCP's own methods."""
    if message.method == "tools/list" and isinstance(message.result, Mapping):
        tools = message.result.get("tools")
        count = len(tools) if isinstance(tools, list) else 0
        return Meaning(message.method, f"{count} tool{'' if count == 1 else 's'}")
    if message.method in ("initialize", "server/discover"):
        server = _mapping(member_in(message.result, "serverInfo", _SERVER_INFO))
        named = " ".join(str(server[one]) for one in ("name", "version") if one in server)
        caller = f", by {message.caller}" if message.caller else ""
        answered = f"server {named}" if named else message.answer_in_words
        return Meaning(f"{message.method}{caller}", answered, message.is_error)
    asked = f"{message.method} {message.tool}".rstrip()
    return Meaning(asked, message.answer_in_words, message.is_error)


@cache
def _decoder_of(family: str) -> Decoder | None:
    try:
        found: Decoder = registered(family).part("decoder").decode
    except (FamilyError, AttributeError):
        return None  # a family need not have one
    return found


# ---- reading


def _read(exchange: Exchange, hide: Callable[[bytes], bytes], caller: str) -> DecodedMessage:
    sent = next(_messages(hide(exchange.sent.head)), {}) if exchange.sent.complete else {}
    answer: Mapping[str, Any] = {}
    asked = []
    if exchange.received.complete:
        for one in _messages(hide(exchange.received.head)):
            if "result" in one or "error" in one:
                answer = one
            elif "id" in one and "method" in one:
                asked.append(one)
    error = answer.get("error")
    return DecodedMessage(
        exchange.method,
        _mapping(sent.get("params")),
        answer.get("result"),
        error if isinstance(error, Mapping) else None,
        caller,
        sent.get("result", sent.get("error")) if "method" not in sent else None,
        tuple(asked),
    )


def _messages(data: bytes) -> Iterator[Mapping[str, Any]]:
    """The messages of a body: one, or those of an event stream."""
    events = [line[5:] for line in data.splitlines() if line.startswith(b"data:")]
    for one in events or [data]:
        # Not `read_json`, whose check for depth is slow: nothing here recurses.
        try:
            found = json.loads(one)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# ---- for the families' decoders


def short(value: Any) -> str:
    """The beginning of an id or a token: enough to distinguish it from others."""
    text = str(value)
    return text if len(text) <= _SHORT + 4 else f"{text[:_SHORT]}…"


def values_in(tree: Any) -> Iterator[tuple[str, Any]]:
    """Every value in a tree with its name, from the outside in, also inside JSON texts."""
    waiting = deque([("", tree)])
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        name, value = waiting.popleft()
        yield name, value
        if isinstance(value, str) and value.startswith(("{", "[")):
            with contextlib.suppress(JsonError):
                waiting.append((name, read_json(value)))
        elif isinstance(value, Mapping):
            waiting.extend((str(key), one) for key, one in value.items())
        elif isinstance(value, list):
            waiting.extend((name, one) for one in value)


def member_in(tree: Any, *names: str) -> Any:
    """The outermost member with one of these names; None if there is none."""
    return next((value for name, value in values_in(tree) if name in names), None)


def code_in(tree: Any, codes: type[Any]) -> Any:
    """The outermost value that is one of these codes; None if there is none."""
    known = {str(code): code for code in codes}
    return next((known[v] for _, v in values_in(tree) if isinstance(v, str) and v in known), None)
