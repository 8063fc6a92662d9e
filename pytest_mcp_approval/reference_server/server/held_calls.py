"""Calls that stay open: a question to the client inside a call, or a wait for something beside it.

An extension gives a `HeldCall` in the place of a result. The server asks, waits, and goes on with
`then`, which may hold the call again (`conversation`). Knows no family and no transport.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any


class ReplyKind(StrEnum):
    """How the waiting ended."""

    ANSWERED = "answered"
    """With a result of the client's, whatever is in it."""
    ERROR = "error"
    """The client answered with an error; or the connection ended, which looks alike."""
    READY = "ready"
    """What was waited for beside the conversation is there."""
    SILENT = "silent"
    """Nothing within the patience."""
    GONE = "gone"
    """The call was cancelled, its connection cut, or its session ended."""
    UNREACHABLE = "unreachable"
    """Nothing can be asked on this connection."""


@dataclass(frozen=True)
class ClientReply:
    """What came of it; `result` and `error` as they came."""

    kind: ReplyKind
    result: Any = None
    error: Any = None


@dataclass(frozen=True)
class ServerMessage:
    """A request or notification to the client."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class HeldCall:
    """The call is not over. Every function is called in a thread."""

    then: Callable[[ClientReply], Any]
    """What comes next: a result, or another held call. After a cancelled call its result goes
    nowhere, but it is called all the same."""
    patience: timedelta
    question: ServerMessage | None = None
    """A request to the client, inside this call."""
    ready: Callable[[], bool] | None = None
    """Looked at now and then; true ends the waiting."""
    news: Callable[[], ServerMessage | None] | None = None
    """Looked for now and then; a notification goes to the client on the stream of this call."""
