"""Standard input and output of a child process: each message one line.

Knows nothing of MCP's methods or revisions. Answers are routed by their id, so that several
requests can be under way; what comes unasked goes into the recording.
"""

import itertools
import shlex
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_mcp_approval.support.child import Child
from pytest_mcp_approval.support.command import CommandError
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.errors import BadAddressError, CommandFailedError
from pytest_mcp_approval.wire.inbox import RequestListener, Switchboard
from pytest_mcp_approval.wire.messages import (
    Message,
    MessageKind,
    NotAMessageError,
    Outgoing,
    RequestId,
    parse_message,
)
from pytest_mcp_approval.wire.reply import Outcome, Reply, read_response
from pytest_mcp_approval.wire.transport import Transport, Underway

_ECHO = "the request itself came back: this command repeats what it reads"
_ONE_ID = "two requests cannot wait for answers under one id"
_EXPLAIN_SECONDS = 2.0
_MOST_UNREAD = 1000
"""Messages that wait for the command to read on."""


class _Waiting:
    """A request that waits for its answer."""

    __slots__ = ("_done", "_listener", "outgoing", "reply", "started", "stray")

    def __init__(self, outgoing: Outgoing, listener: RequestListener | None = None) -> None:
        self.outgoing = outgoing
        self._listener = listener
        self.started = now()
        self.reply: Reply | None = None
        self.stray: Reply | None = None
        """What came meanwhile and is no answer; all there is to tell if no answer comes."""
        # A bare lock, held until there is a reply, wakes faster than an Event.
        self._done = threading.Lock()
        self._done.acquire()

    def settle(self, reply: Reply) -> None:
        if self.reply is None:
            self.reply = reply
            self._done.release()
            if self._listener is not None:
                self._listener.ended(reply, reply.raw)

    @property
    def is_open_call(self) -> bool:
        return self._listener is not None

    def wait(self, deadline: Deadline) -> bool:
        return self._done.acquire(timeout=deadline.left())


class _Open(Underway):
    """An open call: the child's reading thread tells of its end."""

    can_hang_up = False
    """All share the one pipe: closing it would end the server."""

    def __init__(self, transport: "StdioTransport", waiting: _Waiting) -> None:
        self.outgoing = waiting.outgoing
        self._transport = transport
        self._waiting = waiting

    def close(self) -> None:
        self._transport.forget(self._waiting)

    def explain(self, reply: Reply) -> Reply:
        return self._transport.explain_end(self._waiting, reply, Deadline(_EXPLAIN_SECONDS))


