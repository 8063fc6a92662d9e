"""Questions in the handshake era: a request of the server's inside a call that is still open.

client/elicitation, revisions 2025-06-18 and 2025-11-25: the question comes on the call's own
stream, on the session's stream, or on stdio; the answer is a message of its own; then the call
ends. Some servers answer the call with an error instead, which says which pages come first.
Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...support.deadline import Deadline
from ...wire import Outcome, RawJson, Reply, Session, StdioTransport
from ..base.outcome import data_of
from .form_answers import LEFT_OUT
from .outcome import SAME, AskedQuestion, Sent
from .vocabulary import CREATE, ELICITATIONS, URL_ELICITATION_REQUIRED

_MOST_REQUESTS = 50
"""Of other kinds, in one call."""
_BEFORE_LISTENING = 2.0
"""Seconds: then the question may be waiting on the session's stream."""
_NOT_HERE = {"code": -32601, "message": "This client declared no capability for that"}


@dataclass
class PendingQuestion:
    """A question of the server's, and the call that waits for its answer."""

    call: Any
    request: Any
    answered: bool = False

    @property
    def id(self) -> Any:
        return self.request.id

    @property
    def over(self) -> bool:
        return self.call.reply is not None


def begin(sent: Sent, deadline: float) -> AskedQuestion | Reply:
    """Make the call, up to its first question or its end."""
    if not isinstance(sent.client.place.transport, StdioTransport):
        sent.client.listen_for(sent.tool.name)
    call = sent.client.session.open_call("tools/call", sent.client.completed(sent.params()))
    sent.client.driver.opened.append(call)
    return go_on(sent, call, deadline)


def go_on(sent: Sent, call: Any, seconds: float) -> AskedQuestion | Reply:
    """What the open call comes to: the next question, its reply, or no answer in time."""
    deadline = Deadline(seconds)
    for _ in range(_MOST_REQUESTS):
        request = _next(sent, call, deadline)
        if request is None:
            break
        if request.method == CREATE and isinstance(request.params, Mapping):
            sent.client.asked_on(request.came_on, sent.tool.name)
            return AskedQuestion(sent, request.params, pending=PendingQuestion(call, request))
        if request.method == "ping":
            call.answer(request, result={})
        else:
            call.answer(request, error=_NOT_HERE)
    reply: Reply | None = call.reply
    return Reply(Outcome.NO_ANSWER, seconds=seconds) if reply is None else reply


def _next(sent: Sent, call: Any, deadline: Deadline) -> Any:
    client = sent.client
    if client.listening or isinstance(client.place.transport, StdioTransport):
        return call.next_request(deadline=deadline.left())
    request = call.next_request(deadline=min(_BEFORE_LISTENING, deadline.left()))
    if request is not None or call.reply is not None:
        return request
    client.listen()
    return call.next_request(deadline=deadline.left())


def question_in(reply: Reply, sent: Sent) -> AskedQuestion | None:
    """The page that an error says comes first; None if it does not say so."""
    error = reply.error
    if error is None or error.code != URL_ELICITATION_REQUIRED:
        return None
    listed = data_of(reply).get(ELICITATIONS)
    pages = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return AskedQuestion(sent, pages[0], reply=reply, by_error=True) if pages else None


def respond(
    question: AskedQuestion,
    response: Any,
    seconds: float,
    *,
    error: Any = SAME,
    raw: Any = SAME,
    session: Session | None = None,
) -> AskedQuestion | Reply:
    """Answer, and see what the call comes to. `error` and `raw` are sent instead of a result;
    `session` is another one that sends it."""
    if question.by_error:
        return begin(replace(question.sent), seconds)
    pending: PendingQuestion = question.pending
    was_over = pending.over
    said = send_response(question, response, error=error, raw=raw, session=session)
    if was_over:
        # Nothing waits for this any more: the call has been answered before.
        return said or Reply(Outcome.ACCEPTED)
    return go_on(question.sent, pending.call, seconds)


def send_response(
    question: AskedQuestion,
    response: Any,
    *,
    error: Any = SAME,
    raw: Any = SAME,
    session: Session | None = None,
) -> Reply | None:
    """The answer alone; what a server says to it over HTTP, mostly 202."""
    told: dict[str, Any] = {"result": RawJson("null") if response is None else response}
    if error is not SAME:
        told = {"error": error}
    elif raw is not SAME:
        told = {"raw": raw}
    elif response is LEFT_OUT:
        return None
    if session is not None:
        told["session"] = session
    pending: PendingQuestion = question.pending
    pending.answered = pending.answered or (raw is SAME and session is None)
    said: Reply | None = pending.call.answer(pending.request, **told)
    return said


def answer_together(
    question: AskedQuestion, response: Any, count: int, seconds: float
) -> list[Reply]:
    """The same answer so many times at the same moment; then how the one call ended."""
    pending: PendingQuestion = question.pending
    session = question.client.session
    answers = [pending.call.prepare_answer(pending.request, result=response) for _ in range(count)]
    session.transport.exchange_together(answers, Deadline(seconds))
    return [pending.call.wait(seconds)]


def let_go(call: Any) -> None:
    """End a call that nobody waits for any more."""
    if call.is_open:
        call.cancel("the person has left")
        call.close()
