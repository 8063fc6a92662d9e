"""What every transport offers, and the part of it that is the same for all.

Knows nothing of MCP: a transport carries the bytes it is given and tells what came back.
"""

import abc
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
from pytest_mcp_approval.wire.messages import Message, Outgoing, answer_to
from pytest_mcp_approval.wire.patience import NOT_ASKED, allowed_by_patience, current_patience
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply, show_json

_KEPT_OF_A_METHOD = 200


class Transport(abc.ABC):
    """A way to a server. May be used by several threads at once, and by several sessions in
    turn."""

    limit = 8 * 1024 * 1024
    """Bytes of one answer that are read before it counts as too large."""
    _hidden_headers = SECRET_HEADERS

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
    def close(self) -> None:
        """Leave nothing behind. A second time does nothing."""

    def end_session(self, outgoing: Outgoing, deadline: Deadline) -> None:
        """Tell the server that a session is over, where the transport has a way to say so."""
        del outgoing, deadline

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
        patience = current_patience()
        if patience is not None and outgoing.http_method != "DELETE":
            patience.heard(outgoing, reply)
        return reply

    def _not_asked(self, outgoing: Outgoing) -> Reply:
        return self._conclude(outgoing, Reply(Outcome.NO_ANSWER, detail=NOT_ASKED), now())

    def _answer_to(self, request: Message) -> bytes | None:
        """The answer to a request from the server, which is recorded; None if it cannot be
        answered."""
        answer = answer_to(request)
        what = "a request from the server"
        if answer is None:
            what += f", under the id {show_json(request.id, 40)}, which cannot be answered"
        self._overheard(request, request.raw, what, answer or b"")
        return answer

    def _overheard(
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

    def end_session(self, outgoing: Outgoing, deadline: Deadline) -> None:
        self._exchange(replace(outgoing, http_method="DELETE", body=b"", request_id=None), deadline)

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
