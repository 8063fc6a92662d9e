"""A call that stays open while its server puts requests to the client: the client's role.

Knows nothing of what is asked or of who answers. Synchronous for its caller, who alone records and
asks for patience: the threads of the transports only put into the inbox.

Whose turn it is decides what silence means. While a request of the server's is open, it waits for
us; only otherwise do we wait for the server, and is patience asked and told.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Protocol, Self

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.wire.inbox import Inbox, ServerRequest, Switchboard
from pytest_mcp_approval.wire.messages import (
    Message,
    Outgoing,
    RequestId,
    notification_bytes,
    response_bytes,
)
from pytest_mcp_approval.wire.patience import NOT_ASKED, Patience, current_patience, unwatched
from pytest_mcp_approval.wire.reply import Outcome, Reply
from pytest_mcp_approval.wire.transport import Transport

LONGEST_SECONDS = 300.0
"""After which a call ends that nobody ended."""
_KEPT_OF_A_METHOD = 100
HUNG_UP = "this client hung up"
LEFT_OUT: Any = object()
"""For members that an answer does not have; None is JSON's null."""


class Speaker(Protocol):
    """The part of a session that an open call needs."""

    @property
    def transport(self) -> Transport: ...

    @property
    def deadline(self) -> float: ...

    def prepare_bytes(
        self,
        body: bytes,
        request_id: RequestId | None,
        method: str,
        *,
        headers: Mapping[str, str | None] | None = None,
    ) -> Outgoing: ...

    def exchange(self, outgoing: Outgoing, deadline: float | None = None) -> Reply: ...


