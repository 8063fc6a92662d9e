"""Openings that fail over HTTP: each ends in one clear line, of the right kind."""

import re
import socket

import pytest

from pytest_mcp_approval.wire import (
    BadAddressError,
    HttpTransport,
    NothingAnsweredError,
    NotMcpError,
    RefusedError,
    RevisionError,
    UnreachableError,
    WireError,
    open_session,
)
from tests.wire.hostile import Behaviour, HostileServer, http, says, then_closes


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_nobody_there() -> None:
    port = unused_port()
    with (
        HttpTransport(f"http://127.0.0.1:{port}/mcp") as transport,
        pytest.raises(UnreachableError, match=rf"connection refused \(127\.0\.0\.1:{port}\)"),
    ):
        open_session(transport, deadline=1)


def test_a_host_that_does_not_exist() -> None:
    with (
        HttpTransport("http://nowhere.invalid/mcp") as transport,
        pytest.raises(UnreachableError, match=r"no such host: nowhere\.invalid"),
    ):
        open_session(transport, deadline=1)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:3030", "not an http or https URL: localhost:3030"),
        ("ftp://localhost/", "not an http or https URL"),
        ("http://", "not an http or https URL"),
        ("http://localhost:99999/", "not a URL"),
        ("http://localhost:port/", "not a URL"),
        ("http://[::1/", "not a URL"),
        ("http://me:secret@localhost/", "credentials belong in a header"),
        ("http://localhost/m cp", "in ASCII without spaces"),
        ("http://localhost/\u202emcp", r"in ASCII without spaces: http://localhost/\\u202emcp"),
    ],
)
def test_addresses_that_cannot_be_meant(url: str, words: str) -> None:
    with pytest.raises(BadAddressError, match=words) as caught:
        HttpTransport(url)
    assert "secret" not in str(caught.value)


def handshake(result: bytes, **more: str) -> Behaviour:
    """An old server that answers `initialize` with this, and everything else with 404."""

    def behave(connection: socket.socket, request: bytes) -> None:
        if b'"initialize"' in request:
            number = re.findall(rb'"id":([0-9]+)', request)[0]
            body = b'{"jsonrpc":"2.0","id":' + number + b"," + result + b"}"
            says(http(body, **more))(connection, request)
        else:
            says(http(b"", "404 Not Found"))(connection, request)

    return behave


AGREED = b'"result":{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":"?"}'


@pytest.mark.parametrize(
    ("behave", "kind", "words"),
    [
        pytest.param(says(), NothingAnsweredError, "nothing within 0.5 s", id="silence"),
        pytest.param(
            says(http(b"<html>", kind="text/html")),
            NotMcpError,
            "not an MCP server: answered HTML",
            id="html",
        ),
        pytest.param(
            says(http(b"", "404 Not Found")),
            NotMcpError,
            "not an MCP server: HTTP 404 without JSON-RPC",
            id="404",
        ),
        pytest.param(
            says(http(b"", "308 Moved", extra="Location: /mcp/\r\n")),
            NotMcpError,
            "redirected to /mcp/",
            id="redirect",
        ),
        pytest.param(then_closes(says()), NotMcpError, "the connection was closed", id="closes"),
        pytest.param(
            handshake(
                b'"error":{"code":-32000,"message":"\x1b[2Jgo away"}'.replace(b"\x1b", b"\\u001b")
            ),
            RefusedError,
            r"initialize was refused: error -32000 \\u001b\[2Jgo away",
            id="refusal",
        ),
        pytest.param(
            handshake(b'"result":{}'),
            NotMcpError,
            "initialize without a protocolVersion",
            id="no revision",
        ),
        pytest.param(
            handshake(b'"result":{"protocolVersion":"1999-01-01"}'),
            RevisionError,
            "the server offers revision '1999-01-01'; known are 2024-11-05",
            id="revision",
        ),
        pytest.param(
            handshake(AGREED, extra="Mcp-Session-Id: a b\r\n"),
            NotMcpError,
            "a session id that cannot be sent back: 'a b'",
            id="session id",
        ),
        pytest.param(
            handshake(AGREED),
            NotMcpError,
            "notifications/initialized was not accepted",
            id="then 404",
        ),
    ],
)
def test_openings_fail_in_one_clear_line(
    behave: Behaviour, kind: type[WireError], words: str
) -> None:
    with (
        HostileServer(behave) as server,
        HttpTransport(server.url) as transport,
        pytest.raises(kind, match=words) as caught,
    ):
        open_session(transport, deadline=0.5)
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_revision_that_was_asked_for_is_insisted_upon() -> None:
    with HostileServer(handshake(AGREED)) as server, HttpTransport(server.url) as transport:
        with pytest.raises(NotMcpError, match="was not accepted"):
            open_session(transport, "2025-11-25", deadline=0.5)
        with pytest.raises(
            RevisionError, match="does not speak 2026-07-28: HTTP 404 without JSON-RPC"
        ):
            open_session(transport, "2026-07-28", deadline=0.5)
