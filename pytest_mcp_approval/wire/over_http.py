"""Streamable HTTP: each message a POST, each answer a JSON body or an event stream.

Knows nothing of MCP's methods or revisions: which headers a message carries is the session's part.
Proxies of the environment are not used: what is tested is the server itself.
"""

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mcp_approval.support.connection import (
    ConnectFailedError,
    Connection,
    tls_context,
    wait_readable,
)
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.http1 import (
    MalformedResponseError,
    ResponseReader,
    compose_request,
)
from pytest_mcp_approval.wire.answer import Answer
from pytest_mcp_approval.wire.inbox import RequestListener
from pytest_mcp_approval.wire.messages import Outgoing
from pytest_mcp_approval.wire.reply import Outcome, Reply
from pytest_mcp_approval.wire.transport import HttpLikeTransport, Underway

_IDLE_SECONDS = 2.0
"""Connections that rested longer are not used again: common servers hang up after 5 s, and a
request that crosses the hanging up in flight could not be told from one that was processed."""
_KEPT_CONNECTIONS = 4
_SETTLE_SECONDS = 0.02
"""Between the bodies and their last bytes: a server needs a moment to accept N connections and read
them."""
_SERVER_REQUEST_SECONDS = 2.0
_JOIN_SECONDS = 5.0
_DRAINED_PIECES = 8
"""Reads that are spent on the rest of an event stream before its connection is given up."""


@dataclass(slots=True)
class _Resting:
    connection: Connection
    reader: ResponseReader
    since: float


@dataclass(slots=True)
class _Exchange:
    """One request on its connection, and the answer as far as it came."""

    transport: "HttpTransport"
    outgoing: Outgoing
    connection: Connection | None = None
    payload: bytes = b""
    listener: RequestListener | None = None
    is_stream: bool = False
    started: float = field(default_factory=now)
    reader: ResponseReader = field(init=False)
    answer: Answer = field(init=False)

    def __post_init__(self) -> None:
        self.reader = ResponseReader(self.outgoing.http_method)
        self.answer = Answer(
            self.outgoing.request_id, self.transport.limit, is_stream=self.is_stream
        )

    def take(self, data: bytes) -> None:
        """Bytes came, or none: the peer closed."""
        began = self.reader.has_head
        try:
            if not data:
                if self.reader.end():
                    self.answer.end()
                else:
                    self.answer.cut(Outcome.CLOSED, self.reader.where_closed)
                return
            body = self.reader.feed(data)
        except MalformedResponseError as problem:
            self.answer.received += data
            self.answer.cut(Outcome.GARBAGE, str(problem))
            return
        if self.reader.status is not None and not began:
            self.answer.begin(self.reader.status, self.reader.headers, self.reader.declared_length)
            if self.listener is not None and self.answer.head is not None:
                self.listener.began(self.answer.head)
        self.answer.feed(body)
        if self.reader.done:
            self.answer.end()

    def run(self, deadline: Deadline) -> None:
        """Read until there is a reply."""
        while self.answer.reply is None:
            assert self.connection is not None
            try:
                self.take(self.connection.receive(deadline))
            except TimeoutError:
                self.answer.cut(Outcome.NO_ANSWER, f"nothing within {deadline.in_words}")
            except OSError as problem:
                self.answer.cut(Outcome.CLOSED, problem.strerror or "broken")
            self.transport.answer_server(self, deadline)

    def conclude(self) -> Reply:
        """Let go of the connection, record, and give the reply."""
        self.let_go()
        return self.transport._finish(self.outgoing, self.answer, self.started)

    def let_go(self) -> None:
        if self.connection is not None:
            done_with = self.answer.reply is not None and self.answer.reply.answered
            self.transport.put_back(self.connection, self.reader, mid_stream=done_with)
            self.connection = None


