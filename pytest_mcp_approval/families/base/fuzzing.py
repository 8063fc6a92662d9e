"""Sends an honest request with one change of its message, and says what a server owes then.

Whatever arrives: an answer, no internal error, and nothing run that nobody approved. Whether the
changed message still means the same is for the family to say. Knows no specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...wire import InProcessTransport, Reply, Session, StdioTransport
from ...wire.messages import to_json
from .message_changes import DEPTHS, CannotChangeError, Changed, change_body, change_params

Sender = Callable[[], Reply]
_DEEPEST_IN_PROCESS = 100
_DEEPEST_OVER_HTTP = 400


@dataclass(frozen=True)
class FuzzedRequest:
    """A changed request that is ready to be sent."""

    words: str
    send: Sender
    params: Any
    """What a reader finds in it; None if it is no JSON object with params."""
    ambiguous: bool
    path: tuple[str | int, ...]
    """Where it differs; empty if its bytes were changed as a whole."""


def fuzzed(
    session: Session, method: str, params: Mapping[str, Any], change: Mapping[str, Any]
) -> FuzzedRequest | None:
    """The request with this change; None if the change does not fit."""
    if change.get("kind") == "body":
        outgoing = session.prepare(method, params)
        body, words = change_body(outgoing.body, change)
        if body == outgoing.body:
            return None
        sent = replace(outgoing, body=body)
        return FuzzedRequest(
            f"{method}: {words}", lambda: session.exchange(sent), _params_in(body), False, ()
        )
    try:
        changed: Changed = change_params(params, change, deepest=_deepest(session))
        read = read_json(to_json(changed.params))
    except CannotChangeError:
        return None
    except (JsonError, ValueError, RecursionError):
        read = None
    if read == params and not changed.ambiguous:
        return None
    outgoing = session.prepare(method, changed.params)
    return FuzzedRequest(
        f"{method}: {changed.words}",
        lambda: session.exchange(outgoing),
        read,
        changed.ambiguous,
        changed.path,
    )


def _deepest(session: Session) -> int:
    """How deep something may be nested. Hypothesis changes the interpreter's recursion limit, which
    ends the process if another thread of it, here the server's, is far down at that moment."""
    if isinstance(session.transport, StdioTransport):
        return DEPTHS[-1]
    in_this_process = isinstance(session.transport, InProcessTransport)
    # Over HTTP it may be in this process, too: the reference server is.
    return _DEEPEST_IN_PROCESS if in_this_process else _DEEPEST_OVER_HTTP


def _params_in(body: bytes) -> Any:
    try:
        message = read_json(body)
    except JsonError:
        return None
    return message.get("params") if isinstance(message, dict) else None
