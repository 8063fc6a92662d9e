"""HTTP/1.1 as bytes: composing requests, reading responses piece by piece.

Knows nothing about sockets, time or JSON: bytes go in; a status, headers and body bytes come out.
It does not use http.client, whose reads cannot be bounded by one deadline or stopped at the last
byte.
"""

import re
from collections.abc import Generator
from typing import TypeVar

Headers = tuple[tuple[str, str], ...]
_Given = TypeVar("_Given")
_Reading = Generator[None, None, _Given]

_HEAD_LIMIT = 64 * 1024
_LINE_LIMIT = 4 * 1024
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: .*)?\Z", re.DOTALL)
_CHUNK_SIZE = re.compile(rb"\s*([0-9A-Fa-f]{1,16})\s*(?:;.*)?\Z", re.DOTALL)


class MalformedResponseError(ValueError):
    """The peer does not speak HTTP/1.1; the text says what is wrong."""


def compose_request(method: str, target: str, headers: Headers, body: bytes) -> bytes:
    """The bytes of a request. A header that would break out of its line is the caller's mistake."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers:
        if any(character in name + value for character in "\r\n\0"):
            raise ValueError(f"header {name!r} would break the request: {value!r}")
        lines.append(f"{name}: {value}")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    # HTTP reads Latin-1; other characters are sent as UTF-8, as browsers do.
    head = "\r\n".join(lines) + "\r\n\r\n"
    try:
        return head.encode("latin-1") + body
    except UnicodeEncodeError:
        return head.encode("utf-8", "surrogatepass") + body


class ResponseReader:
    """Reads one response. `feed` returns the new bytes of the body."""

    def __init__(self, request_method: str = "POST") -> None:
        self.status: int | None = None
        self.headers: Headers = ()
        self.keep_alive = False
        self.declared_length: int | None = None
        self.done = False
        self._request_method = request_method
        self._buffer = bytearray()
        self._body = bytearray()
        self._ends_by_closing = False
        self._reading = self._read()

    @property
    def has_head(self) -> bool:
        return self.status is not None

    @property
    def surplus(self) -> bool:
        """Whether bytes came after the end, so that the connection cannot be used again."""
        return self.done and bool(self._buffer)

    @property
    def where_closed(self) -> str:
        """For messages, if the peer closed before the end."""
        return "in the middle of its answer" if self.has_head else "without an answer"

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        next(self._reading, None)
        body, self._body = bytes(self._body), bytearray()
        return body

    def end(self) -> bool:
        """Call when the peer has closed; returns whether the response was complete."""
        self.done = self.done or self._ends_by_closing
        return self.done

    # The generators below take from the buffer, and yield when they need more bytes in it.

    def _read(self) -> _Reading[None]:
        at_least_1_1 = yield from self._read_head()
        yield from self._read_body(at_least_1_1=at_least_1_1)
        self.done = True

    def _read_head(self) -> _Reading[bool]:
        """Returns whether the peer speaks HTTP/1.1 and not 1.0."""
        while True:
            if not b"HTTP/1."[: len(self._buffer)] == bytes(self._buffer[:7]):
                raise MalformedResponseError("not HTTP/1.1")
            end = _HEAD_END.search(self._buffer)
            if end is None:
                if len(self._buffer) > _HEAD_LIMIT:
                    raise MalformedResponseError("headers without an end")
                yield
                continue
            first, *lines = bytes(self._buffer[: end.start()]).split(b"\n")
            del self._buffer[: end.end()]
            status_line = _STATUS_LINE.match(first.rstrip(b"\r"))
            if status_line is None:
                raise MalformedResponseError("a bad status line")
            status = int(status_line[2])
            if not 100 <= status < 200:  # else an interim response; the real one follows
                self.status = status
                self.headers = tuple(_split_header(line) for line in lines)
                return status_line[1] == b"1"

    def _read_body(self, *, at_least_1_1: bool) -> _Reading[None]:
        """RFC 9112 section 6.3: where the body ends."""
        found = {name.lower(): value for name, value in self.headers}
        connection = found.get("connection", "").lower()
        self.keep_alive = "close" not in connection if at_least_1_1 else "keep-alive" in connection
        if self._request_method == "HEAD" or self.status in (204, 304):
            return
        if "chunked" in found.get("transfer-encoding", "").lower():
            yield from self._read_chunks()
        elif "content-length" in found:
            length = found["content-length"].strip()
            if not (length.isascii() and length.isdigit() and len(length) < 20):
                raise MalformedResponseError("a Content-Length that is not a number")
            self.declared_length = int(length)
            yield from self._read_counted(self.declared_length)
        else:
            self.keep_alive = False
            self._ends_by_closing = True
            while True:
                self._take(len(self._buffer))
                yield

    def _read_chunks(self) -> _Reading[None]:
        while size := _chunk_size((yield from self._read_line())):
            yield from self._read_counted(size)
            if (yield from self._read_line()):
                raise MalformedResponseError("a chunk longer than its size")
        while (yield from self._read_line()):
            pass  # trailers

    def _read_counted(self, left: int) -> _Reading[None]:
        while left := left - self._take(left):
            yield

    def _read_line(self) -> _Reading[bytes]:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LINE_LIMIT:
                raise MalformedResponseError("a chunk size line without an end")
            yield
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        return line

    def _take(self, size: int) -> int:
        """Move at most that many bytes into the body; returns how many there were."""
        piece = self._buffer[:size]
        self._body += piece
        del self._buffer[:size]
        return len(piece)


def _chunk_size(line: bytes) -> int:
    size = _CHUNK_SIZE.match(line)
    if size is None:
        raise MalformedResponseError("a chunk without a size")
    return int(size[1], 16)


def _split_header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip(), value.strip()
