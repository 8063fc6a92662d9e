"""What a client sent, byte for byte, and what a scripted server may answer.

Everything from a client is untrusted: any member may be missing or of another type. Knows no
transport and no family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..support.http1 import Headers


class ClientError(Exception):
    """The client cannot be run, or did not do what a scenario needs; one line, safe to print."""


@dataclass(frozen=True)
class Incoming:
    """One message of the client's."""

    raw: bytes
    message: Mapping[str, Any]
    headers: Headers = ()
    at: float = 0.0
    """Measured by `deadline.now`."""
    session: str = ""
    """Of the handshake era."""

    @property
    def method(self) -> str:
        """ "" for an answer."""
        return str(self.message.get("method", ""))

    @property
    def id(self) -> Any:
        return self.message.get("id")

    @property
    def is_request(self) -> bool:
        return "method" in self.message and "id" in self.message

    @property
    def params(self) -> Mapping[str, Any]:
        return as_object(self.message.get("params"))

    @property
    def meta(self) -> Mapping[str, Any]:
        return as_object(self.params.get("_meta"))

    @property
    def tool(self) -> str:
        """The tool of a tools/call."""
        return str(self.params.get("name", ""))


@dataclass(frozen=True)
class Result:
    """The value of `result`."""

    value: Mapping[str, Any]


@dataclass(frozen=True)
class ScriptedRefusal:
    """A JSON-RPC error."""

    code: int
    message: str
    data: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HangUp:
    """No answer: the connection is closed. The client cannot know what became of its request."""


@dataclass(frozen=True)
class LostSession:
    """Handshake era over HTTP: the server has forgotten the session (404), as after a restart."""


@dataclass(frozen=True)
class Ask:
    """A request of the server's inside the open call (handshake era); `then` gets the client's
    answer, as it came, or None if none came in time."""

    method: str
    params: Mapping[str, Any]
    then: Callable[[Incoming | None], Answer]
    id: str = ""
    noted: list[str] = field(default_factory=list)


Answer: TypeAlias = Result | ScriptedRefusal | HangUp | LostSession | Ask


def as_object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def text_result(text: str) -> Result:
    """What most tools answer."""
    return Result({"content": [{"type": "text", "text": text}], "isError": False})
