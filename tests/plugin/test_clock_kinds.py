"""The rules that need time, on a server that is not ours, with each kind of clock."""

from __future__ import annotations

import os
import secrets
import select
import shlex
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.clock.asking import HAS_FAKETIME, NEEDS_FAKETIME
from tests.default_signals import with_default_signals
from tests.hostile_servers.visits import MARK, processes_marked
from tests.inner_runs import Verdicts, plugin_options
from tests.warm_python import warm_python

REFERENCE = f"{shlex.quote(sys.executable)} -m pytest_mcp_approval.reference_server"
URL = "http://localhost:{port}/mcp"
LAUNCH = f"--mcp-approval-launch={REFERENCE} --http localhost:{{port}}"
OPTIONS = [
    "--mcp-approval-family=sep2672",
    "--mcp-approval-generate-arguments",
    "--mcp-approval-effects=tool:list_effects",
    "--mcp-approval-origin=http://localhost",
    "--mcp-approval-timeout=30",
    "--mcp-approval-browser=none",
]
ON_SHORT_TIMES = ("-k", "test_4_8 or test_4_4")
"""Only these: others move through years, or need a clock that stands still."""
NEED_TIME = [
    "--mcp-approval-select=sep2672/4.4.1-ttl",
    "--mcp-approval-select=sep2672/4.4.2-no-pending",
    "--mcp-approval-select=sep2672/4.8-06-*",
    *ON_SHORT_TIMES,
]
EXPIRY = ["--mcp-approval-select=sep2672/4.8-06-*", *ON_SHORT_TIMES]
needs_faketime = pytest.mark.skipif(not HAS_FAKETIME, reason=NEEDS_FAKETIME)


def verdicts_of(suite, *arguments, target=URL):
    listening = Verdicts()
    result = suite.run(*OPTIONS, *arguments, target=target, plugins=[listening])
    return result, [one["verdict"] for one in listening.found], listening.found


def header_line(result, name):
    """A line of the header and those below it."""
    lines = result.stdout.lines
    at = next(index for index, line in enumerate(lines) if line[14:].startswith(name))
    return " ".join(line[23:] for line in lines[at : at + 2])


@needs_faketime
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_libfaketime_moves_a_server_that_is_not_ours(suite, transport):
    target, launch = (URL, [LAUNCH]) if transport == "http" else (f"stdio:{REFERENCE} --stdio", [])
    result, verdicts, _ = verdicts_of(suite, *launch, *NEED_TIME, target=target)
    assert header_line(result, "clock").startswith(
        "faketime (libfaketime found), moves (checked +3600 s)"
    )
    assert set(verdicts) == {"passed"}, result.stdout.str()
    assert len(verdicts) > 12


def test_a_users_command_moves_it(suite, pytester):
    file = pytester.path / "clock"
    pytester.makefile(
        ".sh",
        hook='if [ "$2" = release ]; then : > "$1"; else printf %s "$2" > "$1"; fi',
    )
    hook = f"hook:sh {pytester.path / 'hook.sh'} {file}"
    result, verdicts, _ = verdicts_of(
        suite, f"{LAUNCH} --clock-file {file}", f"--mcp-approval-clock={hook}", *NEED_TIME
    )
    assert "moves (checked +3600 s)" in header_line(result, "clock")
    assert set(verdicts) == {"passed"}, result.stdout.str()
    assert file.read_text() == "", "released at the end"


def test_a_hook_that_fails_leaves_rules_unjudged_and_says_why(suite):
    result, verdicts, _ = verdicts_of(
        suite, LAUNCH, "--mcp-approval-clock=hook:no-such-command-here", *EXPIRY
    )
    assert header_line(result, "clock").startswith("none: clock hook no-such-command-here")
    assert set(verdicts) == {"not verified"}


def test_a_hook_that_moves_nothing_is_not_trusted(suite):
    result, verdicts, _ = verdicts_of(suite, LAUNCH, "--mcp-approval-clock=hook:true", *EXPIRY)
    line = header_line(result, "clock")
    assert "hook (true) does not move it: +3600 s became +0 s" in line
    assert "does the server follow it?" in line
    assert set(verdicts) == {"not verified"}


BYPASSES_LIBC = """
import datetime, pathlib, sys
from pytest_mcp_approval.reference_server import command_line
from pytest_mcp_approval.reference_server.server import clock

def kernel_time(self):
    # As a program in Go does: the kernel is asked, and libc is not.
    began = next(line for line in open("/proc/stat") if line.startswith("btime")).split()[1]
    up = pathlib.Path("/proc/uptime").read_text().split()[0]
    return datetime.datetime.fromtimestamp(float(began) + float(up), datetime.UTC)

clock.SystemClock.now = kernel_time
sys.exit(command_line.main())
"""


@needs_faketime
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_that_does_not_ask_libc_is_out_of_reach(suite, pytester):
    script = pytester.makepyfile(bypasses=BYPASSES_LIBC)
    command = shlex.join([sys.executable, str(script), "--http", "localhost:{port}"])
    result, verdicts, _ = verdicts_of(suite, f"--mcp-approval-launch={command}", *EXPIRY)
    line = header_line(result, "clock")
    assert "does not move it" in line
    assert "such as one in Go, is out of libfaketime's reach: --mcp-approval-clock=hook" in line
    assert set(verdicts) == {"not verified"}


SHORT = f"{LAUNCH} --challenge-ttl 2 --enrolment-ttl 3"


