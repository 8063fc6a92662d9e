"""What bad servers do over HTTP: each has its outcome, within its deadline, in clear words."""

import json
import socket

import pytest

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    HttpTransport,
    Outcome,
    Outgoing,
    Reply,
    request_bytes,
)
from tests.wire.hostile import (
    AT_ONCE,
    HANG_SECONDS,
    Behaviour,
    HostileServer,
    floods,
    http,
    says,
    then_closes,
)
from tests.wire.recorded import exchanges

OK = b'{"jsonrpc":"2.0","id":7,"result":{"ok":true}}'
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: keep-alive\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
MEGABYTE = b"x" * 2**20


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def ask(transport: HttpTransport, seconds: float = HANG_SECONDS, request_id: int = 7) -> Reply:
    body = request_bytes(request_id, "tools/list")
    return transport.exchange(Outgoing(body, request_id, "tools/list"), Deadline(seconds))


def ask_once(behave: Behaviour, seconds: float = HANG_SECONDS) -> Reply:
    with HostileServer(behave) as server, HttpTransport(server.url) as transport:
        return ask(transport, seconds)


WAITED_FOR = {"silence": 0.4, "drip": 0.4, "wrong id in a stream": 2, "garbage in a stream": 2}
"""What is not over before its deadline: there something that is no answer has to come in time."""


def answer(body: bytes) -> Behaviour:
    """An honest HTTP answer with this body."""
    return says(http(body))


@pytest.mark.parametrize(
    ("behave", "outcome", "words"),
    [
        pytest.param(
            says(), Outcome.NO_ANSWER, "no answer in time: nothing within 0.4 s", id="silence"
        ),
        pytest.param(
            then_closes(says()),
            Outcome.CLOSED,
            "the connection was closed: without an answer",
            id="closes",
        ),
        pytest.param(
            then_closes(says(http(OK)[:-20])),
            Outcome.CLOSED,
            "the connection was closed: in the middle of its answer",
            id="closes mid-answer",
        ),
        pytest.param(
            says(http(b"<!doctype html><p>hello", kind="text/html")),
            Outcome.GARBAGE,
            "no JSON-RPC: HTML: <!doctype html><p>hello",
            id="html",
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":8,"result":{}}'),
            Outcome.WRONG_ID,
            "an answer under another id: id 8",
            id="wrong id",
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":"7","result":{}}'),
            Outcome.WRONG_ID,
            'an answer under another id: id "7"',
            id="id of another type",
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":true,"result":{}}'),
            Outcome.WRONG_ID,
            "an answer under another id: id true",
            id="id true",
        ),
        pytest.param(
            says(
                http(
                    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}', "400 Bad"
                )
            ),
            Outcome.NULL_ID,
            "an error under the id null: id null, error -32700 ? (HTTP 400)",
            id="id null",
        ),
        pytest.param(
            answer(b'{"jsonrpc'), Outcome.GARBAGE, 'no JSON-RPC: not JSON: {"jsonrpc', id="half"
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":7,"result":NaN}'),
            Outcome.GARBAGE,
            "no JSON-RPC: not JSON (NaN is not a JSON number): ",
            id="NaN",
        ),
        pytest.param(
            answer(b'"\xff\x1b[31m'),
            Outcome.GARBAGE,
            r'no JSON-RPC: not UTF-8: "\xff\u001b[31m',
            id="not UTF-8",
        ),
        pytest.param(
            answer(b'[{"jsonrpc":"2.0","id":7,"result":{}}]'),
            Outcome.GARBAGE,
            "no JSON-RPC: a JSON array, not one message: ",
            id="batch",
        ),
        pytest.param(
            answer(b'{"id":7,"result":{}}'),
            Outcome.GARBAGE,
            "no JSON-RPC: JSON, but not JSON-RPC 2.0: ",
            id="JSON",
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}'),
            Outcome.GARBAGE,
            "no JSON-RPC: a JSON-RPC message with both a result and an error: ",
            id="both",
        ),
        pytest.param(
            answer(b"[" * 200_000),
            Outcome.GARBAGE,
            "no JSON-RPC: JSON with excessive nesting or numbers: ",
            id="nesting",
        ),
        pytest.param(
            answer(b'{"jsonrpc":"2.0","id":7,"result":' + b"9" * 5000 + b"}"),
            Outcome.GARBAGE,
            "no JSON-RPC: JSON with excessive nesting or numbers: ",
            id="digits",
        ),
        pytest.param(
            says(http(b"oops", "500 Internal Server Error", "text/plain")),
            Outcome.HTTP_STATUS,
            "HTTP 500 without JSON-RPC: oops",
            id="500",
        ),
        pytest.param(
            says(http(b"", "202 Accepted")),
            Outcome.HTTP_STATUS,
            "HTTP 202 without JSON-RPC",
            id="202",
        ),
        pytest.param(
            says(http(b"", "307 Moved", extra="Location: /mcp/\r\n")),
            Outcome.HTTP_STATUS,
            "HTTP 307 without JSON-RPC: redirected to /mcp/",
            id="redirect",
        ),
        pytest.param(
            says(b"SSH-2.0-OpenSSH_9.9\r\n"),
            Outcome.GARBAGE,
            "no JSON-RPC: not HTTP/1.1: SSH-2.0-",
            id="ssh",
        ),
        pytest.param(
            says(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            Outcome.GARBAGE,
            "no JSON-RPC: a Content-Length that is not a number: ",
            id="length",
        ),
        pytest.param(
            says(STREAM + CHUNKED, b"zz\r\n"),
            Outcome.GARBAGE,
            "no JSON-RPC: a chunk without a size: ",
            id="chunk",
        ),
        pytest.param(
            then_closes(says(STREAM + b"\r\n", b": hello\n\n")),
            Outcome.CLOSED,
            "the connection was closed: the event stream ended without an answer",
            id="stream without an answer",
        ),
        pytest.param(
            says(STREAM + CHUNKED, chunk(b'data: {"jsonrpc":"2.0","id":9,"result":{}}\n\n')),
            Outcome.WRONG_ID,
            "an answer under another id: id 9",
            id="wrong id in a stream",
        ),
        pytest.param(
            says(STREAM + CHUNKED, chunk(b"data: hello\n\n")),
            Outcome.GARBAGE,
            "no JSON-RPC: not JSON: hello",
            id="garbage in a stream",
        ),
        pytest.param(
            says(b"HTTP/1.1 200 OK\r\n" + CHUNKED, *[chunk(b"{")] * 30),
            Outcome.NO_ANSWER,
            "no answer in time: nothing within 0.4 s",
            id="drip",
        ),
    ],
)
def test_each_misdeed_has_its_outcome(
    behave: Behaviour, outcome: Outcome, words: str, request: pytest.FixtureRequest
) -> None:
    reply = ask_once(behave, WAITED_FOR.get(request.node.callspec.id, HANG_SECONDS))
    assert reply.outcome is outcome
    line = reply.describe()
    assert line.startswith(words) if words.endswith((" ", "-")) else line == words
    assert len(line) < 500
    assert line.isprintable()
    assert reply.error is None
    assert reply.seconds < AT_ONCE


