"""Before the first verdict: targets that are not there, are no servers, or are configured wrongly.

Each is reported in one line, in bounded time, with its own exit code, and never with a traceback.
"""

from __future__ import annotations

import itertools
import shlex
import socket
import sys
import threading
import time

import pytest

from pytest_mcp_approval.target import Effects, EffectsProbe
from tests.inner_runs import Verdicts
from tests.warm_python import warm_python
from tests.wire.hostile import AT_ONCE, HANG_SECONDS

PREFLIGHT_FAILED = 10


def said(result: pytest.RunResult) -> str:
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    return text


@pytest.fixture
def http_server():
    """Answers every connection with given bytes, or keeps silent."""
    listeners = []

    def start(answer: bytes | None) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        held = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                held.append(connection)
                if answer is not None:
                    connection.recv(65536)
                    connection.sendall(answer)
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"

    yield start
    for listener in listeners:
        listener.close()


def http(body: bytes, kind: bytes = b"application/json", status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (status, kind, len(body)) + body


def test_nobody_is_there(suite):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = suite.run(target=f"http://127.0.0.1:{port}/mcp")
    assert result.ret == PREFLIGHT_FAILED
    assert "cannot speak to the target" in said(result)
    assert "Is the server running" in said(result)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            http(b"<html><body>hello</body></html>", b"text/html"),
            "not an MCP server: answered HTML",
        ),
        (http(b"not json at all"), "not an MCP server"),
        (http(b'{"jsonrpc":"2.0","id":987654,"result":{}}'), "an answer under another id"),
        (http(b"", status=b"500 Internal Server Error"), "HTTP 500"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "not an MCP server"),
        (None, "nothing within 2 s"),
    ],
    ids=["html", "garbage", "another-id", "500", "cut-short", "silence"],
)
def test_what_answers_is_no_mcp_server(suite, http_server, answer, words):
    # What is not answered, or not to its end, takes its time; all else is known at once.
    whole = answer is not None and not answer.endswith(b"{")
    started = time.monotonic()
    seconds = HANG_SECONDS if whole else 2
    result = suite.run(f"--mcp-approval-timeout={seconds}", target=http_server(answer))
    assert result.ret == PREFLIGHT_FAILED
    assert words in said(result)
    assert time.monotonic() - started < AT_ONCE, "it did not wait for what will not come"


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('no database here')", "no database here"),
        ("import time; time.sleep(60)", "nothing within 1 s"),
        (
            "print('hello, I am a shell', flush=True)\nimport time; time.sleep(60)",
            "hello, I am a shell",
        ),
    ],
    ids=["exits", "never-answers", "chats"],
)
def test_a_command_that_does_not_serve(suite, program, words):
    script = suite.pytester.makepyfile(server=program)
    target = f"stdio:{sys.executable} {script}"
    # A command that ends is noticed at once; only silence takes time.
    seconds = 10 if "exit" in program else 1
    limits = [f"--mcp-approval-{name}={seconds}" for name in ("timeout", "launch-timeout")]
    result = suite.run(*limits, target=target)
    assert result.ret == PREFLIGHT_FAILED
    # Chatter that came before anything was asked answers nothing, so there is none to quote.
    assert words in said(result) or ("hello" in words and "nothing within 1 s" in said(result))


def test_a_command_that_is_not_there(suite):
    result = suite.run(target="stdio:no-such-command-anywhere --serve")
    assert result.ret == PREFLIGHT_FAILED
    assert "no-such-command-anywhere" in said(result)


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (None, "app", "no module 'missing_server'"),
        ("x = 1", "app", "has no 'app'"),
        ("def app(): raise RuntimeError('not today')", "app", "not today"),
        ("1 / 0", "app", "ZeroDivisionError"),
    ],
    ids=["no-module", "no-factory", "factory-raises", "import-raises"],
)
def test_a_factory_that_gives_no_server(suite, text, name, words):
    if text is not None:
        suite.pytester.makepyfile(missing_server=text)
    result = suite.run(target=f"python:missing_server:{name}")
    assert result.ret == PREFLIGHT_FAILED
    assert words in said(result)


def test_a_wrong_origin_is_diagnosed_as_such(suite):
    result = suite.run("--mcp-approval-origin=http://localhost:5173")
    assert result.ret == PREFLIGHT_FAILED
    text = said(result)
    assert "most likely the origin: the suite signed as http://localhost:5173" in text
    assert "rp.id is localhost" in text
    assert "--mcp-approval-origin=" in text


def test_a_server_that_gates_nothing_is_no_target(suite):
    script = suite.pytester.makepyfile(
        plain="""
        from pytest_mcp_approval.reference_server.assembly import build

        build(settings={"sep2672": {"declare": False}}).run_stdio()
        """
    )
    result = suite.run(target=f"stdio:{shlex.join(warm_python())} {script}")
    assert result.ret == PREFLIGHT_FAILED
    assert "asks for no approval" in said(result)


