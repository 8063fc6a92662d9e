"""Calls that stay open while the official SDK's server asks, over every transport."""

from typing import Any
from uuid import uuid4

import pytest

from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    InProcessTransport,
    OpenCall,
    Outcome,
    RawJson,
    Reply,
    ServerRequest,
    Session,
    StdioTransport,
    open_session,
    race,
)
from tests.wire.conftest import CAN_BE_ASKED
from tests.wire.hostile import AT_ONCE, HANG_SECONDS
from tests.wire.recorded import exchanges
from tests.wire.sample_server import build as build_sample

YES = {"action": "accept", "content": {"confirm": True}}
NO = {"action": "decline"}


def opened(session: Session, tool: str = "delete", **arguments: str) -> OpenCall:
    return session.open_call("tools/call", {"name": tool, "arguments": arguments})


def question(call: OpenCall) -> ServerRequest:
    request = call.next_request(HANG_SECONDS)
    assert request is not None, call.reply
    assert request.method == "elicitation/create"
    return request


def text(reply: Reply) -> str:
    assert reply.outcome is Outcome.RESULT, reply.describe()
    return str(reply.result["content"][0]["text"])


def deleted(session: Session) -> list[str]:
    reply = session.call("tools/call", {"name": "show_deleted", "arguments": {}})
    return text(reply).split(",")


@pytest.fixture
def account() -> str:
    """A name of its own: the server is shared."""
    return uuid4().hex


def has_connections(session: Session) -> bool:
    return not isinstance(session.transport, StdioTransport)


def test_a_question_is_answered_and_the_call_ends(
    asking: Session, account: str, recorded: Recording
) -> None:
    with opened(asking, account=account) as call:
        asked = question(call)
        assert asked.params["message"] == f"Delete {account}?"
        assert asked.came_on == ("call" if has_connections(asking) else "stdio")
        assert (call.is_open, call.reply) == (True, None)
        assert account not in deleted(asking), "other calls are served meanwhile"
        sent = call.answer(asked, result=YES)
        assert sent.outcome is Outcome.ACCEPTED
        assert sent.status == (202 if has_connections(asking) else None)
        assert text(call.wait(HANG_SECONDS)) == f"deleted {account}"
        assert call.next_request(HANG_SECONDS) is None
    assert call.reply is call.wait()
    assert account in deleted(asking)
    assert [(one.method, one.outcome) for one in exchanges(recorded)] == [
        ("tools/call", "a result"),
        ("elicitation/create", None),
        ("tools/call", "a result"),
        ("answer to elicitation/create", "accepted"),
        ("tools/call", "a result"),
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"result": NO}, "kept {}: decline"),
        ({"result": {"action": "cancel"}}, "kept {}: cancel"),
        ({"raw": None, "error": {"code": 7, "message": ""}}, "refused with 7"),
        ({"error": {"code": -32601, "message": "no"}}, "refused with -32601"),
        ({"result": RawJson('{"action" :"accept","content":{"confirm":true}}')}, "deleted {}"),
    ],
)
def test_each_answer_is_told_to_the_tool(
    asking: Session, account: str, answer: dict[str, Any], said: str
) -> None:
    with opened(asking, account=account) as call:
        assert call.answer(question(call), **answer).outcome is Outcome.ACCEPTED
        assert text(call.wait(HANG_SECONDS)) == said.format(account)


def test_exact_bytes_are_the_answer(asking: Session, account: str, recorded: Recording) -> None:
    with opened(asking, account=account) as call:
        asked = question(call)
        exact = b'{ "result":{"action":"decline"},"id":%d, "jsonrpc":"2.0" }' % asked.id
        call.answer(asked, raw=exact)
        assert text(call.wait(HANG_SECONDS)) == f"kept {account}: decline"
    assert exact in [one.sent.head for one in exchanges(recorded)]


def test_an_answer_is_one_of_three_things(asking: Session, account: str) -> None:
    with opened(asking, account=account) as call:
        asked = question(call)
        with pytest.raises(ValueError, match="a result, an error or raw bytes"):
            call.answer(asked, result=YES, error={})
        with pytest.raises(ValueError, match="a result, an error or raw bytes"):
            call.answer(asked)
        call.answer(asked, result=NO)
        assert text(call.wait(HANG_SECONDS)) == f"kept {account}: decline"