class StdioTransport(Transport):
    """A command that speaks MCP on its standard input and output.

    Requests that are sent together are one write. A server that reads line by line may still take
    them one by one, so a race that finds nothing is weak evidence.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        directory: str | Path | None = None,
    ) -> None:
        """`environment` is added to our own."""
        if not command:
            raise BadAddressError("a command is needed")
        self._command = list(command)
        self._environment, self._directory = environment, directory
        self._child: Child | None = None
        self._ended = False
        self._lock = threading.Lock()
        self._waiting: dict[RequestId, _Waiting] = {}
        self._asked: set[RequestId] = set()
        self._outbox: deque[bytes] = deque()
        self._writing = threading.Lock()
        self._silent = False
        self._early: Reply | None = None
        """What it printed before it was asked, as long as it has said nothing proper."""
        self._has_spoken = False
        self.shared_board = self.board = Switchboard()
        self.shared_ids = itertools.count(1)

    @property
    def place(self) -> str:
        return neutralise(shlex.join(self._command), 80)

    @property
    def stderr_tail(self) -> bytes:
        """The last that the command wrote to standard error."""
        return self._child.stderr_tail if self._child is not None else b""

    @property
    def running(self) -> bool:
        """Whether the command was started, and not closed since."""
        return self._child is not None

    def start(self, deadline: Deadline) -> None:
        del deadline  # starting does not wait; the first exchange does
        if self._child is None:
            self._ended = self._has_spoken = False
            self._early = None
            try:
                self._child = Child(
                    self._command,
                    environment=self._environment,
                    directory=self._directory,
                    limit=self.limit,
                    on_line=self._take_line,
                    on_too_long=self._take_too_long,
                    on_end=self._take_end,
                )
            except CommandError as problem:
                raise CommandFailedError(str(problem)) from None

    def restart(self, deadline: Deadline) -> bool:
        self.close()
        self.start(deadline)
        return True

    def kill(self) -> bool:
        """End the command at once, without a word; whether it ran and is gone."""
        return self._child is not None and self._child.kill()

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop(hurried=self._silent or self._ended)
            self._silent = False
            self._outbox.clear()
            self._asked.clear()
            self._take_end()  # open calls whose end the reading thread did not tell

    def _exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        waiting = [_Waiting(one) for one in outgoing]
        asking = [
            (one.outgoing.request_id, one) for one in waiting if one.outgoing.request_id is not None
        ]
        by_id = dict(asking)
        if len(by_id) < len(asking):
            raise ValueError(_ONE_ID)
        self._await(by_id)
        written = self._write(b"".join(one.outgoing.body + b"\n" for one in waiting), deadline)
        for one in waiting:
            if one.outgoing.request_id is None and written:
                one.settle(Reply(Outcome.ACCEPTED))
            elif written:
                one.wait(deadline)
        with self._lock:
            for request_id in by_id:
                del self._waiting[request_id]  # from here on nobody else settles it
        return [self._end(one, written, deadline) for one in waiting]

    def begin(
        self,
        outgoing: Outgoing,
        listener: RequestListener,
        deadline: Deadline,
        life: Deadline,  # noqa: ARG002  # nothing of ours has to be ended
        *,
        is_stream: bool = False,
    ) -> Underway:
        if is_stream or outgoing.request_id is None:
            raise ValueError("on stdio nothing but a request can be under way")
        one = _Waiting(outgoing, listener)
        self._await({outgoing.request_id: one})
        if not self._write(outgoing.body + b"\n", deadline):
            self._drop(one)
            one.settle(self._how_it_ended(one, False, deadline))
        return _Open(self, one)

    def forget(self, one: _Waiting) -> None:
        """Wait no longer for the end of an open call."""
        self._drop(one)
        one.settle(Reply(Outcome.NO_ANSWER, detail="not awaited any longer"))

    def _await(self, by_id: Mapping[RequestId, _Waiting]) -> None:
        with self._lock:
            if not self._waiting.keys().isdisjoint(by_id):
                raise ValueError(_ONE_ID)
            self._waiting.update(by_id)
            self._asked.update(by_id)

    def _drop(self, one: _Waiting) -> None:
        with self._lock:
            self._waiting = {key: each for key, each in self._waiting.items() if each is not one}

    def _end(self, one: _Waiting, written: bool, deadline: Deadline) -> Reply:
        reply = self._how_it_ended(one, written, deadline)
        # A server that hangs, or is writing a line without an end, does not leave when asked to.
        self._silent = reply.outcome in (Outcome.NO_ANSWER, Outcome.TOO_LARGE)
        return self._conclude(one.outgoing, reply, one.started)

    def _how_it_ended(self, one: _Waiting, written: bool, deadline: Deadline) -> Reply:
        reply = one.reply
        if reply is None and self._ended:
            reply = Reply(Outcome.CLOSED)
        if reply is None and not written:
            silence = f"it read nothing from its standard input for {deadline.in_words}"
            reply = Reply(Outcome.NO_ANSWER, detail=silence)
        if reply is None:
            silence = f"nothing within {deadline.in_words}"
            reply = one.stray or self._early or Reply(Outcome.NO_ANSWER, detail=silence)
        return self.explain_end(one, reply, deadline)

    def explain_end(self, one: _Waiting, reply: Reply, deadline: Deadline) -> Reply:
        """`reply` with the reason, if the command has gone."""
        if reply.outcome is not Outcome.CLOSED or reply.detail:
            return reply
        child = self._child
        why = child.explain_exit(deadline) if child is not None else "not started, or stopped"
        return replace(
            one.stray or reply, detail=f"{one.stray.detail}; {why}" if one.stray else why
        )

    def _write(self, data: bytes, deadline: Deadline) -> bool:
        """Queue and write; says whether all of it left in time."""
        self._outbox.append(data)
        while self._outbox:
            if not self._writing.acquire(timeout=deadline.left()):
                return False
            try:
                if not self._write_outbox(deadline):
                    return False
            finally:
                self._writing.release()
        return True

    def _write_outbox(self, deadline: Deadline) -> bool:
        child = self._child
        if child is None or self._ended:
            self._ended = True
            self._outbox.clear()
            return False
        while self._outbox:
            data = self._outbox[0]
            try:
                taken = child.write(data, deadline)
            except OSError:
                self._outbox.clear()
                self._ended = True  # nobody reads any more, but what was said before still counts
                return False
            if taken < len(data):
                # The rest goes out first next time, or the next message would begin in the middle
                # of this one.
                self._outbox[0] = data[taken:]
                return False
            self._outbox.popleft()
        return True

    # What follows runs in the child's reading thread.

    def _take_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse_message(line)
        except NotAMessageError as problem:
            # A server that prints to its standard output is untidy, but may still answer.
            self.overheard(None, line, f"not a message: {problem}")
            self._stray(Reply(Outcome.GARBAGE, line, detail=str(problem)), alone=False)
            return
        self._early, self._has_spoken = None, True
        match message.kind:
            case MessageKind.RESPONSE:
                self._take_response(message)
            case MessageKind.REQUEST if self._is_echo(message, line):
                # Its answer would come back too, and be taken for the server's.
                self._stray(Reply(Outcome.GARBAGE, line, detail=_ECHO), alone=True)
            case MessageKind.REQUEST if self.board.offer(message, "stdio"):
                self.overheard(message, line, "a request from the server")
            case MessageKind.REQUEST:
                answer = self._answer_to(message)
                # One that asks without end may never read.
                if answer is not None and len(self._outbox) < _MOST_UNREAD:
                    self._write(answer + b"\n", Deadline(0))
            case MessageKind.NOTIFICATION:
                self.overheard(message, line, "a notification")
                self.board.tell(message)

    def _is_echo(self, message: Message, line: bytes) -> bool:
        """Whether this is one of our waiting requests, word for word."""
        key = message.id if type(message.id) in (int, str) else None
        with self._lock:
            one = self._waiting.get(key) if key is not None else None
        return one is not None and line.strip() == one.outgoing.body.strip()

    def _take_response(self, message: Message) -> None:
        key = message.id if type(message.id) in (int, str) else None
        with self._lock:
            one = self._waiting.get(key) if key is not None else None
            if one is not None:
                self._settle(one, read_response(message, one.outgoing.request_id))
                return
            late = key is not None and key in self._asked
        self.overheard(
            message, message.raw, "a late or second answer" if late else "an answer to nothing"
        )
        if not late:
            self._stray(read_response(message, None), alone=True)

    def _stray(self, reply: Reply, *, alone: bool) -> None:
        """Something came that is not an answer. With `alone`, if only one request waits, it is
        taken to be for that one; but never for an open call, since it may be a remark on how we
        answered the server's question."""
        with self._lock:
            waiting = [one for one in self._waiting.values() if not one.is_open_call]
            for one in self._waiting.values():
                one.stray = one.stray or reply
            if not self._waiting and not self._has_spoken:
                self._early = self._early or reply
            if alone and len(waiting) == 1:
                waiting[0].settle(reply)

    def _settle(self, one: _Waiting, reply: Reply) -> None:
        """The caller locks. Nobody takes an open call out of the list later."""
        if one.is_open_call:
            del self._waiting[one.outgoing.request_id]  # type: ignore[arg-type]
        one.settle(reply)

    def _take_too_long(self, beginning: bytes) -> None:
        detail = f"more than {self.limit} bytes in one line"
        with self._lock:
            for one in list(self._waiting.values()):
                self._settle(one, Reply(Outcome.TOO_LARGE, beginning, detail=detail))

    def _take_end(self) -> None:
        with self._lock:
            self._ended = True
            for one in list(self._waiting.values()):
                self._settle(one, Reply(Outcome.CLOSED))
