"""A session's own stream: what a server says outside of the answers to calls.

Knows nothing of what is said. Over HTTP it is the answer to a GET, which a server may refuse, and
may end whenever it likes: neither is a fault, so patience is not asked and not told.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Self

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.wire.inbox import Kept, Switchboard
from pytest_mcp_approval.wire.messages import Message, MessageKind, Outgoing
from pytest_mcp_approval.wire.reply import Outcome, Reply
from pytest_mcp_approval.wire.transport import Transport, Underway

_HEAD_SECONDS = 1.0
"""How long it is waited for the head of the answer: some servers send it with the first event."""


class SessionStream:
    """`Session.listen` makes one. Closing it ends the stream."""

    def __init__(
        self,
        transport: Transport,
        usual: Outgoing,
        board: Switchboard,
        deadline: float,
        longest: float,
    ) -> None:
        self._transport = transport
        self._board = board
        self._outgoing = replace(usual, http_method="GET", method="session stream")
        self._kept = Kept()
        self._changed = threading.Condition()
        self._recording = recording.current()
        self._started = now()
        self._head: Reply | None = None
        self._end: Reply | None = None
        self._received = b""
        self._closed = False
        self._underway: Underway | None = None
        if transport.shared_board is not None:
            board.tap(self._keep)
            return
        sending = Deadline(deadline)
        self._underway = transport.begin(
            self._outgoing, self, sending, Deadline(longest), is_stream=True
        )
        self._outgoing = self._underway.outgoing
        with self._changed:
            self._wait_until(self._is_settled, sending.at_most(_HEAD_SECONDS))

    @property
    def is_open(self) -> bool:
        """Whether more may come: neither refused, nor ended by anybody."""
        return not self._closed and self._end is None

    @property
    def reply(self) -> Reply | None:
        """The refusal or the end; before that the status and headers, if the server has sent them.
        None on stdio."""
        return self._end or self._head

    def notifications(self, deadline: float = 0.0, *, at_least: int = 1) -> list[Message]:
        """Those that came so far; waits up to `deadline` seconds for so many."""

        def is_enough() -> bool:
            return len(self._kept.messages) >= at_least or not self.is_open

        with self._changed:
            self._wait_until(is_enough, Deadline(deadline))
            return list(self._kept.messages)

    def close(self) -> None:
        """A second time does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._underway is None:
            self._board.end_tap(self._keep)
            return
        self._underway.close()
        if recording.current() is self._recording:
            reply = self.reply or Reply(Outcome.NO_ANSWER, detail="nothing came")
            reply = replace(reply, seconds=now() - self._started)
            self._transport.record(self._outgoing, reply, self._started, self._received)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What the transport tells.

    def offer(self, message: Message) -> bool:
        if message.kind is MessageKind.REQUEST:
            return self._board.offer(message, "session")
        if message.kind is MessageKind.NOTIFICATION:
            self._board.tell(message)
            self._keep(message)
        return True

    def began(self, reply: Reply) -> None:
        with self._changed:
            self._head = reply
            self._changed.notify_all()

    def ended(self, reply: Reply, received: bytes) -> None:
        with self._changed:
            if self._closed:
                reply = replace(reply, outcome=Outcome.ACCEPTED, detail="closed by this client")
            self._end, self._received = reply, received
            self._changed.notify_all()

    def _keep(self, message: Message) -> None:
        with self._changed:
            self._kept.add(message)
            self._changed.notify_all()

    def _wait_until(self, holds: Callable[[], bool], deadline: Deadline) -> None:
        # Not `wait_for`, whose clock somebody may have frozen.
        while not holds() and (left := deadline.left()) > 0:
            self._changed.wait(left)

    def _is_settled(self) -> bool:
        if self._end is not None or self._head is None:
            return self._end is not None
        kind = self._head.header("content-type") or ""
        return self._head.status == 200 and kind.lower().startswith("text/event-stream")
