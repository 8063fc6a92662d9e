"""What every transport offers, and the part of it that is the same for all.

Knows nothing of MCP: a transport carries the bytes it is given and tells what came back.
"""

import abc
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.exchanges import (
    SECRET_HEADERS,
    Excerpt,
    Exchange,
    without_secrets,
)
from pytest_mcp_approval.wire.answer import Answer
from pytest_mcp_approval.wire.errors import address_of
from pytest_mcp_approval.wire.inbox import RequestListener, Switchboard
from pytest_mcp_approval.wire.messages import Message, MessageKind, Outgoing, answer_to
from pytest_mcp_approval.wire.patience import NOT_ASKED, allowed_by_patience, current_patience
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply, show_json

_KEPT_OF_A_METHOD = 200


class Underway(abc.ABC):
    """A request that was sent, and whose end its listener will be told of."""

    outgoing: Outgoing
    """What was sent, with all its headers."""
    can_hang_up = True
    """Whether `close` takes the connection from the server, which can notice that."""

    @abc.abstractmethod
    def close(self) -> None:
        """Wait for nothing more. The listener is told, unless it was. A second time does
        nothing."""

    def explain(self, reply: Reply) -> Reply:
        """An end with what more can be found out about it; may take a moment."""
        return reply


class Transport(abc.ABC):
    """A way to a server. May be used by several threads at once, and by several sessions in
    turn."""

    limit = 8 * 1024 * 1024
    """Bytes of one answer that are read before it counts as too large."""
    _hidden_headers = SECRET_HEADERS
    shared_board: Switchboard | None = None
    """Who gets the server's requests, where all sessions share one channel."""
    shared_ids: "itertools.count[int] | None" = None
    """Ids for all sessions, where they share one channel."""

    @property
    @abc.abstractmethod
    def place(self) -> str:
        """Where the server is, for messages."""

    @abc.abstractmethod
    def start(self, deadline: Deadline) -> None:
        """Be ready to exchange, or raise a `WireError`; a second time does nothing."""

    def exchange(self, outgoing: Outgoing, deadline: Deadline) -> Reply:
        """Send, and tell what came of it. Never raises for anything that the server does."""
        allowed = allowed_by_patience(outgoing, deadline)
        return self._not_asked(outgoing) if allowed is None else self._exchange(outgoing, allowed)

    def exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        """Send all as nearly at once as this transport can; the replies are in the order of the
        requests."""
        allowed = allowed_by_patience(outgoing[0], deadline) if outgoing else deadline
        if allowed is None:
            return [self._not_asked(one) for one in outgoing]
        return self._exchange_together(outgoing, allowed)

    def _exchange(self, outgoing: Outgoing, deadline: Deadline) -> Reply:
        """What `exchange` promises."""
        return self._exchange_together([outgoing], deadline)[0]

    @abc.abstractmethod
    def _exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        """What `exchange_together` promises."""

    @abc.abstractmethod
    def begin(
        self,
        outgoing: Outgoing,
        listener: RequestListener,
        deadline: Deadline,
        life: Deadline,
        *,
        is_stream: bool = False,
    ) -> Underway:
        """Send within `deadline` and return; the listener is told what comes of it, at the end of
        `life` at the latest. Recording the exchange and asking for patience are the caller's part,
        since they belong to the caller's thread.

        With `is_stream` all that comes is for the listener, until the stream ends.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Leave nothing behind. A second time does nothing."""

    def end_session(self, outgoing: Outgoing, deadline: Deadline) -> Reply | None:
        """Tell the server that a session is over; None if the transport has no way to say so."""
        del outgoing, deadline
        return None

    def restart(self, deadline: Deadline) -> bool:
        """Begin anew with a fresh server, if this transport owns it; says whether it did."""
        del deadline
        return False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _conclude(
        self,
        outgoing: Outgoing,
        reply: Reply,
        started: float,
        received: bytes | bytearray | None = None,
    ) -> Reply:
        """Stamp the time, record the exchange, hand the reply on."""
        reply = replace(reply, seconds=now() - started)
        self.record(outgoing, reply, started, received)
        patience = current_patience()
        if patience is not None and outgoing.http_method != "DELETE":
            patience.heard(outgoing, reply)
        return reply

    def record(
        self,
        outgoing: Outgoing,
        reply: Reply,
        started: float,
        received: bytes | bytearray | None = None,
    ) -> None:
        """Keep an exchange that has ended for the report."""
        recording.add(
            Exchange(
                method=outgoing.method,
                sent=Excerpt.of(outgoing.body),
                received=Excerpt.of(reply.raw if received is None else received),
                outcome=reply.outcome.value,
                detail=reply.detail,
                status=reply.status,
                request_headers=without_secrets(outgoing.headers, self._hidden_headers),
                response_headers=without_secrets(reply.headers, self._hidden_headers),
                started=started,
                seconds=reply.seconds,
            )
        )

    def _not_asked(self, outgoing: Outgoing) -> Reply:
        return self._conclude(outgoing, Reply(Outcome.NO_ANSWER, detail=NOT_ASKED), now())

    def _answer_to(self, request: Message) -> bytes | None:
        """The answer to a request from the server, which is recorded; None if it cannot be
        answered."""
        answer = answer_to(request)
        what = "a request from the server"
        if answer is None:
            what += f", under the id {show_json(request.id, 40)}, which cannot be answered"
        self.overheard(request, request.raw, what, answer or b"")
        return answer

    def _offer(self, message: Message, listener: RequestListener | None) -> bool:
        """Whether this is settled: the listener takes it, or no answer is due."""
        taken = listener is not None and listener.offer(message)
        if message.kind is MessageKind.REQUEST:
            if taken:
                self.overheard(message, message.raw, "a request from the server")
            return taken
        if listener is not None:
            self.overheard(message, message.raw, f"a {message.kind.value} of the server's")
        return True

    def overheard(
        self, message: Message | None, raw: bytes, detail: str, answer: bytes = b""
    ) -> None:
        """Record what the server said unasked, and what it was told."""
        method = message.method[:_KEPT_OF_A_METHOD] if message is not None else ""
        recording.add(Exchange(method, Excerpt.of(answer), Excerpt.of(raw), None, detail, now()))


