"""A user's hook, as a command and as an endpoint: told exactly, and every failure is one line."""

from __future__ import annotations

import datetime
import json
import shlex
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from pytest_mcp_approval.clock import ClockError, HookClock
from tests.wire.hostile import HANG_SECONDS, HostileServer, drips, http, says

NOON = datetime.datetime(2030, 6, 1, 12, 0, 0, 1999, tzinfo=datetime.UTC)
KEEP = "import sys; open(sys.argv[1], 'a').write(sys.argv[2] + '\\n')"


def python(code, *words):
    return shlex.join([sys.executable, "-c", code, *words])


def test_a_command_gets_the_instant_as_its_last_word(tmp_path):
    told = tmp_path / "told"
    clock = HookClock(python(KEEP, str(told)), 30.0)
    berlin = datetime.timezone(datetime.timedelta(hours=2))
    clock.move_to(NOON.astimezone(berlin))
    assert clock.now() == NOON
    clock.advance(60)
    clock.release()
    clock.release()  # nothing is moved any more, so nobody is called
    lines = told.read_text().splitlines()
    # Cut off, not rounded: an instant before a boundary stays before it.
    assert lines == ["2030-06-01T12:00:00.001Z", "2030-06-01T12:01:00.001Z", "release"]


@pytest.mark.parametrize(
    ("command", "timeout", "words"),
    [
        ("no-such-command-here", 30.0, "no such command: no-such-command-here"),
        (python("import sys; sys.exit('no such clock')"), 30.0, "exit code 1, expected 0: no such"),
        (python("import threading; threading.Event().wait(60)"), 0.3, "did not end within 0.3 s"),
        (python("import os; os.write(2, b'\\x1b[31mred\\n'); os._exit(3)"), 30.0, r"\\u001b"),
    ],
    ids=["not-there", "fails", "hangs", "paints-the-terminal"],
)
def test_a_command_that_fails_is_told_in_one_line(command, timeout, words):
    with pytest.raises(ClockError, match=words) as raised:
        HookClock(command, timeout).move_to(NOON)
    assert len(str(raised.value).splitlines()) == 1


def test_what_a_command_leaves_running_does_not_hold_the_suite():
    leaves = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        "'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)"
    )
    HookClock(python(leaves), HANG_SECONDS).move_to(NOON)


def test_a_hook_that_failed_half_way_is_still_released(tmp_path):
    told = tmp_path / "told"
    fails = f"{KEEP}; sys.exit(sys.argv[2] != 'release')"
    clock = HookClock(python(fails, str(told)), 30.0)
    with pytest.raises(ClockError):
        clock.move_to(NOON)
    clock.release()
    assert told.read_text().splitlines()[-1] == "release"


@pytest.fixture
def endpoint():
    """Answers with `status`; keeps what it was told; with status None it never answers."""
    told, done = [], threading.Event()

    class Server(HTTPServer):
        status: int | None = 204
        told: list[Any]
        url: str

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if server.status is None:
                done.wait(30)
                return
            body = b"the clock is stuck"
            self.send_response(server.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.told = told
    server.url = f"http://127.0.0.1:{server.server_port}/clock"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    done.set()
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_an_endpoint_gets_json(endpoint):
    endpoint.status = 200
    clock = HookClock(endpoint.url, HANG_SECONDS)
    clock.move_to(NOON)
    clock.release()
    assert endpoint.told == [{"now": "2030-06-01T12:00:00.001Z"}, {"now": None}]


@pytest.mark.parametrize(
    ("status", "seconds", "words"),
    [
        (500, HANG_SECONDS, "got status 500, expected 2xx: the clock is stuck"),
        (None, 0.3, "no answer within 0.3 s"),
    ],
)
def test_an_endpoint_that_fails_is_told(endpoint, status, seconds, words):
    endpoint.status = status
    with pytest.raises(ClockError, match=words):
        HookClock(endpoint.url, seconds).move_to(NOON)


def test_an_endpoint_that_is_not_there_is_told():
    with pytest.raises(ClockError, match="refused"):
        HookClock("http://127.0.0.1:9/clock", HANG_SECONDS).move_to(NOON)


@pytest.mark.parametrize(
    "piece", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nx"]
)
def test_an_endpoint_that_never_comes_to_an_end_is_left(piece):
    """A socket's own time-out begins anew with every byte that drips in."""
    with (
        HostileServer(drips(piece, piece)) as server,
        pytest.raises(ClockError, match=r"no (whole )?answer within 0\.4 s"),
    ):
        HookClock(server.url, 0.4).move_to(NOON)


def test_an_endpoint_that_leads_elsewhere_is_told():
    with HostileServer(says(http(b""))) as other:
        place = f"Location: {other.url}\r\n"
        with (
            HostileServer(says(http(b"", "307 Elsewhere", extra=place))) as server,
            pytest.raises(ClockError, match="another origin and is not followed"),
        ):
            HookClock(server.url, HANG_SECONDS).move_to(NOON)
        assert other.requests == []
