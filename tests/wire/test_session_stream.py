"""A session's own stream over HTTP: refused, ended, silent, and whom its questions are for."""

import json
import socket
import threading

from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import Outcome
from tests.wire.hostile import HANG_SECONDS, http
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
from tests.wire.recorded import exchanges


def test_many_servers_refuse_a_stream(recorded: Recording) -> None:
    with over_http(Asking()) as session, session.listen() as stream:
        assert not stream.is_open
        assert stream.reply is not None
        assert stream.reply.status == 405
        assert stream.notifications(HANG_SECONDS) == []
    kept = [one for one in exchanges(recorded) if one.method == "session stream"]
    assert [(one.status, one.received.head) for one in kept] == [(405, b"no")]


def test_a_server_may_end_its_stream_and_the_call_goes_on() -> None:
    asking, released = Asking(), threading.Event()

    def on_call(connection: socket.socket, request_id: object) -> None:
        assert released.wait(HANG_SECONDS)
        connection.sendall(http(json.dumps(result(request_id)).encode()))

    asking.on_call = on_call
    asking.on_get = lambda connection: connection.sendall(STREAM + event(asks()) + b"0\r\n\r\n")
    with over_http(asking) as session, opened(session) as call, session.listen() as stream:
        assert question(call).came_on == "session"
        # Waits for the end of the stream, since no notification comes.
        assert stream.notifications(HANG_SECONDS) == []
        assert not stream.is_open
        assert stream.reply is not None
        assert stream.reply.describe() == "the connection was closed: the event stream ended"
        released.set()
        assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT


def test_a_stream_whose_head_does_not_come_is_listened_to() -> None:
    asking, released = Asking(), threading.Event()
    note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

    def on_get(connection: socket.socket) -> None:
        assert released.wait(HANG_SECONDS)
        connection.sendall(STREAM + event(note))

    asking.on_get = on_get
    with over_http(asking) as session, session.listen() as stream:
        assert (stream.is_open, stream.reply) == (True, None)
        released.set()
        came = stream.notifications(HANG_SECONDS)
        assert [one.method for one in came] == ["notifications/tools/list_changed"]


def test_questions_on_the_stream_are_refused_if_no_call_is_open(recorded: Recording) -> None:
    """And so is a response, which belongs to no stream but its own call's."""
    asking = Asking()
    asking.on_get = lambda connection: connection.sendall(
        STREAM + event(result(1)) + event(asks("early"))
    )
    with over_http(asking) as session, session.listen():
        refusal = asking.wait_for_an_answer()
        assert refusal["id"] == "early"
        assert isinstance(refusal["error"], dict)
        assert refusal["error"]["code"] == -32601
        assert b"Accept: application/json, text/event-stream" in asking.heads[-1]
    overheard = [one for one in exchanges(recorded) if one.outcome is None]
    assert [one.detail for one in overheard] == [
        "a response of the server's",
        "a request from the server",
    ]


def test_two_open_calls_share_the_questions_of_the_stream() -> None:
    """Nothing says whose they are: each goes to one caller only."""
    asking = Asking()
    go = threading.Event()

    def on_get(connection: socket.socket) -> None:
        connection.sendall(STREAM)
        assert go.wait(HANG_SECONDS)
        connection.sendall(event(asks("one")) + event(asks("two")))

    asking.on_get = on_get
    with (
        over_http(asking) as session,
        session.listen(),
        opened(session) as first,
        opened(session) as second,
    ):
        go.set()
        assert {question(second).id, question(first).id} == {"one", "two"}
        assert first.next_request(0.01) is second.next_request(0.01) is None