def test_the_header_says_what_is_judged_and_with_what(suite):
    result = suite.run("--mcp-approval-select=sep2672/4.8-03-method")
    result.stdout.fnmatch_lines(
        [
            "mcp-approval  target   reference  (sessionless era, 2026-07-28; reference-server *",
            "*gated *place_trade (cross-platform)*wipe_cache (platform)*",
            "*enrol *a security key, on the page http://localhost",
            "*clock *injected, moves (checked +3600 s)",
            "*approved *once, honestly: sep2672",
            "*effects *tool list_effects",
        ]
    )


def test_the_handshake_era_can_be_asked_for(suite):
    result = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method", "--mcp-approval-protocol=2025-11-25"
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*(handshake era, 2025-11-25; *"])


def test_an_effects_probe_that_is_not_there_is_noticed(suite):
    result = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method", "--mcp-approval-effects=tool:get_nothing"
    )
    assert result.ret == PREFLIGHT_FAILED
    assert "effects: got 'tool:get_nothing', which the server does not list" in said(result)


def test_a_clock_that_does_not_move_is_not_trusted(suite):
    """This server takes its time from the file system, which freezegun does not reach."""
    suite.pytester.makepyfile(
        own_server="""
        import datetime, os, tempfile
        from pytest_mcp_approval.reference_server.assembly import build

        class FileSystemClock:
            def now(self):
                with tempfile.NamedTemporaryFile() as made:
                    seconds = os.stat(made.name).st_mtime
                return datetime.datetime.fromtimestamp(seconds, datetime.UTC)

        def make():
            return build(clock=FileSystemClock()).asgi_app()
        """
    )
    result = suite.run(
        "--mcp-approval-origin=http://localhost",
        "--mcp-approval-tool=wipe_cache={}",
        "--mcp-approval-effects=tool:list_effects",
        "--mcp-approval-select=sep2672/4.8-06-challenge-unexpired",
        "--mcp-approval-browser=none",
        target="python:own_server:make",
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*clock *none: freezegun does not move it*"])
    outcomes = result.parseoutcomes()
    assert "failed" not in outcomes
    assert "not verified" in result.stdout.str()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http(b"no such page", status=b"404 Not Found"), "HTTP 404: no such page"),
        (http(b"[" * 100_000), "JSON with excessive nesting or numbers"),
        (http(b"", status=b"401 No"), "give it with --mcp-approval-header="),
        (http(b"<html>"), "not JSON"),
    ],
    ids=["404", "deep", "401", "html"],
)
def test_effects_that_cannot_be_read(suite, http_server, answer, words):
    """A typo in the address, most likely: said before anything is judged."""
    url = http_server(answer)
    result = suite.run(f"--mcp-approval-effects={url}", "--mcp-approval-select=sep2672/4.2*")
    assert result.ret == PREFLIGHT_FAILED
    line = f"mcp-approval  --mcp-approval-effects cannot be read: effects at {url}: "
    assert line in said(result)
    assert words in said(result)
    assert "It has to answer with JSON" in said(result)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (b"401 No", b"", "give it with --mcp-approval-header="),
        (b"403 No", b"<html>", "give it with --mcp-approval-header="),
        (b"429 No\r\nRetry-After: 30", b"", "slow down: it limits how often it is asked (Retry"),
        (
            b"401 No",
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"token?"}}',
            "give it with --mcp-approval-header=",
        ),
    ],
    ids=["401", "403", "429", "401 with an error"],
)
def test_a_server_that_wants_something_else_first(suite, http_server, status, body, words):
    url = http_server(http(body, status=status))
    options = ("--mcp-approval-header=X-Own: 1", "--mcp-approval-protocol=2025-11-25")
    result = suite.run("--mcp-approval-timeout=5", *options, target=url)
    assert result.ret == PREFLIGHT_FAILED
    assert words in said(result)
    assert "Headers of yours that were sent: X-Own" in said(result)
    assert "Is the server running" not in said(result)


def test_a_probe_that_cannot_tell_is_said_to_be_one_and_nothing_is_judged_by_it(suite, monkeypatch):
    """It changes by itself: by it every refused call would have run."""
    numbers = itertools.count()
    monkeypatch.setattr(EffectsProbe, "look", lambda _: Effects(next(numbers), str(next(numbers))))
    listening = Verdicts()
    result = suite.run(
        "--mcp-approval-family=sep2672",
        "--mcp-approval-browser=none",
        "--mcp-approval-select=sep2672/4.8-03-method",
        "--mcp-approval-select=sep2672/4.5*",
        plugins=[listening],
    )
    text = " ".join(result.stdout.str().split())
    assert "effects tool list_effects cannot tell: it changed between two looks" in text
    verdicts = {one["verdict"] for one in listening.found if "4.8-03" in str(one["rules"])}
    assert verdicts == {"passed"}
    unjudged = [one["why"] for one in listening.found if one["verdict"] == "not verified"]
    assert any("the effects probe cannot tell: it changed" in why for why in unjudged)
