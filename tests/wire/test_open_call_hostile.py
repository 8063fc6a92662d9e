"""What bad servers do on the stream of an open call: nothing hangs, everything is bounded and
recorded."""

import json
import socket
import threading

import pytest

from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    HttpTransport,
    Outcome,
    Patience,
    Session,
    keeping,
    open_session,
)
from pytest_mcp_approval.wire.inbox import MOST_NOTIFICATIONS, MOST_REQUESTS
from tests.wire.hostile import AT_ONCE, HANG_SECONDS, http
from tests.wire.hostile_asking import (
    STREAM,
    Asking,
    asks,
    event,
    opened,
    over_http,
    question,
    result,
)


@pytest.mark.parametrize("odd", [None, True, [1], {"a": 1}, 1.5, -1, "", "é\n", 2**52])
def test_odd_ids_come_back_as_they_were(odd: object, recorded: Recording) -> None:
    asking = Asking()

    def on_call(connection: socket.socket, request_id: object) -> None:
        connection.sendall(STREAM + event(asks(odd)))
        asking.wait_for_an_answer()
        connection.sendall(event(result(request_id)))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        asked = question(call)
        assert type(asked.id) is type(odd)
        assert call.answer(asked, result={"action": "accept"}).outcome is Outcome.ACCEPTED
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
    sent = asking.answers[-1]
    assert (type(sent["id"]), sent["id"]) == (type(odd), odd)


def test_questions_without_end_are_bounded_and_then_refused(recorded: Recording) -> None:
    asking = Asking()

    def on_call(connection: socket.socket, _: object) -> None:
        connection.sendall(STREAM)
        for number in range(MOST_REQUESTS + 20):
            connection.sendall(event(asks(number)))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        for _ in range(20):
            assert asking.answered.acquire(timeout=HANG_SECONDS)
        taken = [question(call).id for _ in range(MOST_REQUESTS)]
        assert call.next_request(0.01) is None
        assert call.is_open
    assert taken == list(range(MOST_REQUESTS))
    assert {one["id"] for one in asking.answers} == set(range(MOST_REQUESTS, MOST_REQUESTS + 20))
    refused = [one["error"] for one in asking.answers]
    assert all(isinstance(one, dict) and one["code"] == -32601 for one in refused)
    assert recorded.left_out > 0


def test_notifications_without_end_are_bounded() -> None:
    asking = Asking()
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}

    def on_call(connection: socket.socket, request_id: object) -> None:
        connection.sendall(STREAM + event(note) * (MOST_NOTIFICATIONS + 5))
        connection.sendall(event(result(request_id)))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
    assert len(call.notifications) == MOST_NOTIFICATIONS


def test_a_stream_without_end_is_too_large() -> None:
    asking = Asking()

    def on_call(connection: socket.socket, _: object) -> None:
        connection.sendall(STREAM)
        while True:
            connection.sendall(event({"jsonrpc": "2.0", "method": "x" * 100_000}))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        assert call.wait(HANG_SECONDS).outcome is Outcome.TOO_LARGE
        assert call.wait().seconds < AT_ONCE


def test_a_stream_that_only_breathes_is_left_at_will() -> None:
    """Comments keep a connection alive: they are no sign that anything comes."""
    asking, left = Asking(), threading.Event()

    def on_call(connection: socket.socket, _: object) -> None:
        connection.sendall(STREAM + event(asks()))
        try:
            while not left.wait(0.01):
                connection.sendall(b"3\r\n:\n\n\r\n")
        except OSError:
            left.set()

    asking.on_call = on_call
    with over_http(asking) as session:
        call = opened(session)
        question(call)
        assert call.wait(0.05).outcome is Outcome.NO_ANSWER
        assert call.hang_up()
        assert left.wait(HANG_SECONDS), "the server noticed"
        assert call.reply is not None
        assert call.reply.detail == "this client hung up"


def test_a_stream_that_ends_ends_the_call() -> None:
    asking = Asking()

    def on_call(connection: socket.socket, _: object) -> None:
        connection.sendall(STREAM + event(asks()) + b"0\r\n\r\n")

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        question(call)
        assert call.next_request(HANG_SECONDS) is None
        assert call.wait().describe() == (
            "the connection was closed: the event stream ended without an answer"
        )


def test_a_question_and_the_answer_in_one_breath() -> None:
    """What came before the answer can still be taken, and answered, after it."""
    asking = Asking()

    def on_call(connection: socket.socket, request_id: object) -> None:
        connection.sendall(STREAM + event(asks()) + event(result(request_id)) + event(asks("r")))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
        asked = question(call)
        assert asked.id == "q"
        assert call.next_request(HANG_SECONDS) is None
        assert call.answer(asked, result={}).outcome is Outcome.ACCEPTED


