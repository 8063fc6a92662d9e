"""How the reference client's messages travel: Streamable HTTP and stdio, one request at a time.

Messages come back in the order in which the server sends them, until the one that answers. Knows
JSON-RPC's ids and no method.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

Message = Mapping[str, Any]
_LARGEST = 64 * 1024 * 1024
_END_SECONDS = 2


class BrokenOff(Exception):  # noqa: N818  # what a connection does
    """No answer came: the request may have been served, or not."""


class SessionLost(BrokenOff):
    """The server does not know the session any more."""


class Transport(Protocol):
    session: str
    seconds: float
    """How long one answer may take."""

    def exchange(self, message: Message, headers: Mapping[str, str]) -> Iterator[Message]:
        """Send a request; every message that comes until the answer, with the answer."""

    def tell(self, message: Message, headers: Mapping[str, str]) -> None:
        """Send what has no answer: a notification, or an answer of ours."""

    def close(self) -> None: ...


class HttpTransport:
    """A connection of its own for each message."""

    def __init__(self, url: str, headers: Mapping[str, str], seconds: float) -> None:
        self._parts = urlsplit(url)
        self._own_headers = dict(headers)
        self.seconds = seconds
        self.session = ""
        """The session id that the server gave, if any."""

    def exchange(self, message: Message, headers: Mapping[str, str]) -> Iterator[Message]:
        with self._posted(message, headers) as answer:
            self.session = answer.headers.get("Mcp-Session-Id") or self.session
            kind = answer.headers.get_content_type()
            if kind == "text/event-stream":
                yield from _events(answer)
                return
            content = answer.read(_LARGEST)
            if answer.status == 404 and "Mcp-Session-Id" in headers and not content:
                raise SessionLost("the server does not know this session any more")
            yield _parsed(content, f"HTTP {answer.status}")

    def tell(self, message: Message, headers: Mapping[str, str]) -> None:
        with self._posted(message, headers) as answer:
            answer.read(_LARGEST)

    def close(self) -> None:
        """Nothing stays open."""

    @contextlib.contextmanager
    def _posted(
        self, message: Message, headers: Mapping[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        secure = self._parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.seconds)
        path = self._parts.path or "/"
        if self._parts.query:
            path += f"?{self._parts.query}"
        usual = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        try:
            body = json.dumps(message).encode()
            connection.request("POST", path, body, {**usual, **self._own_headers, **headers})
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise BrokenOff(f"{type(error).__name__}: {error}") from error
        finally:
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[Message]:
    """The messages of an event stream."""
    data: list[bytes] = []
    while line := answer.readline(_LARGEST):
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield _parsed(b"\n".join(data), "event")
            data = []
    raise BrokenOff("the stream ended without an answer")


class StdioTransport:
    """A command that the client starts, and ends with itself."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self._command = list(command)
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self.session = ""

    def exchange(self, message: Message, headers: Mapping[str, str]) -> Iterator[Message]:
        self.tell(message, headers)
        while True:
            yield _parsed(self._line(), "a line")

    def tell(self, message: Message, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        pipe = self._running().stdin
        assert pipe is not None
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            pipe.flush()
        except OSError as error:
            self.close()
            raise BrokenOff(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        process, self._process, self._buffer = self._process, None, b""
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_SECONDS)
        process.stdout.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except OSError as error:
                raise BrokenOff(f"{self._command[0]}: {error.strerror}") from error
        return self._process

    def _line(self) -> bytes:
        stdout = self._running().stdout
        assert stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([stdout], [], [], self.seconds)
            if not ready:
                raise BrokenOff(f"nothing within {self.seconds:g} s")
            piece = os.read(stdout.fileno(), 65536)
            if not piece or len(self._buffer) > _LARGEST:
                self.close()
                raise SessionLost("the server has ended")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


def _parsed(content: bytes, what: str) -> Message:
    try:
        found = json.loads(content)
    except ValueError:
        raise BrokenOff(f"{what}: no JSON in the answer") from None
    if not isinstance(found, dict):
        raise BrokenOff(f"{what}: no message in the answer")
    return found
