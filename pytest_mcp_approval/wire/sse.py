"""Server-sent events, read piece by piece from a byte stream.

Knows nothing of HTTP or JSON. Follows the HTML standard's rules: lines end in CRLF, LF or CR,
comments are skipped, several data lines are one text.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"[\r\n]")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    kind: str
    """"message" unless the stream says otherwise."""
    data: bytes


class EventReader:
    """`feed` returns the events that became complete. Bounding the stream's size is the caller's
    part."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0
        self._after_carriage_return = False
        self._at_start = True
        self._kind = b""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> list[StreamEvent]:
        self._buffer += data
        if self._at_start:
            if len(self._buffer) < 3 and _BYTE_ORDER_MARK.startswith(self._buffer):
                return []
            if self._buffer.startswith(_BYTE_ORDER_MARK):
                del self._buffer[:3]
            self._at_start = False
        events: list[StreamEvent] = []
        begin = 0
        while True:
            # A line is complete at its CR; whether LF follows may only be known with the next
            # piece.
            if self._after_carriage_return and begin < len(self._buffer):
                if self._buffer[begin] == 0x0A:
                    begin += 1
                self._after_carriage_return = False
            end = _LINE_END.search(self._buffer, max(begin, self._searched))
            if end is None:
                break
            line = bytes(self._buffer[begin : end.start()])
            self._after_carriage_return = end[0] == b"\r"
            begin = self._searched = end.end()
            event = self._take_line(line)
            if event is not None:
                events.append(event)
        del self._buffer[:begin]
        self._searched = len(self._buffer)
        return events

    def _take_line(self, line: bytes) -> StreamEvent | None:
        if not line:
            kind, data = self._kind, self._data
            self._kind, self._data = b"", []
            if not data:
                return None
            return StreamEvent(kind.decode("utf-8", "replace") or "message", b"\n".join(data))
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value
        return None