class _Followed(Underway):
    """An exchange whose answer is read in a thread of its own."""

    def __init__(self, exchange: _Exchange, listener: RequestListener, life: Deadline) -> None:
        self._exchange = exchange
        self.outgoing = exchange.outgoing
        self._lock = threading.Lock()
        self._connection = exchange.connection
        self._listener = listener
        self._life = life
        self._thread = threading.Thread(
            target=self._follow, name="mcp-approval open call", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.cut()
        if self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)

    def _follow(self) -> None:
        answer = self._exchange.answer
        try:
            self._exchange.run(self._life)
        finally:
            answer.cut(Outcome.CLOSED, "not read to its end")
            with self._lock:
                self._connection = None  # it may be used again, and is no longer ours to cut
            self._exchange.let_go()
            self._exchange.transport.forget(self)
            assert answer.reply is not None
            self._listener.ended(answer.reply, bytes(answer.received))


class HttpTransport(HttpLikeTransport):
    """An MCP endpoint at an http or https URL."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(url, headers)
        self._context = tls_context() if self.address.secure else None
        self._resting: list[_Resting] = []
        self._followed: set[_Followed] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def place(self) -> str:
        return self.address.url

    def start(self, deadline: Deadline) -> None:
        """Nothing to start: the first exchange connects."""

    def _exchange(self, outgoing: Outgoing, deadline: Deadline) -> Reply:
        exchange = self._prepare(outgoing)
        self._try_to_send(exchange, deadline)
        exchange.run(deadline)
        return exchange.conclude()

    def begin(
        self,
        outgoing: Outgoing,
        listener: RequestListener,
        deadline: Deadline,
        life: Deadline,
        *,
        is_stream: bool = False,
    ) -> Underway:
        exchange = self._prepare(outgoing, listener, is_stream=is_stream)
        self._try_to_send(exchange, deadline, anew=True)
        followed = _Followed(exchange, listener, life)
        with self._lock:
            self._followed.add(followed)
        followed.start()
        return followed

    def forget(self, followed: _Followed) -> None:
        with self._lock:
            self._followed.discard(followed)

    def _exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        return last_byte_race([(self, one) for one in outgoing], deadline)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            resting, self._resting = self._resting, []
            followed = list(self._followed)
        for exchange in followed:
            exchange.close()
        for one in resting:
            one.connection.close()

    def connect(self, deadline: Deadline) -> Connection:
        return Connection.open(self.address, self._context, deadline)

    def answer_server(self, exchange: _Exchange, deadline: Deadline) -> None:
        """Answer the server's own requests in the stream, or it would wait for us as we do for
        it."""
        for message in exchange.answer.take_unasked():
            settled = self._offer(message, exchange.listener)
            body = None if settled else self._answer_to(message)
            if body is not None:
                reply = self._answering(exchange.outgoing, body)
                self._exchange(reply, deadline.at_most(_SERVER_REQUEST_SECONDS))

    def put_back(self, connection: Connection, reader: ResponseReader, *, mid_stream: bool) -> None:
        """Keep a connection whose answer has ended, or (`mid_stream`) may have by the time it is
        needed again.

        To close a stream is to cancel its request, so that is done at once to those that were given
        up.
        """
        if not reader.keep_alive or reader.surplus or not (reader.done or mid_stream):
            connection.close()
            return
        with self._lock:
            if not self._closed:
                self._resting.append(_Resting(connection, reader, now()))
            surplus = [self._resting.pop(0)] if len(self._resting) > _KEPT_CONNECTIONS else []
        if self._closed:
            connection.close()
        for one in surplus:
            one.connection.close()

    def _prepare(
        self,
        outgoing: Outgoing,
        listener: RequestListener | None = None,
        *,
        is_stream: bool = False,
    ) -> _Exchange:
        outgoing = self._with_headers(outgoing)
        payload = compose_request(
            outgoing.http_method, self.address.target, outgoing.headers, outgoing.body
        )
        return _Exchange(self, outgoing, payload=payload, listener=listener, is_stream=is_stream)

    def _try_to_send(self, exchange: _Exchange, deadline: Deadline, *, anew: bool = False) -> None:
        try:
            self._send(exchange, deadline, anew=anew)
        except ConnectFailedError as problem:
            exchange.answer.cut(Outcome.UNREACHABLE, str(problem))
        except TimeoutError:
            exchange.answer.cut(
                Outcome.NO_ANSWER, f"the request was not taken within {deadline.in_words}"
            )
        except OSError:
            # Closed while we were sending. It may have answered first, which reading will show.
            pass

    def _send(self, exchange: _Exchange, deadline: Deadline, *, anew: bool) -> None:
        """`anew`: on a new connection in any case."""
        connection = exchange.connection = None if anew else self._take_resting()
        if connection is not None:
            try:
                taken = connection.send(exchange.payload, deadline)
            except TimeoutError:
                raise
            except OSError:
                # Nothing of the request left this machine, so that sending it again cannot run it
                # twice.
                connection.close()
                connection = exchange.connection = None
        if connection is None:
            connection = exchange.connection = self.connect(deadline)
            taken = connection.send(exchange.payload, deadline)
        if taken < len(exchange.payload):
            connection.send_all(exchange.payload[taken:], deadline)

    def _take_resting(self) -> Connection | None:
        """A connection that is still open and quiet."""
        while True:
            with self._lock:
                if not self._resting:
                    return None
                resting = self._resting.pop()
            if now() - resting.since < _IDLE_SECONDS and _is_quiet(resting):
                return resting.connection
            resting.connection.close()


def last_byte_race(
    runners: Sequence[tuple[HttpTransport, Outgoing]], deadline: Deadline
) -> list[Reply]:
    """Everything but the last byte of each request on a connection of its own, then the last bytes
    back to back.

    The transports may be different ones: replicas of one service.
    """
    exchanges = [transport._prepare(outgoing) for transport, outgoing in runners]
    for exchange in exchanges:
        try:
            exchange.connection = exchange.transport.connect(deadline)
            exchange.connection.send_all(exchange.payload[:-1], deadline)
        except ConnectFailedError as problem:
            exchange.answer.cut(Outcome.UNREACHABLE, str(problem))
        except TimeoutError:
            exchange.answer.cut(Outcome.NO_ANSWER, "the request was not taken in time")
        except OSError:
            pass  # reading shows whether it was answered before it was closed
    waiting = {
        e.connection: e for e in exchanges if e.connection is not None and e.answer.reply is None
    }
    # Ends early if a server answers before it has read all.
    wait_readable(list(waiting), min(_SETTLE_SECONDS, deadline.left()))
    last_bytes = [(connection, one.payload[-1:]) for connection, one in waiting.items()]
    for connection in waiting:
        connection.socket.setblocking(False)  # not between the bytes, where it would take time
    for connection, byte in last_bytes:
        with contextlib.suppress(OSError):
            connection.socket.send(byte)
    for connection in waiting:
        connection.acknowledge_at_once()
    while waiting and not deadline.passed:
        for connection in wait_readable(list(waiting), deadline.left()):
            exchange = waiting[connection]
            try:
                data = connection.receive_ready()
            except OSError as problem:
                exchange.answer.cut(Outcome.CLOSED, problem.strerror or "broken")
                data = None
            if data is not None:
                exchange.take(data)
            exchange.transport.answer_server(exchange, deadline)
            if exchange.answer.reply is not None:
                del waiting[connection]
    for exchange in waiting.values():
        exchange.answer.cut(Outcome.NO_ANSWER, f"nothing within {deadline.in_words}")
    return [exchange.conclude() for exchange in exchanges]


def _is_quiet(resting: _Resting) -> bool:
    """Whether the last answer has ended and the server has neither closed nor said anything
    since."""
    try:
        for _ in range(_DRAINED_PIECES):
            data = resting.connection.receive_ready()
            if data is None:
                return resting.reader.done and not resting.reader.surplus
            if not data or resting.reader.done:
                return False
            resting.reader.feed(data)
    except (OSError, MalformedResponseError):
        pass
    return False
