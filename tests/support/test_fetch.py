"""One HTTP client for all of the suite: bounded in time and size, and limited to one origin."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from pytest_mcp_approval.support import fetch as fetching
from pytest_mcp_approval.support.connection import is_loopback
from pytest_mcp_approval.support.fetch import (
    ClosedError,
    FetchError,
    NoAnswerError,
    NotConnectedError,
    NotHttpError,
    RedirectError,
    TooLargeError,
    fetch,
)
from tests.wire.hostile import (
    AT_ONCE,
    HANG_SECONDS,
    Behaviour,
    HostileServer,
    drips,
    floods,
    http,
    says,
    then_closes,
)

SECONDS = 0.4
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


def redirect(place: str, status: str = "302 Found") -> Behaviour:
    return says(http(b"", status, extra=f"Location: {place}\r\n"))


@contextlib.contextmanager
def told(expected: type[FetchError], words: str) -> Iterator[None]:
    """In one printable line, and without waiting for what does not come."""
    started = time.monotonic()
    with pytest.raises(expected, match=words) as caught:
        yield
    assert time.monotonic() - started < AT_ONCE
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


WITHOUT_END = [
    pytest.param(says(), "no answer within 0.4 s", id="silence"),
    pytest.param(drips(b"", CONTINUE), "no answer within 0.4 s", id="interim responses"),
    pytest.param(
        floods(b"", CONTINUE * 1000, 10**9), "no answer within 0.4 s", id="flood of interim ones"
    ),
    pytest.param(drips(HEAD, b"X"), "no answer within 0.4 s", id="head"),
    pytest.param(drips(HEAD + b"Content-Length: 9999\r\n\r\n", b"x"), "no whole answer", id="body"),
    pytest.param(drips(HEAD + CHUNKED, b"1\r\nx\r\n"), "no whole answer", id="chunks"),
    pytest.param(drips(HEAD + b"\r\n", b"x"), "no whole answer", id="until close"),
    pytest.param(drips(HEAD + CHUNKED + b"0\r\n", b"A: b\r\n"), "no whole answer", id="trailers"),
]


@pytest.mark.parametrize(("behave", "words"), WITHOUT_END)
def test_one_deadline_holds_for_the_whole_answer(behave: Behaviour, words: str) -> None:
    # On a busy machine not even the head may come in time.
    expected = words.replace("no whole", "no (whole )?").replace("? answer", "?answer")
    with HostileServer(behave) as server, told(NoAnswerError, expected):
        fetch(server.url, seconds=SECONDS)


@pytest.mark.parametrize(
    ("behave", "expected", "words"),
    [
        pytest.param(then_closes(says()), ClosedError, "without an answer", id="closes"),
        pytest.param(
            then_closes(says(http(b"whole")[:-2])), ClosedError, "in the middle", id="cut short"
        ),
        pytest.param(
            says(b"SSH-2.0-x\r\n"), NotHttpError, "invalid HTTP response: not HTTP/1.1", id="ssh"
        ),
        pytest.param(
            floods(HEAD, b"X: y\r\n" * 10_000, 100), NotHttpError, "headers without", id="headers"
        ),
        pytest.param(
            says(HEAD + b"Content-Length: 1001\r\n\r\n"), TooLargeError, "than 1000", id="declared"
        ),
        pytest.param(
            floods(HEAD + b"\r\n", b"x" * 2**16, 100), TooLargeError, "than 1000", id="large"
        ),
    ],
)
def test_what_is_no_answer_says_why(
    behave: Behaviour, expected: type[FetchError], words: str
) -> None:
    with HostileServer(behave) as server, told(expected, words):
        fetch(server.url, seconds=HANG_SECONDS, limit=1000)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/", "connection refused"),
        ("ftp://localhost/", "not an http or https URL"),
        ("http://localhost:port/", "not a URL"),
        ("http://[::1", "not a URL"),
    ],
)
def test_nobody_to_ask(url: str, words: str) -> None:
    with told(NotConnectedError, words):
        fetch(url, seconds=HANG_SECONDS)


def test_a_header_that_breaks_out_of_its_line_is_not_sent() -> None:
    with HostileServer(says(http(b""))) as server:
        with told(NotConnectedError, "would break"):
            fetch(server.url, seconds=HANG_SECONDS, headers={"X": "a\r\nY: b"})
        assert server.requests == []


def test_the_beginning_may_be_enough() -> None:
    with HostileServer(drips(HEAD + b"\r\n12345", b"")) as server:
        assert fetch(server.url, seconds=HANG_SECONDS, limit=3, cut=True).body == b"123"
        assert fetch(server.url, seconds=HANG_SECONDS, limit=0, cut=True).status == 200


def test_an_answer_of_any_status_is_one() -> None:
    with HostileServer(says(CONTINUE + http(b"gone", "404 Not Found", extra="A: 1\r\n"))) as server:
        own = {"X-Own": "1"}
        answer = fetch(server.url, seconds=HANG_SECONDS, method="POST", body=b"{}", headers=own)
    assert (answer.status, answer.body, answer.header("a"), answer.ok) == (404, b"gone", "1", False)
    assert server.requests[0].startswith(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nX-Own: 1\r\n" in server.requests[0]
    assert server.requests[0].endswith(b"Content-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_no_redirect_leads_to_another_origin(status: str) -> None:
    """Not even to another port of the same machine: the header is meant for one server."""
    with (
        HostileServer(says(http(b"caught"))) as other,
        HostileServer(redirect(other.url, status)) as server,
    ):
        with told(RedirectError, f"redirected to {other.url}, which is another origin"):
            fetch(server.url, seconds=HANG_SECONDS, headers={"Authorization": "Bearer secret"})
        assert other.requests == []


@pytest.mark.parametrize("place", ["//elsewhere.example/x", "http://[", "file:///etc/passwd", "x:"])
def test_odd_redirects_are_told(place: str) -> None:
    with HostileServer(redirect(place)) as server, told(RedirectError, "redirected to"):
        fetch(server.url, seconds=HANG_SECONDS)


def test_a_redirect_within_the_origin_is_followed_with_its_headers() -> None:
    def behave(connection: socket.socket, request: bytes) -> None:
        moved = request.startswith(b"GET /mcp ")
        (redirect("/mcp/?a=1#part", "307 X") if moved else says(http(b"here")))(connection, request)

    with HostileServer(behave) as server:
        answer = fetch(server.url, seconds=HANG_SECONDS, headers={"X-Own": "1"})
        assert (answer.body, answer.url) == (b"here", f"{server.url}/?a=1")
        assert [b"X-Own: 1" in one for one in server.requests] == [True, True]
        assert fetch(server.url, seconds=HANG_SECONDS, follow=False).status == 307


def test_redirects_in_circles_end() -> None:
    with HostileServer(redirect("/mcp")) as server, told(RedirectError, "more than 5 redirects"):
        fetch(server.url, seconds=HANG_SECONDS)


def test_a_body_is_not_dropped_on_the_way() -> None:
    with HostileServer(redirect("/there")) as server, told(RedirectError, "drops the body"):
        fetch(server.url, seconds=HANG_SECONDS, method="POST", body=b"{}")
    with HostileServer(redirect("/mcp", "308 Permanent")) as server:
        with told(RedirectError, "more than 5"):
            fetch(server.url, seconds=HANG_SECONDS, method="POST", body=b"{}")
        assert all(one.endswith(b"\r\n\r\n{}") for one in server.requests)


def test_a_name_that_is_not_looked_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    listening, waiting = socket.socketpair()

    def never(*_: object, **__: object) -> list[object]:
        waiting.recv(1)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", never)
    try:
        with told(NotConnectedError, "slow.example was not resolved within 0.4 s"):
            fetch("http://slow.example/", seconds=SECONDS)
    finally:
        listening.close()
        waiting.close()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "--mcp-approval-header="),
        (403, "--mcp-approval-header="),
        (429, "slow down: it limits how often it is asked (Retry-After: 7\\u001b"),
    ],
)
def test_a_status_says_what_to_do(status: int, words: str) -> None:
    late = "7\x1b[31m" + "x" * 5000
    line = fetching.Fetched("", status, (("Retry-After", late),), b"").describe()
    assert line.startswith(f"HTTP {status}: ")
    assert words in line
    assert line.isprintable()
    assert len(line) < 250


def test_loopback_by_name_and_number() -> None:
    for host in ("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.1.2.3", "::1", "[::1]"):
        assert is_loopback(host), host
    for host in ("localhost.evil", "128.0.0.1", "0x7f000001", "10.0.0.1", "", "::2"):
        assert not is_loopback(host), host
