"""What is fetched beside the conversation: effects, audit logs.

It belongs to the server under test, so that the patience in force decides how long it may take,
and is told where it broke off. Knows nothing of what is fetched.
"""

from collections.abc import Mapping

from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.fetch import (
    ClosedError,
    Fetched,
    FetchError,
    NoAnswerError,
    NotConnectedError,
    fetch,
)
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.messages import Outgoing
from pytest_mcp_approval.wire.patience import NOT_ASKED, allowed_by_patience, current_patience
from pytest_mcp_approval.wire.reply import Outcome, Reply

_ENDS: dict[type[FetchError], Outcome] = {
    NotConnectedError: Outcome.UNREACHABLE,
    NoAnswerError: Outcome.NO_ANSWER,
    ClosedError: Outcome.CLOSED,
}


def fetch_beside(
    what: str, url: str, *, seconds: float, headers: Mapping[str, str], limit: int
) -> Fetched:
    """An answer with a status of success, or a `FetchError`. `what` is a short name for it."""
    asking, patience, started = Outgoing(b"", None, what), current_patience(), now()
    deadline = allowed_by_patience(asking, Deadline(seconds))
    if deadline is None:
        raise NoAnswerError(NOT_ASKED)
    try:
        answer = fetch(url, seconds=deadline.left(), headers=headers, limit=limit)
    except FetchError as error:
        outcome = _ENDS.get(type(error))
        if patience is not None and outcome is not None:
            reply = Reply(outcome, detail=str(error), seconds=now() - started)
            patience.heard(asking, reply)
        raise
    if not answer.ok:
        said = neutralise(answer.body.strip(), 80)
        raise FetchError(f"{answer.describe()}{': ' if said else ''}{said}")
    return answer