def test_two_questions_at_once_are_answered_out_of_order(asking: Session) -> None:
    with opened(asking, "delete_two") as call:
        asked = {one.params["message"]: one for one in (question(call), question(call))}
        call.answer(asked["Delete b?"], result=NO)
        call.answer(asked["Delete a?"], result=YES)
        assert text(call.wait(HANG_SECONDS)) == "a accept, b decline"


def test_several_open_calls_are_answered_out_of_order(asking: Session) -> None:
    """On stdio nothing says whose question it is, but its text does."""
    names = [f"{n}-{uuid4().hex}" for n in range(4)]
    calls = {name: opened(asking, account=name) for name in names}
    asked: dict[str, ServerRequest] = {}
    for call in calls.values():
        one = question(call)
        asked[one.params["message"]] = one
    assert set(asked) == {f"Delete {name}?" for name in names}
    for name in reversed(names):
        answer = YES if name == names[1] else NO
        calls[name].answer(asked[f"Delete {name}?"], result=answer)
    ended = {name: text(calls[name].wait(HANG_SECONDS)) for name in names}
    assert ended == {
        name: f"deleted {name}" if name == names[1] else f"kept {name}: decline" for name in names
    }


def test_answers_can_be_raced(asking: Session) -> None:
    """Yes and no at once to two calls each: each call ends once, by one of the two."""
    names = [uuid4().hex for _ in range(2)]
    calls = [opened(asking, account=name) for name in names]
    asked = [question(call) for call in calls]
    prepared = [
        call.prepare_answer(one, result=answer)
        for call, one in zip(calls, asked, strict=True)
        for answer in (YES, NO)
    ]
    sent = race(asking, prepared)
    assert Outcome.ACCEPTED in {reply.outcome for reply in sent}
    for call, one in zip(calls, asked, strict=True):
        call.note_answer(one)
        assert text(call.wait(HANG_SECONDS)).split()[0] in ("deleted", "kept")


def test_an_unanswered_question_leaves_the_call_open(
    asking: Session, account: str, recorded: Recording
) -> None:
    with opened(asking, account=account) as call:
        asked = question(call)
        assert call.next_request(0.05) is None
        silence = call.wait(0.05)
        assert silence.describe() == "no answer in time: nothing within 0.1 s"
        assert call.is_open
        call.answer(asked, result=NO)
        assert text(call.wait(HANG_SECONDS)) == f"kept {account}: decline"
    said = [one.outcome for one in exchanges(recorded) if one.method == "tools/call"]
    assert said == ["no answer in time", "a result"]


def test_nobody_waits_for_a_call_that_was_closed(asking: Session, account: str) -> None:
    with opened(asking, account=account) as call:
        question(call)
    assert call.reply is not None
    assert call.reply.describe() == (
        "the connection was closed: this client hung up"
        if has_connections(asking)
        else "no answer in time: not awaited any longer"
    )
    assert call.wait(HANG_SECONDS).seconds < AT_ONCE
    assert account not in deleted(asking)


def test_a_call_is_hung_up_where_it_has_a_connection(asking: Session, account: str) -> None:
    with opened(asking, account=account) as call:
        question(call)
        assert call.hang_up() is has_connections(asking)
        assert call.is_open is not has_connections(asking)
    assert asking.call("tools/list").outcome is Outcome.RESULT


def test_a_call_is_cancelled(asking: Session, account: str, recorded: Recording) -> None:
    with opened(asking, account=account) as call:
        asked = question(call)
        assert call.cancel("the person left").outcome is Outcome.ACCEPTED
        call.answer(asked, result=YES)
        # The SDK ends the tool, and may say so: with an error, or with nothing.
        assert call.wait(1).outcome is not Outcome.RESULT
    sent = [one.sent.head for one in exchanges(recorded)]
    wanted = f'"params":{{"requestId":{call.request_id},"reason":"the person left"}}'.encode()
    assert any(b"notifications/cancelled" in one and wanted in one for one in sent)
    assert account not in deleted(asking)


def test_a_page_and_the_notification_of_its_end(asking: Session) -> None:
    with opened(asking, "visit") as call:
        asked = question(call)
        assert (asked.params["mode"], asked.params["elicitationId"]) == ("url", "page-1")
        call.answer(asked, result={"action": "accept"})
        assert text(call.wait(HANG_SECONDS)) == "accept"
    said = [one for one in call.notifications if one.method.endswith("elicitation/complete")]
    assert [one.params for one in said] == [{"elicitationId": "page-1"}]


