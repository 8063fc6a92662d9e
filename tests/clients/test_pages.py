"""A client that is a web page, in a real browser: the same rules, and the same person."""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.inner_runs import WHOLE

EXAMPLE = Path(__file__).parents[2] / "examples" / "web-client"
FEW = (
    "--mcp-approval-select=sep2672/4.9-client-challenge-first",
    "--mcp-approval-select=elicitation/client-new-id",
)
Serve = Callable[[Path], str]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves a folder, and gives the page in it as the option names it."""
    servers = []

    def start(folder: Path) -> str:
        handler = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return f"http://localhost:{server.server_port}/index.html?server={{url}}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def check(suite, page: str, *words: str) -> pytest.RunResult:
    # A busy machine is slow, which is not what is checked here.
    slow = "--mcp-approval-set=client.patience=30"
    named = f"--mcp-approval-client-page={page}"
    result: pytest.RunResult = suite.run(
        named, slow, "--mcp-approval-findings=none", *words, target=None
    )
    if "needs a browser" in result.stdout.str():
        pytest.skip("needs a browser")
    return result


def test_a_page_is_checked_as_a_program_is(suite, serve: Serve):
    words = ("--mcp-approval-strict",) if WHOLE else FEW
    result = check(suite, serve(EXAMPLE), "-v", *words)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "*speaks   handshake, sessionless, over HTTP",
            "*asks     its person, by form and url",
            "*signs    with the suite's authenticator",
            f"*{20 if WHOLE else 2} of {20 if WHOLE else 2} rules checked",
        ]
    )


def test_a_broken_page_is_found_out(suite, serve: Serve, tmp_path: Path):
    """It does not wait for its person."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "page"))
    program = folder / "client.js"
    text = program.read_text(encoding="utf-8")
    line = "const { action } = await decide({ who, text: envelope.displayText });"
    assert text.count(line) == 1
    instead = 'decide({ who, text: envelope.displayText }); const action = "accept";'
    program.write_text(text.replace(line, instead), encoding="utf-8")
    rule = "sep2672/4.9-client-review-before-assertion"
    result = check(suite, serve(folder), f"--mcp-approval-select={rule}", "-k", "nothing_is_signed")
    assert result.ret == 1, result.stdout.str()
    result.stdout.fnmatch_lines([f"*FAIL  {rule}*", "*a signature, while the client waits for*"])


def test_a_page_is_told_where_its_server_is(suite):
    result = suite.run("--mcp-approval-client-page=http://localhost:1/", target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*expected a URL with {url} in it*"])
    both = suite.check("--mcp-approval-client-page=http://localhost:1/?{url}")
    assert both.ret == 4
    both.stderr.fnmatch_lines(["*got a command and a page, expected one of them*"])
