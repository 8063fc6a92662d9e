"""Requests that reach a server as nearly at once as their transport allows.

Knows nothing of what is raced for.
"""

from collections.abc import Sequence

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire.messages import Outgoing
from pytest_mcp_approval.wire.over_http import HttpTransport, last_byte_race
from pytest_mcp_approval.wire.patience import allowed_by_patience
from pytest_mcp_approval.wire.reply import Reply
from pytest_mcp_approval.wire.session import Session

Call = Outgoing | tuple[str, object]
"""A prepared request, or a method and its params."""


def race(session: Session, calls: Sequence[Call]) -> list[Reply]:
    """Send all `calls` at once in one session; the replies are in the order of the calls."""
    prepared = [_prepare(session, call) for call in calls]
    return session.transport.exchange_together(prepared, Deadline(session.deadline))


def race_replicas(calls: Sequence[tuple[Session, Call]]) -> list[Reply]:
    """Send all calls at once to several servers, over HTTP: replicas that share a store."""
    runners = []
    for session, call in calls:
        if not isinstance(session.transport, HttpTransport):
            raise ValueError("replicas are raced over HTTP only")
        runners.append((session.transport, _prepare(session, call)))
    # Where there is no use in asking, a deadline that has passed says so for each of them.
    deadline = Deadline(calls[0][0].deadline)
    return last_byte_race(runners, allowed_by_patience(runners[0][1], deadline) or Deadline(0))


def _prepare(session: Session, call: Call) -> Outgoing:
    return call if isinstance(call, Outgoing) else session.prepare(*call)