def test_a_question_that_the_server_withdraws_is_not_open() -> None:
    asking = Asking()
    withdrawal = {"jsonrpc": "2.0", "method": "notifications/cancelled"}

    def on_call(connection: socket.socket, _: object) -> None:
        other = withdrawal | {"params": {"requestId": "other"}}
        connection.sendall(STREAM + event(asks()) + event(other))
        connection.sendall(event(asks("next")) + event(withdrawal | {"params": {"requestId": "q"}}))
        connection.sendall(event(asks("last")))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        asked = [question(call) for _ in range(3)]
        assert [(one.id, one.withdrawn) for one in asked] == [
            ("q", True),
            ("next", False),
            ("last", False),
        ]


def test_pings_are_answered_while_a_call_is_open() -> None:
    asking = Asking()

    def on_call(connection: socket.socket, request_id: object) -> None:
        connection.sendall(STREAM + event(asks("p", "ping")))
        assert asking.wait_for_an_answer() == {"jsonrpc": "2.0", "id": "p", "result": {}}
        connection.sendall(event(result(request_id)))

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call:
        assert call.next_request(HANG_SECONDS) is None
        assert call.wait().outcome is Outcome.RESULT


def test_nobody_is_there_to_be_called() -> None:
    with over_http(Asking()) as session:
        transport = session.transport
        assert isinstance(transport, HttpTransport)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        gone = HttpTransport(f"http://127.0.0.1:{port}/mcp")
        elsewhere = Session(gone, session.terms, client_info={}, client_capabilities={})
        with gone, opened(elsewhere) as call:
            assert call.next_request(HANG_SECONDS) is None
            assert call.wait().outcome is Outcome.UNREACHABLE


def test_a_transport_that_is_closed_ends_its_calls() -> None:
    with over_http(Asking()) as session:
        call, stream = opened(session), session.listen()
        session.transport.close()
        assert call.wait(HANG_SECONDS).outcome is Outcome.CLOSED
        assert not stream.is_open


def test_closing_a_call_that_has_ended_cuts_nobody_else_s_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_mcp_approval.wire.over_http._IDLE_SECONDS", HANG_SECONDS)
    asking, arrived, closed = Asking(), threading.Event(), threading.Event()
    numbers: list[int] = []

    def on_call(connection: socket.socket, request_id: object) -> None:
        numbers.append(connection.fileno())
        if len(numbers) == 2:
            arrived.set()
            assert closed.wait(HANG_SECONDS)
        connection.sendall(http(json.dumps(result(request_id)).encode()))

    asking.on_call = on_call
    with over_http(asking) as session:
        call = opened(session)
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
        replies = []
        params = {"name": "x", "arguments": {}}
        other = threading.Thread(target=lambda: replies.append(session.call("tools/call", params)))
        other.start()
        assert arrived.wait(HANG_SECONDS)
        call.close()
        closed.set()
        other.join(HANG_SECONDS)
        assert [reply.outcome for reply in replies] == [Outcome.RESULT]
    assert numbers[0] == numbers[1], "the connection was used again"


@pytest.mark.parametrize("case", ["deleted", "another session", "late"])
def test_an_answer_that_may_be_refused_is_no_trouble(case: str) -> None:
    """HTTP 404 would otherwise mean that the server has ended the session by itself."""
    asking = Asking()

    def on_call(connection: socket.socket, request_id: object) -> None:
        ending = event(result(request_id)) if case == "late" else b""
        connection.sendall(STREAM + event(asks()) + ending)

    asking.on_call = on_call
    with over_http(asking) as session, opened(session) as call, keeping(Patience(1)) as patience:
        asked = question(call)
        asking.answer_status = "404 Not Found"
        other = None
        match case:
            case "deleted":
                assert session.delete().status == 202
            case "late":
                assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
            case _:
                other = open_session(session.transport, "2025-11-25", deadline=HANG_SECONDS)
        assert call.answer(asked, result={}, session=other).status == 404
        assert patience.troubles == []
        if case == "deleted":
            call.note_answer(asked)
            assert call.wait(0.3).outcome is Outcome.NO_ANSWER
            assert session.call("ping", headers={"X-Gone": "yes"}).status == 404
            assert patience.troubles == []
        if case == "another session":
            assert call.answer(asked, result={}).status == 404
            assert [one.broken_off for one in patience.troubles] == [True]
