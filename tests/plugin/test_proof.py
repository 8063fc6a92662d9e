"""Green means proved: no honest approval is exit code 10, and what was not verified is said."""

from __future__ import annotations

import http.server
import json
import shlex
import threading
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.warm_python import warm_python

METHOD = "--mcp-approval-select=sep2672/4.8-03-method"
LISTING = "--mcp-approval-select=sep2672/4.3-missing-evidence"
REQUIRE = "--mcp-approval-require-verified"
SERVERS = """
    from pytest_mcp_approval.reference_server import assembly
    from pytest_mcp_approval.reference_server.assembly import build
    from pytest_mcp_approval.reference_server.server.effects import RecordedEffects

    def plain():
        return build().asgi_app()

    class Journal(RecordedEffects):
        # Also in a file, which others can read.

        def record(self, tool, arguments):
            with open("journal.txt", "a") as file:
                file.write(tool + "\\n")
            return super().record(tool, arguments)

    if __name__ == "__main__":
        assembly.RecordedEffects = Journal
        build().run_stdio()
"""
OWN = "python:own_servers:plain"
TOOL = "--mcp-approval-tool=wipe_cache={}"


@pytest.fixture
def own(suite):
    """A server that the suite knows nothing about."""
    suite.pytester.makepyfile(own_servers=SERVERS)
    return suite


def last_lines(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines[-12:])


def test_a_run_without_an_honest_approval_proves_nothing(own):
    """As in a first try: nothing is named that may be run."""
    result = own.run("--mcp-approval-select=sep2672/4.2*", METHOD, target=OWN)
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        [
            "*no honest approval was seen*",
            "*sep2672: needs a gated tool that may be run: --mcp-approval-tool NAME=JSON",
            "*Exit code 10, or 1 if something failed.",
            "mcp-approval  2 of * rules checked; * more need *: --mcp-approval-tool NAME=JSON",
        ]
    )


def test_a_server_that_refuses_honest_people_proves_nothing(own):
    own.pytester.makepyfile(
        refusing="""
        from pytest_mcp_approval.reference_server.assembly import build

        def make():
            server = build()
            inner = server.asgi_app()
            async def app(scope, receive, send):
                async def changed(message):
                    if message["type"] == "http.response.body":
                        body = message.get("body", b"")
                        body = body.replace(b'"success":true', b'"success":null')
                        message = {**message, "body": body}
                    await send(message)
                await inner(scope, receive, changed)
            return app
        """
    )
    result = own.run(LISTING, TOOL, target="python:refusing:make")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*no honest approval was seen*", "*sep2672: *failed: *enrol*"])


def test_with_one_it_is_green(own):
    result = own.run(LISTING, TOOL, target=OWN)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*approved *once, honestly: sep2672", "mcp-approval  1 of 1 rule checked"]
    )


def test_a_broken_must_comes_first(suite):
    target = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    assert suite.run(METHOD, target=target).ret == 1


def test_own_tests_alone_need_no_approval(own):
    own.pytester.makepyfile("def test_mine(): pass")
    assert own.run("-k", "test_mine", str(own.pytester.path), target=OWN).ret == 0


# ---- --mcp-approval-require-verified


SECOND = "sep2672/4.8-07-challenge-tool"


def test_what_was_not_verified_fails_on_request(own):
    select = f"--mcp-approval-select={SECOND}"
    assert own.run(METHOD, select, TOOL, target=OWN).ret == 0
    result = own.run(METHOD, select, TOOL, REQUIRE, "--junitxml=found.xml", target=OWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{SECOND} was not verified: needs a second gated tool: *"])
    assert result.parseoutcomes()["failed"] == 1, "a failure for each rule"
    cases = ElementTree.parse(own.pytester.path / "found.xml").iter("testcase")
    assert sum(one.find("failure") is not None for one in cases) == 1


def test_a_pattern_narrows_it(own):
    select = f"--mcp-approval-select={SECOND}"
    assert own.run(METHOD, select, TOOL, f"{REQUIRE}=*/4.8-03*", target=OWN).ret == 0
    assert own.run(METHOD, select, TOOL, f"{REQUIRE}=*/4.8-07*", target=OWN).ret == 1


def test_what_was_never_tried_was_not_verified_either(own):
    result = own.run(METHOD, TOOL, f"{REQUIRE}=prepare_confirm/*", target=OWN)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no rule like 'prepare_confirm/?' was checked*"])


def test_the_file_can_ask_for_it(own):
    (own.pytester.path / "mcp-approval.toml").write_text("require-verified = true\n")
    assert own.run(f"--mcp-approval-select={SECOND}", METHOD, TOOL, target=OWN).ret == 1


@pytest.mark.parametrize("value", ["tests/test_x.py", "sep2672/nothing*"])
def test_a_path_after_it_is_not_taken_for_a_pattern(own, value):
    result = own.run(METHOD, REQUIRE, value, target=OWN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*require-verified: got *which is no rule's id*"])


def test_workers_tell_the_controller(own):
    result = own.run(METHOD, f"--mcp-approval-select={SECOND}", TOOL, REQUIRE, "-n2", target=OWN)
    assert result.ret == 1
    assert result.stdout.str().count(f"{SECOND} was not verified") >= 1
    assert own.run(LISTING, "-n1", target=OWN).ret == 10


# ---- what shows the effects


class Journal(http.server.BaseHTTPRequestHandler):
    """An effects URL of somebody else, which stops after so many answers."""

    answers = 0

    def do_GET(self) -> None:
        type(self).answers -= 1
        file = Path("journal.txt")
        shown = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        body = json.dumps(shown).encode() if self.answers >= 0 else b""
        self.send_response(200 if self.answers >= 0 else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def journal():
    class Own(Journal):
        pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Own, f"--mcp-approval-effects=http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("target", [OWN, "stdio:{python} own_servers.py"])
def test_effects_that_are_down_from_the_beginning_are_the_culprit(own, journal, target):
    _, effects = journal
    target = target.format(python=shlex.join(warm_python()))
    result = own.run(METHOD, TOOL, effects, "--mcp-approval-clock=none", target=target)
    assert result.ret == 10
    text = result.stdout.str()
    assert "--mcp-approval-effects cannot be read: effects at http://127.0.0.1:" in text
    assert "by hand" not in text


def test_effects_that_go_down_on_the_way_are_the_culprit(own, journal):
    answering, effects = journal
    answering.answers = 12
    target = f"stdio:{shlex.join(warm_python())} own_servers.py"
    result = own.run(METHOD, TOOL, effects, "--mcp-approval-clock=none", target=target)
    assert result.ret in (10, 11), result.stdout.str()
    text = result.stdout.str()
    assert "Is the program behind --mcp-approval-effects still running?" in text
    assert "by hand" not in text


def test_effects_that_show_no_run_are_told(own, journal):
    answering, effects = journal
    answering.answers = 10_000
    result = own.run(LISTING, TOOL, effects, target=OWN)
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*is it the right effects probe?*"])