class HttpLikeTransport(Transport):
    """What the transports that speak HTTP share: an address, and headers of the user's own."""

    def __init__(self, url: str, headers: Mapping[str, str] | None) -> None:
        """`headers` go with every request, and reports do not show them."""
        self.address = address_of(url)
        self._own_headers: Headers = tuple((headers or {}).items())
        self._hidden_headers = SECRET_HEADERS.union(name.lower() for name, _ in self._own_headers)

    def end_session(self, outgoing: Outgoing, deadline: Deadline) -> Reply | None:
        return self._exchange(
            replace(outgoing, http_method="DELETE", body=b"", request_id=None), deadline
        )

    @staticmethod
    def _answering(meanwhile: Outgoing, body: bytes) -> Outgoing:
        """Our answer to a request of the server's that came in the answer to `meanwhile`."""
        headers = tuple(pair for pair in meanwhile.headers if pair[0].lower() != "accept")
        return Outgoing(body, None, headers=headers)

    def _finish(self, outgoing: Outgoing, answer: Answer, started: float) -> Reply:
        assert answer.reply is not None
        return self._conclude(outgoing, answer.reply, started, answer.received)

    def _with_headers(self, outgoing: Outgoing) -> Outgoing:
        given = {name.lower() for name, _ in outgoing.headers}
        usual = (
            ("Host", self.address.authority),
            ("User-Agent", "pytest-mcp-approval"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
            *self._own_headers,
        )
        headers = tuple(pair for pair in usual if pair[0].lower() not in given) + outgoing.headers
        # An empty value given by the caller means: without this header.
        return replace(outgoing, headers=tuple(pair for pair in headers if pair[1]))