@pytest.mark.parametrize("other", [b"true", b"1.0", b'"1"', b"[1]", b"null"])
def test_only_the_very_id_is_ours(other: bytes) -> None:
    """Python takes 1, 1.0 and True for equal."""
    back = b'{"jsonrpc":"2.0","id":' + other + b',"result":{}}'
    with HostileServer(answer(back)) as server, HttpTransport(server.url) as transport:
        reply = ask(transport, request_id=1)
    assert reply.outcome is Outcome.WRONG_ID
    assert reply.result is None


@pytest.mark.parametrize(
    ("head", "piece", "times"),
    [
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", MEGABYTE, 100, id="declared"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + CHUNKED, chunk(MEGABYTE), 100, id="chunked"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", MEGABYTE, 100, id="until close"),
        pytest.param(STREAM + CHUNKED, chunk(b": comment\n" * 10_000), 1000, id="endless comments"),
        pytest.param(
            STREAM + CHUNKED, chunk(b"data: " + MEGABYTE + b"\n"), 100, id="endless event"
        ),
    ],
)
def test_a_hundred_megabytes_are_cut_off(
    head: bytes, piece: bytes, times: int, recorded: Recording
) -> None:
    with (
        HostileServer(floods(head, piece, times)) as server,
        HttpTransport(server.url) as transport,
    ):
        reply = ask(transport)
        entry = exchanges(recorded)[-1]
    assert reply.outcome is Outcome.TOO_LARGE
    assert reply.describe().startswith("too large: ")
    assert "at most 8388608 are read" in reply.describe()
    assert len(reply.raw) < 10 * 2**20
    assert len(entry.received.head) <= 64 * 1024
    assert reply.seconds < AT_ONCE


