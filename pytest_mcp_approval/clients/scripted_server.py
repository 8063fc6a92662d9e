"""The MCP server that the suite plays for a client: it lists, answers and asks as a scenario says.

It speaks one era at a time, so that a client that knows both is seen in each. What a family adds
(tools, capabilities, methods) it puts into `tools`, `capabilities` and `handlers`. Every message is
kept with its bytes. Knows no transport: doors bring messages and carry the answers.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..support.deadline import Deadline, now
from ..support.json_reading import JsonError, read_json
from ..wire.eras import (
    HANDSHAKE_REVISIONS,
    SERVER_INFO_KEY,
    SESSIONLESS_REVISIONS,
    UNSUPPORTED_PROTOCOL_VERSION,
    Era,
)
from .messages import (
    Answer,
    Ask,
    Incoming,
    LostSession,
    Result,
    ScriptedRefusal,
    as_object,
    text_result,
)
from .news import News

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
NAME = "scripted-shop"
_OF_ALL_TIME = {"ttlMs": 0, "cacheScope": "private"}
"""Members that results of the sessionless era have: nothing is to be kept."""

Handler = Callable[[Incoming], Answer]


class ScriptedServer:
    """One server, for one run of a client or for several."""

    def __init__(self, era: Era, news: News, patience: float) -> None:
        self.era = era
        self.news = news
        self.patience = patience
        """Seconds in which a client answers what it is asked."""
        self.name = NAME
        self.tools: list[dict[str, Any]] = []
        self.capabilities: dict[str, Any] = {"tools": {}}
        self.handlers: dict[str, Handler] = {"tools/call": lambda _: text_result("done")}
        self.received: list[Incoming] = []
        self.fetched: list[str] = []
        """Paths that were requested beside the endpoint."""
        self.streams = False
        """Whether answers come as an event stream, which clients must take as well."""
        self.revision = SESSIONLESS_REVISIONS[-1]
        """As agreed on last."""
        self.sessions: set[str] = set()
        """Handshake era: those that the server knows at present."""
        self._declared: dict[str, Mapping[str, Any]] = {}
        """By session, also by those that are over."""
        self._waiting: dict[str, list[Incoming]] = {}
        self._ids = itertools.count(1)
        self._lock = threading.Lock()

    # ---- what came

    def of(self, *methods: str) -> list[Incoming]:
        """The requests with these methods, in the order in which they came."""
        with self._lock:
            return [one for one in self.received if one.method in methods and one.is_request]

    def calls(self, tool: str) -> list[Incoming]:
        return [one for one in self.of("tools/call") if one.tool == tool]

    def declared(self, incoming: Incoming) -> Mapping[str, Any]:
        """What the client of this request declared that it can do."""
        if self.era is Era.HANDSHAKE:
            return self._declared.get(incoming.session, {})
        return as_object(incoming.meta.get("io.modelcontextprotocol/clientCapabilities"))

    def forget_sessions(self) -> None:
        """As after a restart: clients of the handshake era have to begin anew."""
        self.sessions.clear()

    # ---- what doors do

    def take(self, raw: bytes, headers: Sequence[tuple[str, str]] = ()) -> Incoming | None:
        """Keep a message; None if it is no JSON object."""
        try:
            message = read_json(raw)
        except JsonError:
            message = None
        named = {name.lower(): value for name, value in headers}
        incoming = Incoming(
            raw,
            as_object(message),
            tuple(headers),
            now(),
            session=named.get("mcp-session-id", ""),
        )
        with self._lock:
            self.received.append(incoming)
            if not incoming.method and str(incoming.id) in self._waiting:
                self._waiting[str(incoming.id)].append(incoming)
        self.news.tell()
        return incoming if isinstance(message, Mapping) else None

    def answer(self, incoming: Incoming) -> Answer:
        """The answer to a request, before anything is asked meanwhile."""
        basic = {
            "initialize": self._initialize,
            "server/discover": self._discover,
            "ping": lambda _: Result({}),
            "tools/list": self._list,
        }
        if self.era is Era.HANDSHAKE and incoming.session and incoming.session not in self.sessions:
            return LostSession()
        handler = self.handlers.get(incoming.method) or basic.get(incoming.method)
        if handler is None:
            return ScriptedRefusal(METHOD_NOT_FOUND, "Method not found")
        return self._finished(handler(incoming))

    def asked(self, ask: Ask) -> tuple[str, dict[str, Any]]:
        """The id of a request of ours, and the request; from now on an answer is awaited."""
        own = ask.id or f"ask-{next(self._ids)}"
        with self._lock:
            self._waiting[own] = []
        return own, {"jsonrpc": "2.0", "id": own, "method": ask.method, "params": ask.params}

    def await_answer(self, own: str, seconds: float) -> Incoming | None:
        """The client's answer to that request; None if there is none in time."""
        deadline = Deadline(seconds)
        self.news.until(lambda: bool(self._waiting[own]), deadline.left())
        with self._lock:
            found = self._waiting.pop(own)
        return found[0] if found else None

    def go_on(self, ask: Ask, answered: Incoming | None) -> Answer:
        return self._finished(ask.then(answered))

    def wrapped(self, incoming: Incoming, answer: Result | ScriptedRefusal) -> dict[str, Any]:
        """As JSON-RPC."""
        envelope: dict[str, Any] = {"jsonrpc": "2.0", "id": incoming.id}
        if isinstance(answer, Result):
            return {**envelope, "result": answer.value}
        error = {"code": answer.code, "message": answer.message}
        data = {} if answer.data is None else {"data": answer.data}
        return {**envelope, "error": {**error, **data}}

    # ---- the methods that every server has

    def _initialize(self, incoming: Incoming) -> Answer:
        if self.era is not Era.HANDSHAKE:
            supported = {"supported": list(SESSIONLESS_REVISIONS)}
            return ScriptedRefusal(
                UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", supported
            )
        wanted = incoming.params.get("protocolVersion")
        self.revision = wanted if wanted in HANDSHAKE_REVISIONS else HANDSHAKE_REVISIONS[-1]
        return Result(
            {
                "protocolVersion": self.revision,
                "capabilities": self.capabilities,
                "serverInfo": {"name": self.name, "version": "1"},
            }
        )

    def new_session(self, incoming: Incoming) -> str:
        """Over HTTP an answered initialize begins a session."""
        session = secrets.token_hex(8)
        self.begin_session(session, incoming)
        return session

    def begin_session(self, session: str, incoming: Incoming) -> None:
        """From now on this session is known, with what its client has declared."""
        self.sessions.add(session)
        self._declared[session] = as_object(incoming.params.get("capabilities"))

    def _discover(self, _: Incoming) -> Answer:
        if self.era is not Era.SESSIONLESS:
            return ScriptedRefusal(METHOD_NOT_FOUND, "Method not found")
        return Result(
            {
                "supportedVersions": list(SESSIONLESS_REVISIONS),
                "capabilities": self.capabilities,
                **_OF_ALL_TIME,
            }
        )

    def _list(self, _: Incoming) -> Answer:
        own = _OF_ALL_TIME if self.era is Era.SESSIONLESS else {}
        return Result({"tools": self.tools, **own})

    def _finished(self, answer: Answer) -> Answer:
        """A result with what this era adds to each."""
        if self.era is Era.SESSIONLESS and isinstance(answer, Result):
            info = {SERVER_INFO_KEY: {"name": self.name, "version": "1"}}
            meta = {**info, **as_object(answer.value.get("_meta"))}
            return Result({"resultType": "complete", **answer.value, "_meta": meta})
        return answer

    # ---- for doors and scenarios

    def fetch(self, path: str) -> None:
        """Somebody requested a page beside the endpoint."""
        self.fetched.append(path)
        self.news.tell()

    @contextlib.contextmanager
    def instead(self, method: str, handler: Handler) -> Any:
        """While this lasts, requests of that method are answered in another way."""
        usual = self.handlers.get(method)
        self.handlers[method] = handler
        try:
            yield
        finally:
            if usual is None:
                del self.handlers[method]
            else:
                self.handlers[method] = usual
