"""HTTP/1.1 as bytes: composing requests, reading responses piece by piece.

Knows nothing about sockets, time or JSON: bytes go in; a status, headers and body bytes come out.
It does not use http.client, whose reads cannot be bounded by one deadline or stopped at the last
byte.
"""

import enum
import re

Headers = tuple[tuple[str, str], ...]

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


class _State(enum.Enum):
    HEAD = enum.auto()
    COUNTED = enum.auto()
    UNTIL_CLOSE = enum.auto()
    CHUNK_SIZE = enum.auto()
    CHUNK_DATA = enum.auto()
    CHUNK_END = enum.auto()
    TRAILERS = enum.auto()
    DONE = enum.auto()


class ResponseReader:
    """Reads one response. `feed` returns the new bytes of the body."""

    def __init__(self, request_method: str = "POST") -> None:
        self.status: int | None = None
        self.headers: Headers = ()
        self.keep_alive = False
        self.declared_length: int | None = None
        self._request_method = request_method
        self._state = _State.HEAD
        self._buffer = bytearray()
        self._left = 0

    @property
    def has_head(self) -> bool:
        return self._state is not _State.HEAD

    @property
    def done(self) -> bool:
        return self._state is _State.DONE

    @property
    def surplus(self) -> bool:
        """Whether bytes came after the end, so that the connection cannot be used again."""
        return self.done and bool(self._buffer)

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        body: list[bytes] = []
        while self._step(body):
            pass
        return body[0] if len(body) == 1 else b"".join(body)

    def end(self) -> bool:
        """Call when the peer has closed; returns whether the response was complete."""
        if self._state is _State.UNTIL_CLOSE:
            self._state = _State.DONE
        return self.done

    def _step(self, body: list[bytes]) -> bool:
        """Take one step through the buffer; returns whether another may follow."""
        match self._state:
            case _State.HEAD:
                return self._read_head()
            case _State.COUNTED | _State.CHUNK_DATA:
                return self._read_counted(body)
            case _State.UNTIL_CLOSE:
                if self._buffer:
                    body.append(bytes(self._buffer))
                    self._buffer.clear()
                return False
            case _State.DONE:
                return False
            case _:
                return self._read_chunk_line()

    def _read_counted(self, body: list[bytes]) -> bool:
        piece = bytes(self._buffer[: self._left])
        if piece:
            del self._buffer[: len(piece)]
            body.append(piece)
            self._left -= len(piece)
        if self._left:
            return False
        self._state = _State.DONE if self._state is _State.COUNTED else _State.CHUNK_END
        return True

    def _read_chunk_line(self) -> bool:
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > _LINE_LIMIT:
                raise MalformedResponseError("a chunk size line without an end")
            return False
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        if self._state is _State.CHUNK_END:
            if line:
                raise MalformedResponseError("a chunk longer than its size")
            self._state = _State.CHUNK_SIZE
        elif self._state is _State.TRAILERS:
            self._state = _State.TRAILERS if line else _State.DONE
        else:
            size = _CHUNK_SIZE.match(line)
            if size is None:
                raise MalformedResponseError("a chunk without a size")
            self._left = int(size[1], 16)
            self._state = _State.CHUNK_DATA if self._left else _State.TRAILERS
        return True

    def _read_head(self) -> bool:
        if not b"HTTP/1."[: len(self._buffer)] == bytes(self._buffer[:7]):
            raise MalformedResponseError("not HTTP/1.1")
        end = _HEAD_END.search(self._buffer)
        if end is None:
            if len(self._buffer) > _HEAD_LIMIT:
                raise MalformedResponseError("headers without an end")
            return False
        first, *lines = bytes(self._buffer[: end.start()]).split(b"\n")
        del self._buffer[: end.end()]
        status_line = _STATUS_LINE.match(first.rstrip(b"\r"))
        if status_line is None:
            raise MalformedResponseError("a status line that is none")
        status = int(status_line[2])
        if 100 <= status < 200:
            return bool(self._buffer)  # an interim response; the real one follows
        self.status = status
        self.headers = tuple(_split_header(line) for line in lines)
        self._choose_framing(at_least_1_1=status_line[1] == b"1")
        return True

    def _choose_framing(self, *, at_least_1_1: bool) -> None:
        """RFC 9112 section 6.3: where the body ends."""
        found = {name.lower(): value for name, value in self.headers}
        connection = found.get("connection", "").lower()
        self.keep_alive = "close" not in connection if at_least_1_1 else "keep-alive" in connection
        if self._request_method == "HEAD" or self.status in (204, 304):
            self._state = _State.DONE
        elif "chunked" in found.get("transfer-encoding", "").lower():
            self._state = _State.CHUNK_SIZE
        elif "content-length" in found:
            length = found["content-length"].strip()
            if not (length.isascii() and length.isdigit() and len(length) < 20):
                raise MalformedResponseError("a Content-Length that is no number")
            self._left = self.declared_length = int(length)
            self._state = _State.COUNTED
        else:
            self.keep_alive = False
            self._state = _State.UNTIL_CLOSE


def _split_header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip(), value.strip()