def test_an_endless_header_is_cut_off() -> None:
    reply = ask_once(floods(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 10_000, 100))
    assert reply.outcome is Outcome.GARBAGE
    assert "headers without an end" in reply.describe()


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(b"data: %s\n\n" % OK, id="plain"),
        pytest.param(b"event: message\r\nid: 1\r\ndata: %s\r\n\r\n" % OK, id="CRLF"),
        pytest.param(b"data: %s\r\r" % OK, id="CR"),
        pytest.param(
            b"\xef\xbb\xbf:hello\n\nretry: 5\n\ndata:%s\n\n" % OK, id="byte order mark, comment"
        ),
        pytest.param(b"id: 1\ndata: \n\ndata: %s\n\n" % OK, id="priming event"),
        pytest.param(
            b'data: {"jsonrpc":"2.0",\ndata: "id":7,"result":{"ok":true}}\n\n', id="lines"
        ),
        pytest.param(
            b'data: {"jsonrpc":"2.0","method":"notifications/x"}\n\ndata: %s\n\n' % OK, id="events"
        ),
        pytest.param(
            b'event: other\ndata: {"jsonrpc":"2.0","id":7,"result":1}\n\ndata: %s\n\n' % OK,
            id="kinds",
        ),
        pytest.param(b"data: what?\n\ndata: %s\n\n" % OK, id="garbage first"),
    ],
)
@pytest.mark.parametrize("pieces", ["whole", "bytes"])
def test_an_answer_is_found_in_a_stream_that_does_not_end(stream: bytes, pieces: str) -> None:
    parts = [stream] if pieces == "whole" else [bytes([byte]) for byte in stream]
    reply = ask_once(says(STREAM + CHUNKED, *map(chunk, parts)))
    assert reply.outcome is Outcome.RESULT, reply.describe()
    assert reply.result == {"ok": True}
    assert json.loads(reply.raw) == reply.message
    assert reply.seconds < AT_ONCE


def test_interim_responses_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    assert ask_once(says(*interim), 0.4).outcome is Outcome.NO_ANSWER
    assert ask_once(says(*interim, http(OK))).result == {"ok": True}


def test_the_very_bytes_go_both_ways(recorded: Recording) -> None:
    """Duplicate members, NaN, a lone surrogate, no UTF-8, odd spacing: nothing is touched."""
    sent = b'{ "jsonrpc":"2.0","id":7 , "method":"x","params":{"a":NaN,"a":"\\ud800\xff"}}\r\n'
    back = b'{"id" : 7,"jsonrpc":"2.0", "result":{"a":1,"a":"\\ud800"} }\n'
    with HostileServer(says(http(back))) as server, HttpTransport(server.url) as transport:
        reply = transport.exchange(Outgoing(sent, 7, "x"), Deadline(HANG_SECONDS))
        assert server.requests[0].endswith(b"\r\n\r\n" + sent)
        assert reply.raw == back
        assert exchanges(recorded)[0].sent.head == sent
        assert exchanges(recorded)[0].received.head == back
        assert reply.describe() == r'result {"a":"\ud800"}'


def test_one_connection_serves_many_calls() -> None:
    with (
        HostileServer(says(http(OK))) as server,
        HttpTransport(server.url) as transport,
    ):
        for _ in range(5):
            assert ask(transport).outcome is Outcome.RESULT
        assert server.connections == 1


def test_a_connection_closed_while_idle_is_replaced() -> None:
    """The server closes after each answer without saying so; no call notices."""
    with (
        HostileServer(then_closes(says(http(OK)))) as server,
        HttpTransport(server.url) as transport,
    ):
        for _ in range(5):
            assert ask(transport).outcome is Outcome.RESULT
            # The end of the connection is on its way; it must be here before the next call.
            resting = transport._resting[0].connection if transport._resting else None
            if resting is not None:
                resting.socket.settimeout(HANG_SECONDS)
                assert resting.socket.recv(1, socket.MSG_PEEK) == b""
        assert len(server.requests) == 5


def test_a_request_that_may_have_run_is_never_sent_twice() -> None:
    served: list[int] = []

    def answers_once(connection: socket.socket, request: bytes) -> None:
        served.append(1)
        if len(served) > 1:
            raise ConnectionAbortedError
        says(http(OK))(connection, request)

    with HostileServer(answers_once) as server, HttpTransport(server.url) as transport:
        assert ask(transport).outcome is Outcome.RESULT
        assert ask(transport).outcome is Outcome.CLOSED
        assert len(server.requests) == 2


def test_credentials_are_sent_and_not_recorded(recorded: Recording) -> None:
    with (
        HostileServer(says(http(OK, extra="Set-Cookie: a=secret\r\n"))) as server,
        HttpTransport(
            server.url, {"X-Token": "secret", "Authorization": "Bearer secret"}
        ) as transport,
    ):
        reply = ask(transport)
        assert server.requests[0].count(b"secret") == 2
        assert reply.header("set-cookie") == "a=secret"
        (one,) = exchanges(recorded)
        assert "secret" not in repr(one)


def test_a_header_that_breaks_its_line_is_refused() -> None:
    with (
        HttpTransport("http://127.0.0.1:1/mcp") as transport,
        pytest.raises(ValueError, match="would break"),
    ):
        transport.exchange(Outgoing(b"{}", 1, headers=(("X", "a\r\nY: b"),)), Deadline(0.1))
