"""What an HTTP answer, growing piece by piece, says about the request.

Knows nothing of sockets, ASGI or time; both HTTP transports feed it. MCP allows a JSON body or an
event stream in which other messages may come first.
"""

from dataclasses import replace

from pytest_mcp_approval.support.text import first_line
from pytest_mcp_approval.wire.messages import (
    Message,
    MessageKind,
    NotAMessageError,
    RequestId,
    parse_message,
)
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply, read_response
from pytest_mcp_approval.wire.sse import EventReader

MOST_REQUESTS = 500
"""Requests of the server's in one answer: each is answered in a request of our own."""


class Answer:
    """Collects one HTTP answer until `reply` is there."""

    def __init__(
        self, request_id: RequestId | None, limit: int, *, is_stream: bool = False
    ) -> None:
        """`is_stream`: an event stream is what was asked for, and all that comes on it counts."""
        self.reply: Reply | None = None
        self.received = bytearray()
        """The body, as far as it came."""
        self._request_id = request_id
        self._limit = limit
        self._is_stream = is_stream
        self._status: int | None = None
        self._headers: Headers = ()
        self._events: EventReader | None = None
        self._stray: Reply | None = None
        self._unasked: list[Message] = []
        self._requests = 0

    def is_decided(self) -> bool:
        return self.reply is not None

    def begin(self, status: int, headers: Headers, declared_length: int | None = None) -> None:
        self._status, self._headers = status, headers
        kind = next((value for name, value in headers if name.lower() == "content-type"), "")
        if kind.strip().lower().startswith("text/event-stream"):
            if self._request_id is None and not self._is_stream:
                self._decide(Reply(Outcome.ACCEPTED))
            self._events = EventReader()
        if declared_length is not None and declared_length > self._limit:
            self._decide(Reply(Outcome.TOO_LARGE, detail=self._too_large(str(declared_length))))

    def feed(self, data: bytes) -> None:
        if self.is_decided():
            return
        self.received += data
        if self._events is not None:
            for event in self._events.feed(data):
                if event.kind == "message" and not self.is_decided():
                    self._take_event(event.data)
        if not self.is_decided() and len(self.received) > self._limit:
            detail = self._too_large(f"more than {self._limit}")
            self._decide(Reply(Outcome.TOO_LARGE, bytes(self.received), detail=detail))

    def end(self) -> None:
        """The body is complete."""
        if self.reply is not None:
            return
        if self._events is not None:
            without = "" if self._is_stream else " without an answer"
            ended = Reply(Outcome.CLOSED, detail=f"the event stream ended{without}")
            self._decide(self._stray or ended)
        elif not self.received:
            taken = self._request_id is None and self._status in range(200, 300)
            self._decide(
                Reply(Outcome.ACCEPTED if taken else Outcome.HTTP_STATUS, detail=self._where())
            )
        else:
            self._decide(self._judge_body())

    def cut(self, outcome: Outcome, detail: str) -> None:
        """It ended otherwise: no more in time, or closed in the middle."""
        if self.reply is None:
            raw = bytes(self.received)
            self._decide(self._stray or Reply(outcome, raw, detail=detail))

    def take_unasked(self) -> list[Message]:
        """What came in the stream and is no answer: the server's requests, and notifications."""
        taken, self._unasked = self._unasked, []
        return taken

    @property
    def head(self) -> Reply | None:
        """The status and headers, as soon as they are there."""
        if self._status is None:
            return None
        return Reply(Outcome.ACCEPTED, status=self._status, headers=self._headers)

    @property
    def is_event_stream(self) -> bool:
        return self._events is not None

    def _decide(self, reply: Reply) -> None:
        self.reply = replace(reply, status=self._status, headers=self._headers)

    def _take_event(self, data: bytes) -> None:
        if not data.strip():
            return  # a priming event: an id to resume from, without a message
        try:
            message = parse_message(data)
        except NotAMessageError as problem:
            self._stray = self._stray or Reply(Outcome.GARBAGE, data, detail=str(problem))
            return
        if message.kind is MessageKind.REQUEST:
            self._requests += 1
            if self._requests > MOST_REQUESTS:
                detail = f"more than {MOST_REQUESTS} requests of its own in one answer"
                self._decide(Reply(Outcome.TOO_LARGE, bytes(self.received), detail=detail))
                return
        if message.kind is not MessageKind.RESPONSE or self._is_stream:
            self._unasked.append(message)
        elif self._request_id is not None:
            reply = read_response(message, self._request_id)
            if reply.message is not None:
                self._decide(reply)
            else:
                self._stray = reply

    def _judge_body(self) -> Reply:
        raw = bytes(self.received)
        successful = self._status in range(200, 300)
        try:
            message = parse_message(raw)
        except NotAMessageError as problem:
            if not successful:
                return Reply(Outcome.HTTP_STATUS, raw, detail=self._where())
            if self._request_id is None:
                return Reply(Outcome.ACCEPTED, raw)
            return Reply(Outcome.GARBAGE, raw, detail=str(problem))
        if message.kind is not MessageKind.RESPONSE:
            return Reply(Outcome.GARBAGE, raw, detail=f"a {message.kind.value}, not a response")
        if self._request_id is None and successful and "error" not in message.value:
            return Reply(Outcome.ACCEPTED, raw)
        return read_response(message, self._request_id)

    def _where(self) -> str:
        """Where a redirect points: the address that was meant, as a rule."""
        place = next((value for name, value in self._headers if name.lower() == "location"), "")
        redirects = place and self._status in range(300, 400)
        return f"redirected to {first_line(place)}" if redirects else ""

    def _too_large(self, size: str) -> str:
        return f"{size} bytes, at most {self._limit} are read"