def test_waiting_is_done_in_place_and_announced(suite):
    result, verdicts, found = verdicts_of(suite, SHORT, "--mcp-approval-clock=wait:8", *EXPIRY)
    assert header_line(result, "clock").startswith("wait (really waits, at most 8 s for a rule)")
    assert set(verdicts) == {"passed", "not verified"}
    passed = [one["scenario"] for one in found if one["verdict"] == "passed"]
    assert sum("expired_challenge_is_refused" in one for one in passed) == 3
    assert len(found) == len({one["scenario"] for one in found}), "each is reported once"
    result.stdout.fnmatch_lines(["mcp-approval  waits 2 s for the server's time to pass"])
    reasons = {one["why"] for one in found if one["verdict"] == "not verified"}
    assert any("s, and 8 s is the limit: --mcp-approval-clock=wait:" in why for why in reasons), (
        reasons
    )
    # A machine that is very busy may come too late for the last second, and says so.
    assert all("8 s is the limit" in why or "went past" in why for why in reasons), reasons


def test_waiting_on_a_server_that_nobody_resets(suite):
    """Somebody else runs it: nothing is restarted or reset, and its time passes by itself."""
    command = [
        *warm_python(),
        *shlex.split(REFERENCE)[1:],
        "--http",
        "localhost:0",
        "--challenge-ttl",
        "2",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        url = next(word for word in server.stdout.readline().split() if word.startswith("http"))
        result, verdicts, _ = verdicts_of(suite, "--mcp-approval-clock=wait:8", *EXPIRY, target=url)
    finally:
        server.terminate()
        server.wait(20)
        server.stdout.close()
    assert "failed" not in verdicts, result.stdout.str()
    assert verdicts.count("passed") >= 3, result.stdout.str()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_waiting_in_a_process_of_its_own_and_with_workers(suite, workers):
    run = suite.run if int(workers) else suite.run_apart_warm
    result = run(*OPTIONS, SHORT, "--mcp-approval-clock=wait:8", *EXPIRY, "-n", workers, target=URL)
    assert result.ret == 0, result.stdout.str()
    # Six scenarios: two would take too long, and a very busy machine may be late for one.
    assert result.parseoutcomes()["passed"] in (3, 4)
    assert "failed" not in result.parseoutcomes()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interrupt_ends_the_wait_at_once_and_leaves_nothing(pytester):
    """Ctrl-C while a scenario really waits."""
    mark = secrets.token_hex(8)
    arguments = [*plugin_options(), *OPTIONS, f"--mcp-approval-target={URL}", LAUNCH, *EXPIRY]
    running = subprocess.Popen(
        with_default_signals(
            [*warm_python(), "-m", "pytest", *arguments, "--mcp-approval-clock=wait:400"]
        ),
        cwd=pytester.path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", MARK: mark},
    )
    assert running.stdout is not None
    watchdog = threading.Timer(100, running.kill)
    watchdog.start()
    try:
        said = []
        while "for the server's time to pass" not in "".join(said[-1:]):
            said.append(running.stdout.readline())
            assert said[-1], "".join(said)
        running.send_signal(signal.SIGINT)
        began = time.monotonic()
        said += running.stdout.readlines()
        code = running.wait(60)
    finally:
        watchdog.cancel()
        running.kill()
        running.wait(20)
        running.stdout.close()
    assert code == pytest.ExitCode.INTERRUPTED, "".join(said)
    assert time.monotonic() - began < 60, "the wait itself would have taken 300 s"
    assert "KeyboardInterrupt" in "".join(said)
    give_up = time.monotonic() + 20
    while left := processes_marked(mark):  # the guard ends when it has seen that all is well
        assert time.monotonic() < give_up, left
        select.select([], [], [], 0.02)


def test_the_own_tests_of_a_user_wait_where_they_stand(suite, pytester):
    pytester.makepyfile(
        test_own="""
        def test_expiry(approval, approval_clock):
            passkey = approval.enrol("icloud-keychain")
            request = approval.challenge("wipe_cache", {})
            evidence = passkey.sign(request)
            approval_clock.move_to(request.expires_at)
            assert approval.call(request, evidence).refused_because("challenge_expired")
        """
    )
    listening = Verdicts()
    result = suite.run(
        *OPTIONS,
        f"{LAUNCH} --challenge-ttl 1",
        "--mcp-approval-clock=wait",
        "test_own.py",
        "--mcp-approval-select=sep2672/4.2-*",
        "-k",
        "test_expiry",
        target=URL,
        plugins=[listening],
    )
    result.assert_outcomes(passed=1, deselected=result.parseoutcomes().get("deselected", 0))


def test_the_reference_server_without_its_own_clock(suite):
    result, verdicts, _ = verdicts_of(
        suite, "--mcp-approval-clock=none", *EXPIRY, target="reference"
    )
    assert header_line(result, "clock").startswith("none: switched off")
    assert set(verdicts) == {"not verified"}


def test_a_launch_that_fails_ends_the_run_before_it_begins(suite):
    launch = (
        f"--mcp-approval-launch={shlex.quote(sys.executable)} -c 'raise SystemExit(7)' {{port}}"
    )
    result = suite.run(*OPTIONS, launch, target=URL)
    assert result.ret == 10
    assert "command exited with 7" in result.stdout.str()
    assert "stay in the foreground" in result.stdout.str()
