"""What every transport offers, and the part of it that is the same for all.

Knows nothing of MCP: a transport carries the bytes it is given and tells what came back.
"""

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.exchanges import (
    SECRET_HEADERS,
    Excerpt,
    Exchange,
    without_secrets,
)
from pytest_mcp_approval.wire.messages import Message, RequestId, answer_to
from pytest_mcp_approval.wire.patience import current_patience
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply, show_json

DEFAULT_LIMIT = 8 * 1024 * 1024
"""Bytes of one answer that are read before it counts as too large."""

_KEPT_OF_A_METHOD = 200


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that is ready to be sent."""

    body: bytes
    request_id: RequestId | None
    """The id under which an answer is awaited; None for what gets no answer."""
    method: str = ""
    headers: Headers = field(default=(), repr=False)
    http_method: str = "POST"


class Transport(abc.ABC):
    """A way to a server. May be used by several threads at once, and by several sessions in
    turn."""

    def __init__(self, *, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._hidden_headers = SECRET_HEADERS

    @property
    @abc.abstractmethod
    def place(self) -> str:
        """Where the server is, for messages."""

    @abc.abstractmethod
    def start(self, deadline: Deadline) -> None:
        """Be ready to exchange; a second time does nothing. Raises a `WireError` if that cannot
        be."""

    def exchange(self, outgoing: Outgoing, deadline: Deadline) -> Reply:
        """Send, and tell what came of it. Never raises for anything that the server does."""
        allowed = allowed_by_patience([outgoing], deadline)
        return self._not_asked(outgoing) if allowed is None else self._exchange(outgoing, allowed)

    def exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        """Send all as nearly at once as this transport can; the replies are in the order of the
        requests."""
        allowed = allowed_by_patience(outgoing, deadline)
        if allowed is None:
            return [self._not_asked(one) for one in outgoing]
        return self._exchange_together(outgoing, allowed)

    @abc.abstractmethod
    def _exchange(self, outgoing: Outgoing, deadline: Deadline) -> Reply:
        """What `exchange` promises."""

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
        record = recording.current()
        if record is not None:
            exchange = Exchange(
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
            record.add(started, exchange)
        patience = current_patience()
        if patience is not None and outgoing.http_method != "DELETE":
            patience.heard(
                outgoing.method, outgoing.body, outgoing.request_id, outgoing.headers, reply
            )
        return reply

    def _not_asked(self, outgoing: Outgoing) -> Reply:
        detail = "not asked any more, after so much silence"
        return self._conclude(outgoing, Reply(Outcome.NO_ANSWER, detail=detail), now())

    def _answer_to(self, request: Message) -> bytes | None:
        """What the server is told on a request of its own, which is recorded; None if it
        cannot be answered."""
        answer = answer_to(request)
        what = "a request of the server's"
        if answer is None:
            what += f", under the id {show_json(request.id, 40)}, which cannot be answered"
        self._overheard(request, request.raw, what, answer or b"")
        return answer

    def _overheard(
        self, message: Message | None, raw: bytes, detail: str, answer: bytes = b""
    ) -> None:
        """Record what the server said of its own accord, and what it was told."""
        record, started = recording.current(), now()
        if record is not None:
            exchange = Exchange(
                method=message.method[:_KEPT_OF_A_METHOD] if message is not None else "",
                sent=Excerpt.of(answer),
                received=Excerpt.of(raw),
                outcome=None,
                detail=detail,
                started=started,
            )
            record.add(started, exchange)


def allowed_by_patience(outgoing: Sequence[Outgoing], deadline: Deadline) -> Deadline | None:
    """How long may be waited, by the patience in force; None if there is no use in asking."""
    patience = current_patience()
    if patience is None or not outgoing:
        return deadline
    return patience.allow(outgoing[0].method, outgoing[0].body, deadline)


def accepted() -> Reply:
    return Reply(Outcome.ACCEPTED)
