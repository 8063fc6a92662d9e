"""Requests and answers that do not arrive are given up, and names are checked on any address."""

import socket

import pytest
from mcp.server.mcpserver import MCPServer

from pytest_mcp_approval.reference_server import http_app
from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.server.request_deadline import RequestDeadline
from pytest_mcp_approval.reference_server.server.serving import ServedApplication
from tests.reference_server.running import HEADERS, exchange
from tests.wire.hostile import HostileServer, drips

DEADLINE = 20
HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"


async def echo(scope, receive, send):
    """Answers when the whole body is there."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        body, more = body + message.get("body", b""), message.get("more_body", False)
    length = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def connected():
    listener = socket.create_server(("127.0.0.1", 0))
    served = ServedApplication(echo, listener, log_level="critical", lifespan="off")
    with socket.create_connection(("127.0.0.1", served.port), DEADLINE) as connection:
        yield connection
    served.stop()


def answer_of(connection):
    text = connection.recv(65536)
    while text and b"\r\n\r\n" not in text:
        text += connection.recv(65536)
    return text


UNFINISHED = {
    "nothing": b"",
    "a part of the head": HEAD,
    "a part of the body": HEAD + b"Content-Length: 9\r\n\r\nabc",
    "a part of a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
}


@pytest.mark.parametrize("begun", [False, True], ids=["at first", "after another request"])
@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
def test_a_request_that_does_not_arrive_is_given_up(monkeypatch, connected, sent, begun):
    if begun:
        connected.sendall(HEAD + b"Content-Length: 0\r\n\r\n")
        assert b"200 OK" in answer_of(connected)
    monkeypatch.setattr(RequestDeadline, "request_seconds", 0.05)
    connected.sendall(sent)
    if not begun:  # the limit of this connection was set when it began
        with socket.create_connection(connected.getpeername(), DEADLINE) as another:
            another.sendall(sent)
            assert ended(another)
    elif sent:  # else uvicorn's own limit for idle connections ends it
        assert ended(connected)


def ended(connection):
    try:
        return connection.recv(65536) == b""
    except ConnectionResetError:
        return True


def test_one_that_arrives_in_pieces_is_served(connected):
    for piece in (HEAD, b"Content-Length: 6\r\n", b"\r\nabc", b"def"):
        connected.sendall(piece)
    answer = answer_of(connected)
    assert b"200 OK" in answer
    while not answer.endswith(b"abcdef"):
        answer += connected.recv(65536)
    connected.sendall(HEAD + b"Content-Length: 0\r\n\r\n")
    assert b"200 OK" in answer_of(connected), "and the next one on the same connection"


@pytest.mark.parametrize(
    "behaviour",
    [
        drips(b"HTTP/1.1 200 OK\r\n", b"X"),
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["head", "body", "chunks"],
)
def test_the_gateway_does_not_wait_for_an_answer_in_drops(monkeypatch, behaviour):
    """Each byte comes in time, but the whole answer does not."""
    monkeypatch.setattr(http_client, "SECONDS", 0.4)
    with (
        HostileServer(behaviour) as server,
        pytest.raises(http_client.SendingError, match="no answer from"),
    ):
        http_client.send("GET", server.url, {}, b"")


# ---- names


def statuses(app, *requests):
    listener = socket.create_server(("127.0.0.1", 0))
    served = ServedApplication(app, listener, log_level="critical")
    try:
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        return [exchange(served.port, body, {**HEADERS, **one})[0] for one in requests]
    finally:
        served.stop()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "bank.example", "127.0.0.1", None])
def test_names_and_pages_are_checked_on_any_address(host):
    options = {} if host is None else {"host": host}
    app = http_app(
        MCPServer("names"),
        allowed_hosts=["proxy.example"],
        allowed_origins=["https://page.example"],
        **options,
    )
    refused = statuses(
        app,
        {"Host": "evil.example"},
        {"Host": "0.0.0.0"},
        {"Origin": "https://evil.example"},
        {"Origin": "https://page.example.evil.example"},
    )
    assert refused == [421, 421, 403, 403]
    own = [{"Host": f"{host}:80"}] if host == "bank.example" else []
    app = http_app(
        MCPServer("names"),
        allowed_hosts=["proxy.example"],
        allowed_origins=["https://page.example"],
        **options,
    )
    pages = [{"Host": "proxy.example"}, {"Origin": "https://page.example"}]
    assert not {421, 403} & {*statuses(app, {}, *own, *pages)}
