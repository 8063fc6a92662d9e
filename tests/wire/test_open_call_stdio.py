"""What bad programs do on standard input and output while a call is open."""

import re

import pytest

from pytest_mcp_approval.wire import Outcome, open_session
from pytest_mcp_approval.wire.inbox import MOST_REQUESTS
from tests.wire.hostile import HANG_SECONDS
from tests.wire.hostile_asking import opened, over_stdio, question


def test_a_question_after_the_answer_is_refused() -> None:
    text = """
call = read()
answer(call, {})
ask("after")
both = [read(), read()]  # the refusal and the next request, in any order
both.sort(key=lambda one: "method" in one)
answer(both[1], both[0])
wait()
"""
    with over_stdio(text) as session:
        with opened(session) as call:
            assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
            assert call.next_request(0.01) is None
        told = session.call("tools/list")
        assert told.result["id"] == "after"
        assert told.result["error"]["code"] == -32601


def test_a_result_may_be_null() -> None:
    with over_stdio("call = read(); ask(); answer(call, read()); wait()") as session:
        with opened(session) as call:
            call.answer(question(call), result=None)
            told = call.wait(HANG_SECONDS).result
        assert told == {"jsonrpc": "2.0", "id": "q", "result": None}


def test_an_id_that_is_in_use_is_the_caller_s_mistake() -> None:
    with over_stdio("read(); wait()") as session, opened(session) as call:
        board = session.transport.shared_board
        assert board is not None
        with pytest.raises(ValueError, match="under one id"):
            session.open_prepared(call.outgoing)
        assert len(board.inboxes) == 1


def test_a_channel_forgets_calls_that_have_ended() -> None:
    with over_stdio("answer(read(), {}); read(); wait()") as session:
        board = session.transport.shared_board
        assert board is not None
        with opened(session) as call:
            assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
            assert board.inboxes == []
        with opened(session):
            assert len(board.inboxes) == 1
        assert board.inboxes == []


def test_questions_without_end_on_stdio_block_nobody() -> None:
    text = """
call = read()
for number in range(5000):
    ask(number)
answer(call, {})
wait()
"""
    with over_stdio(text) as session, opened(session) as call:
        assert question(call).id == 0
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
        ids = [one.id for one in iter(lambda: call.next_request(0), None)]
        assert ids == list(range(1, MOST_REQUESTS))


def test_a_command_that_dies_in_the_middle_says_why() -> None:
    text = 'read(); ask(); read(); print("no disk", file=sys.stderr); sys.exit(3)'
    with over_stdio(text) as session, opened(session) as call:
        call.answer(question(call), result={})
        assert call.wait(HANG_SECONDS).describe() == (
            "the connection was closed: command exited with 3: no disk"
        )


def test_a_remark_under_another_id_does_not_end_an_open_call() -> None:
    """It may be what the server has to say about our answer."""
    text = """
call = read(); ask(); read()
say(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}')
ask("again"); read(); answer(call, {}); wait()
"""
    with over_stdio(text) as session, opened(session) as call:
        call.answer(question(call), raw=b'{"jsonrpc":"2.0"}')
        again = question(call)
        assert again.id == "again"
        call.answer(again, result={})
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT


def test_a_restart_ends_open_calls() -> None:
    with over_stdio("read(); ask(); wait()") as session:
        call = opened(session)
        question(call)
        session.transport.close()
        assert call.wait(HANG_SECONDS).outcome is Outcome.CLOSED


def test_two_sessions_on_one_pipe_never_use_one_id() -> None:
    """Both may have an open call, and answers are told apart by their ids alone."""
    text = """
first = read()
answer(read(), {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}})
read()
second = read()
answer(second, {"n": 2}); answer(first, {"n": 1}); wait()
"""
    with over_stdio(text) as session, opened(session) as first:
        other = open_session(session.transport, "2025-11-25", deadline=HANG_SECONDS)
        with opened(other) as second:
            assert first.request_id != second.request_id
            assert second.wait(HANG_SECONDS).result == {"n": 2}
            assert first.wait(HANG_SECONDS).result == {"n": 1}


def test_notifications_on_stdio_are_kept_while_somebody_listens() -> None:
    text = """
say(b'{"jsonrpc":"2.0","method":"notifications/early"}')
answer(read(), {})
say(b'{"jsonrpc":"2.0","method":"notifications/late"}')
wait()
"""
    with over_stdio(text) as session, session.listen() as stream:
        assert session.call("tools/list").outcome is Outcome.RESULT
        came = [one.method for one in stream.notifications(HANG_SECONDS, at_least=1)]
        if came == ["notifications/early"]:
            came = [one.method for one in stream.notifications(HANG_SECONDS, at_least=2)]
        assert came[-1] == "notifications/late"


def test_what_is_asked_is_shown_shortly() -> None:
    with over_stdio("read(); ask(); wait()") as session, opened(session) as call:
        assert re.fullmatch(r"<ServerRequest 'elicitation/create' on stdio>", repr(question(call)))
