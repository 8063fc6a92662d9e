"""Requests that reach a server as nearly at once as their transport allows.

Knows nothing of what is raced for. A race that finds nothing proves as much as its strength says,
so the strength comes with the replies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire.over_http import HttpTransport, last_byte_race
from pytest_mcp_approval.wire.reply import Reply
from pytest_mcp_approval.wire.session import Session
from pytest_mcp_approval.wire.transport import (
    Outgoing,
    Simultaneity,
    allowed_by_patience,
)

Call = Outgoing | tuple[str, object]
"""A prepared request, or a method and its params."""


@dataclass(frozen=True, slots=True)
class Race:
    """The replies in the order of the calls, and how close together the requests were."""

    replies: tuple[Reply, ...]
    strength: Simultaneity

    def __iter__(self) -> Iterator[Reply]:
        return iter(self.replies)

    def __len__(self) -> int:
        return len(self.replies)


def race(session: Session, calls: Sequence[Call], *, deadline: float | None = None) -> Race:
    """Send all `calls` at once in one session."""
    seconds = session.deadline if deadline is None else deadline
    replies = session.transport.exchange_together(
        [_prepare(session, call) for call in calls], Deadline(seconds)
    )
    return Race(tuple(replies), session.transport.simultaneity)


def race_replicas(calls: Sequence[tuple[Session, Call]], *, deadline: float) -> Race:
    """Send all calls at once to several servers, over HTTP: replicas that share a store."""
    runners = []
    for session, call in calls:
        if not isinstance(session.transport, HttpTransport):
            raise ValueError("replicas are raced over HTTP only")
        runners.append((session.transport, _prepare(session, call)))
    # Where there is no use in asking, a deadline that has passed says so for each of them.
    allowed = allowed_by_patience([one for _, one in runners], Deadline(deadline)) or Deadline(0)
    return Race(tuple(last_byte_race(runners, allowed)), Simultaneity.LAST_BYTE)


def _prepare(session: Session, call: Call) -> Outgoing:
    return call if isinstance(call, Outgoing) else session.prepare(*call)
