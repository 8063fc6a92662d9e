"""The proxy does to one request what it was told, and nothing to all others."""

from __future__ import annotations

import http.client
import socketserver
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from pytest_mcp_approval.support.connection import AddressError
from pytest_mcp_approval.support.fault_proxy import ALL_BUT_THE_LAST, FaultProxy, NetworkFault

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
BODY = b'{"approve": true}'


class Recorder(socketserver.ThreadingTCPServer):
    """Answers each whole request, and keeps what arrived, whole or not."""

    daemon_threads = True

    def __init__(self) -> None:
        self.arrived: list[bytes] = []
        self.changed = threading.Condition()
        super().__init__(("127.0.0.1", 0), _Reader)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/mcp"

    def wait_for(self, count: int) -> list[bytes]:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.arrived) >= count, 10)
            return list(self.arrived)


class _Reader(socketserver.BaseRequestHandler):
    server: Recorder

    def handle(self) -> None:
        data = b""
        while not data.endswith(BODY):
            piece = self.request.recv(4096)
            if not piece:
                break
            data += piece
        else:
            self.request.sendall(ANSWER)
        with self.server.changed:
            self.server.arrived.append(data)
            self.server.changed.notify_all()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture
def proxy(recorder: Recorder) -> Iterator[FaultProxy]:
    with FaultProxy(recorder.url) as running:
        yield running


def post(proxy: FaultProxy) -> bytes:
    parts = urlsplit(proxy.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request("POST", parts.path, BODY, {"Keep-Alive": "5", "X-Mine": "kept"})
        return connection.getresponse().read()
    finally:
        connection.close()


def test_others_pass_with_the_servers_own_host(proxy, recorder):
    assert post(proxy) == b"hello"
    (request,) = recorder.wait_for(1)
    head = request.partition(b"\r\n\r\n")[0].split(b"\r\n")
    assert head[0] == b"POST /mcp HTTP/1.1"
    assert f"Host: {urlsplit(recorder.url).netloc}".encode() in head
    assert [line for line in head if line.lower().startswith(b"host:")] == [head[1]]
    assert b"Connection: close" in head
    assert b"X-Mine: kept" in head


@pytest.mark.parametrize("part", [0.0, 0.1, ALL_BUT_THE_LAST])
def test_an_answer_is_lost_or_cut_after_the_server_gave_it(proxy, recorder, part):
    proxy.arm(NetworkFault("lost", answer_until=part))
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        post(proxy)
    assert proxy.spoilt
    assert recorder.wait_for(1)[0].endswith(BODY)
    assert post(proxy) == b"hello", "one request only"


def test_a_request_arrives_twice(proxy, recorder):
    proxy.arm(NetworkFault("doubled", copies=2))
    assert post(proxy) == b"hello"
    one, other = recorder.wait_for(2)
    assert one == other


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, ALL_BUT_THE_LAST])
def test_a_request_is_cut(proxy, recorder, part):
    proxy.arm(NetworkFault("cut", request_until=part))
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        post(proxy)
    assert proxy.spoilt
    (cut,) = recorder.wait_for(1)
    assert post(proxy) == b"hello"
    whole = recorder.wait_for(2)[1]
    assert len(cut) == (len(whole) - 1 if part == ALL_BUT_THE_LAST else round(len(whole) * part))
    assert whole.startswith(cut)


def test_slow_halves_arrive_whole(proxy, recorder):
    proxy.arm(NetworkFault("slow", pause=0.05))
    assert post(proxy) == b"hello"
    assert recorder.wait_for(1)[0].endswith(BODY)


def test_a_server_that_is_gone_ends_one_connection(recorder):
    url = "http://localhost:9/mcp"
    with FaultProxy(url) as proxy:
        for _ in range(2):
            with pytest.raises((http.client.HTTPException, ConnectionError)):
                post(proxy)


def test_what_is_no_url_is_said():
    with pytest.raises(AddressError, match="not an http or https URL"):
        FaultProxy("stdio:server")


def test_it_ends_when_it_is_closed(proxy):
    proxy.close()
    with pytest.raises(ConnectionError):
        post(proxy)