class OpenCall:
    """One call under way; `Session.open_call` makes one. Closing it gives it up. Several may be
    open at once; each is for one thread at a time."""

    def __init__(
        self,
        session: Speaker,
        outgoing: Outgoing,
        board: Switchboard,
        *,
        takes: Collection[str] | None = None,
        longest: float = LONGEST_SECONDS,
    ) -> None:
        self.outgoing = outgoing
        self._session = session
        self._inbox = Inbox(takes)
        self._recording = recording.current()
        self._started = now()
        self._reply: Reply | None = None
        self._expects_nothing = False
        self._hung_up = False
        self._recorded_silence = False
        self._waited = 0.0
        """Seconds for which the caller has waited in vain since it became the server's turn."""
        sending = self._allowed(session.deadline)[0]
        if sending is None:
            self._underway = None
            self._inbox.ended(Reply(Outcome.NO_ANSWER, detail=NOT_ASKED), b"")
            return
        self._inbox.join(board)
        try:
            self._underway = session.transport.begin(
                outgoing, self._inbox, sending, Deadline(longest)
            )
        except BaseException:
            board.remove(self._inbox)
            raise
        self.outgoing = self._underway.outgoing

    @property
    def request_id(self) -> RequestId | None:
        return self.outgoing.request_id

    @property
    def is_open(self) -> bool:
        """Whether the call has not ended yet."""
        return self._inbox.reply is None

    @property
    def reply(self) -> Reply | None:
        """How the call ended; None while it is open."""
        return self._finish()

    @property
    def notifications(self) -> list[Message]:
        """Those on the call's own stream; on stdio and the session's stream, where nothing says
        whose they are, those that came while it was open."""
        return self._inbox.notifications

    def next_request(
        self, deadline: float | None = None, *, due: bool | None = None
    ) -> ServerRequest | None:
        """The next request of the server's; None if the call ended first (see `reply`) or time is
        up. Who then gives up says so by `wait(0)`: from that on it is a request without an answer.

        `due`: whether the server has to do something now, so that its silence counts against it; by
        default it has, unless a request of its is open or the call was given up.
        """
        seconds = self._session.deadline if deadline is None else deadline
        allowed, patience = self._allowed(seconds, due)
        began = now()
        request = self._inbox.next_request(allowed or Deadline(0))
        if request is not None:
            self._waited = 0.0
        elif self._finish() is None and patience is not None:
            self._waited += now() - began
            patience.waited(now() - began)
        return request

    def wait(self, deadline: float | None = None, *, due: bool | None = None) -> Reply:
        """How the call ended; `NO_ANSWER` if it has not in time, and it may be waited for again.

        `due` as in `next_request`.
        """
        seconds = self._session.deadline if deadline is None else deadline
        allowed, patience = self._allowed(seconds, due)
        began = now()
        self._inbox.wait(allowed or Deadline(0))
        reply = self._finish()
        if reply is not None:
            return reply
        detail = f"nothing within {allowed.in_words}" if allowed is not None else NOT_ASKED
        reply = Reply(Outcome.NO_ANSWER, detail=detail, seconds=now() - began)
        if not self._recorded_silence:
            self._record(reply)
            self._recorded_silence = True
        if patience is not None:
            self._waited += reply.seconds
            patience.heard(self.outgoing, reply)
        return reply

    def answer(
        self,
        request: ServerRequest,
        *,
        result: object = LEFT_OUT,
        error: object = LEFT_OUT,
        raw: bytes | None = None,
        session: Speaker | None = None,
        deadline: float | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """Send an answer, from this session or another one, and tell what came of the sending: over
        HTTP it is a POST of its own.

        `result` or `error` (any JSON, `RawJson` too) under the request's id, or all of it as `raw`.
        Nothing is checked: it may be sent twice, late, or to a request of another call.
        """
        outgoing = self.prepare_answer(
            request, result=result, error=error, raw=raw, session=session, headers=headers
        )
        speaker = self._session if session is None else session
        is_due = self.is_open and request.is_open and not self._expects_nothing
        if raw is None and speaker is self._session and is_due:
            self.note_answer(request)
            return speaker.exchange(outgoing, deadline)
        # An answer that nobody waits for, or from somebody else, may be refused in any way.
        with unwatched():
            return speaker.exchange(outgoing, deadline)

    def note_answer(self, request: ServerRequest) -> None:
        """It was answered in some other way, such as a race: now it is the server's turn."""
        self._inbox.answered(request)
        self._waited = 0.0

    def prepare_answer(
        self,
        request: ServerRequest,
        *,
        result: object = LEFT_OUT,
        error: object = LEFT_OUT,
        raw: bytes | None = None,
        session: Speaker | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Outgoing:
        """What `answer` would send, not sent yet: for races."""
        members = {"result": result, "error": error}
        given = {name: value for name, value in members.items() if value is not LEFT_OUT}
        if len(given) + (raw is not None) != 1:
            raise ValueError("an answer is a result, an error or raw bytes")
        body = response_bytes(request.id, **given) if raw is None else raw
        speaker = self._session if session is None else session
        prepared = speaker.prepare_bytes(body, None, "", headers=headers)
        return replace(prepared, method=f"answer to {request.method[:_KEPT_OF_A_METHOD]}")

    def cancel(self, reason: str | None = None) -> Reply:
        """Say `notifications/cancelled` for this call; nothing is due from the server then."""
        self._expects_nothing = True
        params: dict[str, object] = {"requestId": self.request_id}
        if reason is not None:
            params["reason"] = reason
        method = "notifications/cancelled"
        body = notification_bytes(method, params)
        return self._session.exchange(self._session.prepare_bytes(body, None, method))

    def hang_up(self) -> bool:
        """Cut the call's connection; False on stdio, where all calls share one."""
        if self._underway is None or not self._underway.can_hang_up:
            return False
        self.close()
        return True

    def expect_nothing(self) -> None:
        """The call was given up in some other way: whatever becomes of it is no trouble."""
        self._expects_nothing = True

    def close(self) -> None:
        """Wait for nothing more. A second time does nothing."""
        self._expects_nothing = self._expects_nothing or self.is_open
        self._hung_up = self._hung_up or self.is_open
        if self._underway is not None:
            self._underway.close()
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _allowed(
        self, seconds: float, due: bool | None = None
    ) -> tuple[Deadline | None, Patience | None]:
        """How long to wait (None: there is no use in it), and whose patience that costs."""
        deadline = Deadline(seconds)
        patience = current_patience()
        if due is None:
            due = not self._expects_nothing and not self._inbox.has_open_questions
        if patience is None or not due or not self.is_open:
            return deadline, None
        return patience.allow(self.outgoing, deadline, waited=self._waited), patience

    def _finish(self) -> Reply | None:
        """The end of the call, if there is one; recorded and told when it is first seen."""
        ended = self._inbox.reply
        if self._reply is not None or ended is None:
            return self._reply
        if self._underway is not None:
            ended = self._underway.explain(ended)
        given_up = self._hung_up and not ended.answered
        if given_up and self._underway is not None and self._underway.can_hang_up:
            ended = replace(ended, outcome=Outcome.CLOSED, detail=HUNG_UP)
        self._reply = replace(ended, seconds=self._inbox.ended_at - self._started)
        if not (given_up and self._recorded_silence):
            self._record(self._reply)
        patience = current_patience() if self._is_of_this_test else None
        if patience is not None and (ended.answered or not self._expects_nothing):
            turn = 0.0
            if not self._inbox.has_open_questions:
                turn = max(0.0, self._inbox.ended_at - self._inbox.owed_since)
            patience.heard(self.outgoing, replace(self._reply, seconds=turn))
        return self._reply

    @property
    def _is_of_this_test(self) -> bool:
        """A call that somebody left open is no part of another test's report."""
        return recording.current() is self._recording

    def _record(self, reply: Reply) -> None:
        if self._is_of_this_test:
            transport = self._session.transport
            transport.record(self.outgoing, reply, self._started, self._inbox.received)