def test_a_question_on_the_session_s_own_stream_reaches_the_call(
    asking: Session, account: str
) -> None:
    with asking.listen() as stream, opened(asking, "delete_aside", account=account) as call:
        asked = question(call)
        assert asked.came_on == ("session" if has_connections(asking) else "stdio")
        call.answer(asked, result=NO)
        assert text(call.wait(HANG_SECONDS)) == "decline"
        was_open = stream.is_open
    assert (was_open, stream.is_open) == (True, False)
    if has_connections(asking):
        assert stream.reply is not None
        assert (stream.reply.status, stream.reply.detail) == (200, "closed by this client")


def test_what_nobody_opened_is_refused_as_ever(asking: Session, account: str) -> None:
    reply = asking.call("tools/call", {"name": "delete", "arguments": {"account": account}})
    assert text(reply) == "refused with -32601"


def test_methods_that_were_not_asked_for_are_refused_as_ever(asking: Session, account: str) -> None:
    params = {"name": "delete", "arguments": {"account": account}}
    with asking.open_call("tools/call", params, takes=("roots/list",)) as call:
        assert call.next_request(HANG_SECONDS) is None
        assert text(call.wait()) == "refused with -32601"


# ---- sessions over HTTP and in process


over_http = pytest.mark.parametrize("asking_transport", ["http", "in-process"], indirect=True)


@over_http
def test_an_answer_from_another_session_is_no_answer(asking: Session, account: str) -> None:
    with (
        open_session(
            asking.transport, "2025-11-25", capabilities=CAN_BE_ASKED, deadline=30
        ) as other,
        opened(asking, account=account) as call,
    ):
        asked = question(call)
        told = call.answer(asked, result=YES, session=other)
        assert told.status is not None
        assert not asked.answered
        assert call.wait(0.2).outcome is Outcome.NO_ANSWER
        assert account not in deleted(asking)
        call.answer(asked, result=YES)
        assert text(call.wait(HANG_SECONDS)) == f"deleted {account}"


@over_http
def test_a_session_is_deleted_while_a_call_is_open(asking: Session, account: str) -> None:
    with open_session(
        asking.transport, "2025-11-25", capabilities=CAN_BE_ASKED, deadline=30
    ) as session:
        call = opened(session, account=account)
        asked = question(call)
        assert session.delete().status in (200, 204)
        assert call.answer(asked, result=YES).status == 404
        assert call.wait(HANG_SECONDS).outcome is not Outcome.RESULT
    assert account not in deleted(asking)


def test_what_has_no_id_cannot_be_deleted() -> None:
    with (
        InProcessTransport(build_sample().streamable_http_app()) as transport,
        open_session(transport, "2026-07-28") as session,
        pytest.raises(ValueError, match="only a session with an id"),
    ):
        session.delete()


# ---- the sessionless era, which has no requests of the server's


def test_calls_are_open_in_both_eras(session: Session) -> None:
    """Progress comes on the way, the result at the end."""
    params = {"name": "talk", "arguments": {}, "_meta": {"progressToken": "t"}}
    with session.open_call("tools/call", params) as call:
        assert call.next_request(HANG_SECONDS) is None
        assert call.wait().outcome is Outcome.RESULT, call.reply
    said = [one.method for one in call.notifications]
    assert said in ([], ["notifications/progress"])  # an answer that is one JSON body has no room


def test_a_call_that_never_ends_can_be_left_in_both_eras(session: Session) -> None:
    with session.open_call("tools/call", {"name": "wait", "arguments": {}}) as call:
        assert call.next_request(0.05) is None
        assert call.wait(0.05).outcome is Outcome.NO_ANSWER
        over_stdio = isinstance(session.transport, StdioTransport)
        assert call.hang_up() is not over_stdio
        if over_stdio:
            assert call.cancel().outcome is Outcome.ACCEPTED
    assert call.wait().outcome is (Outcome.NO_ANSWER if over_stdio else Outcome.CLOSED)
    assert session.call("tools/list").outcome is Outcome.RESULT


def test_a_call_that_nobody_ends_ends_itself(session: Session) -> None:
    params = {"name": "wait", "arguments": {}}
    with session.open_call("tools/call", params, longest=0.1) as call:
        if isinstance(session.transport, StdioTransport):
            return  # nothing of ours is left over there
        assert call.wait(HANG_SECONDS).describe() == "no answer in time: nothing within 0.1 s"
        assert call.wait().seconds < AT_ONCE
