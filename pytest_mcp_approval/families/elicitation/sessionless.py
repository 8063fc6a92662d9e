"""Questions in the sessionless era: a result asks, and a retry of the call answers.

basic/patterns/mrtr, revision 2026-07-28: the retry is a new request with the same method and
params, and in addition the responses by key and the server's state to the byte. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...wire import Reply
from .form_answers import LEFT_OUT, CannotAnswerError
from .outcome import SAME, AskedQuestion, Sent, asks
from .vocabulary import (
    CREATE,
    INPUT_REQUESTS,
    INPUT_RESPONSES,
    REQUEST_STATE,
)

_MOST_RETRIES = 5
"""For a server that asks for nothing but to be called again."""


def send(sent: Sent, *, headers: Mapping[str, str | None] | None = None) -> Reply:
    """One request; if the server only wants to be called again, those too."""
    reply = _call(sent, headers)
    for _ in range(_MOST_RETRIES):
        state = _come_again(reply)
        if state is LEFT_OUT:
            break
        more = {key: value for key, value in sent.more.items() if key != INPUT_RESPONSES}
        reply = _call(replace(sent, more={**more, REQUEST_STATE: state}), headers)
    return reply


def _call(sent: Sent, headers: Mapping[str, str | None] | None) -> Reply:
    params = sent.client.completed(sent.params())
    return sent.client.session.call("tools/call", params, headers=headers)


def _come_again(reply: Reply) -> Any:
    """The state of a result that asks nothing: the client just calls again with it."""
    if not asks(reply) or reply.result.get(INPUT_REQUESTS):
        return LEFT_OUT
    return reply.result.get(REQUEST_STATE, LEFT_OUT)


def question_in(reply: Reply, sent: Sent) -> AskedQuestion | None:
    """What a result asks a person; None if it asks nobody."""
    if not asks(reply):
        return None
    requests = reply.result.get(INPUT_REQUESTS)
    found = {
        str(key): one["params"]
        for key, one in (requests if isinstance(requests, Mapping) else {}).items()
        if isinstance(one, Mapping)
        and one.get("method") == CREATE
        and isinstance(one.get("params"), Mapping)
    }
    if not found:
        return None
    questions = [
        AskedQuestion(
            sent,
            params,
            reply=reply,
            key=key,
            siblings={name: one for name, one in found.items() if name != key},
            state=reply.result.get(REQUEST_STATE, LEFT_OUT),
        )
        for key, params in found.items()
    ]
    # Of several questions, the one that approves.
    return next((one for one in questions if one.approving is not None), questions[0])


def retry_of(
    question: AskedQuestion,
    response: Any,
    *,
    state: Any = SAME,
    responses: Any = SAME,
    more: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Sent:
    """The call that answers. `state` and `responses` replace what an honest client would send;
    `LEFT_OUT` leaves them out."""
    added: dict[str, Any] = {}
    if responses is SAME:
        responses = {**_siblings(question), question.key: response}
    if responses is not LEFT_OUT:
        added[INPUT_RESPONSES] = responses
    given = question.state if state is SAME else state
    if given is not LEFT_OUT:
        added[REQUEST_STATE] = given
    kept = {
        key: value
        for key, value in question.sent.more.items()
        if key not in (INPUT_RESPONSES, REQUEST_STATE)
    }
    return replace(question.sent, **changes, more={**kept, **added, **(more or {})})


def _siblings(question: AskedQuestion) -> dict[str, Any]:
    """The other questions of the same answer are answered honestly."""
    answers: dict[str, Any] = {}
    for key, params in question.siblings.items():
        try:
            answers[key] = replace(question, params=params, key=key).response()
        except CannotAnswerError:
            continue  # the server says that it misses it
    return answers
