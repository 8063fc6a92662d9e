"""A conversation with an MCP server in either era: found out by asking, kept, and begun anew.

Handshake: `initialize`, a session, and requests of the server's inside ours. Since 2026-07-28:
`server/discover`, and each request says who asks. A request is never sent a second time by itself:
whether it ran is not known. Knows no tool, no approval and no person.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

from ..support.version import own_version
from .transports import BrokenOff, Message, SessionLost, Transport

SESSIONLESS = "2026-07-28"
HANDSHAKE = "2025-11-25"
INVALID_PARAMS = -32602
METHOD_NOT_FOUND = -32601
_META = "io.modelcontextprotocol/"
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")


class ServerError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.code = error.get("code") if isinstance(error.get("code"), int) else 0
        self.message = str(error.get("message", ""))
        data = error.get("data")
        self.data: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        super().__init__(f"{self.code} {self.message}")


class AnswerError(Exception):
    """Raised by whoever answers the server's requests: the error to send back."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


Answers = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Takes a method and params of the server's, and returns the result."""


def nothing_asked(method: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
    raise AnswerError(METHOD_NOT_FOUND, f"Method not found: {method}")


class Connection:
    """One conversation."""

    def __init__(self, transport: Transport, capabilities: Mapping[str, Any]) -> None:
        self.transport = transport
        self.capabilities = capabilities
        self.revision = ""
        self.server_capabilities: Mapping[str, Any] = {}
        self.server_name = "the server"
        self._ids = itertools.count(1)
        self._info = {"name": "mcp-approval-reference-client", "version": own_version() or "0"}

    @property
    def sessionless(self) -> bool:
        return self.revision == SESSIONLESS

    def open(self) -> None:
        """Agree with the server on a revision: the new one if it can, else the old one."""
        self.revision, self.transport.session = SESSIONLESS, ""
        try:
            found = self.request("server/discover", {})
            if SESSIONLESS in _listed(found.get("supportedVersions")):
                self._heard(found, _object(found.get("_meta")).get(f"{_META}serverInfo"))
                return
        except ServerError:
            pass  # a server of the handshake era
        self.revision = ""
        params = {
            "protocolVersion": HANDSHAKE,
            "capabilities": self.capabilities,
            "clientInfo": self._info,
        }
        found = self.request("initialize", params)
        self.revision = str(found.get("protocolVersion", HANDSHAKE))
        self._heard(found, found.get("serverInfo"))
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.transport.tell(initialized, self._headers("notifications/initialized", {}))

    def _heard(self, found: Mapping[str, Any], info: Any) -> None:
        self.server_capabilities = _object(found.get("capabilities"))
        self.server_name = str(_object(info).get("name") or "the server")

    def request(
        self, method: str, params: Mapping[str, Any], answers: Answers = nothing_asked
    ) -> Mapping[str, Any]:
        """The result. `ServerError` if the server says no, `BrokenOff` if it says nothing."""
        own = self.next_id()
        message = {
            "jsonrpc": "2.0",
            "id": own,
            "method": method,
            "params": self._enveloped(params),
        }
        try:
            for received in self.transport.exchange(message, self._headers(method, params)):
                if "method" in received:
                    if "id" in received:
                        self._answer(received, answers)
                elif received.get("id") in (own, None):
                    # An error may have no id. Another's id is of a request that was given up.
                    return _result_of(received)
        except SessionLost:
            if method not in ("initialize", "server/discover"):
                self.open()  # for the next request; this one is not sent again
            raise
        raise BrokenOff("the connection ended without an answer")

    def next_id(self) -> Any:
        """An id that no request of this conversation has had."""
        return next(self._ids)

    def close(self) -> None:
        self.transport.close()

    def _answer(self, received: Message, answers: Answers) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": received["id"]}
        method = str(received["method"])
        try:
            result = {} if method == "ping" else answers(method, _object(received.get("params")))
            reply["result"] = result
        except AnswerError as error:
            reply["error"] = {"code": error.code, "message": error.message}
        self.transport.tell(reply, self._headers("", {}))

    def _enveloped(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.sessionless:
            return params
        own = {
            f"{_META}protocolVersion": self.revision,
            f"{_META}clientInfo": self._info,
            f"{_META}clientCapabilities": self.capabilities,
        }
        return {**params, "_meta": {**own, **_object(params.get("_meta"))}}

    def _headers(self, method: str, params: Mapping[str, Any]) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self.revision} if self.revision else {}
        if self.sessionless:
            headers["Mcp-Method"] = method
            if method == "tools/call":
                headers["Mcp-Name"] = _header(str(params.get("name", "")))
        elif self.transport.session:
            headers["Mcp-Session-Id"] = self.transport.session
        return headers


def _result_of(received: Message) -> Mapping[str, Any]:
    if "error" in received:
        raise ServerError(_object(received["error"]))
    return _object(received.get("result"))


def _header(value: str) -> str:
    """As 2026-07-28 puts a name into a header."""
    if _PLAIN.match(value) and not value.startswith("=?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode('ascii')}?="


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
