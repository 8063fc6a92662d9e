"""Hostile servers, a good server that they relay to, and runs of the suite against them.

Every process of a hostile server carries a mark in its environment, so that what it leaves behind
is found wherever it went.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.default_signals import with_default_signals
from tests.hostile_servers.relay import IN_A_CHECK
from tests.inner_runs import Verdicts, bare_options, plugin_options
from tests.warm_python import warm_python

ROOT = Path(__file__).parents[2]
RELAY = Path(__file__).with_name("relay.py")
PYTHON = [sys.executable, "-S", "-E"]
MARK = "MCP_APPROVAL_TESTS_HOSTILE"
SAFE = 'place_trade={"symbol":"ACME","quantity":1}'
TOUR = (
    "test_4_2_annotation.py::test_required_is_the_literal_verified",
    "test_4_4_1_enrol_begin.py::test_the_options_are_what_a_browser_takes",
    "test_4_4_2_enrol_finish.py::test_the_first_key_is_unharmed",
    "test_4_4_3_challenge.py::test_no_two_challenges_share_an_id",
    "test_4_8_challenge.py::test_a_registration_challenge_is_no_approval_challenge",
    "test_4_8_verification.py::test_a_call_without_meta_is_refused",
)
"""A check or two for each point of the ceremony, in the order in which they run."""
MANY = "test_4_8_challenge.py"
"""A dozen more."""
RULES = (
    "4.2-required-literal",
    "4.4.1-options-shape",
    "4.4.2-already-enrolled",
    "4.4.3-envelope-shape",
    "4.8-04-challenge-known",
    "4.8-01-evidence-present",
)
"""What these are about: the files of all other rules need not even be collected."""
_READY_SECONDS = 30
_PYTEST_WITH_PEAK = """
import atexit, os, pathlib, re, sys
import pytest
own, folder = os.getpid(), pathlib.Path.cwd()
def note():
    if os.getpid() == own:
        status = pathlib.Path("/proc/self/status").read_text()
        (folder / "peak").write_text(re.search("VmHWM:\\\\s+([0-9]+) kB", status)[1])
atexit.register(note)
class InAChecksBody:
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self):
        (folder / "in-a-check").touch()
        try:
            return (yield)
        finally:
            (folder / "in-a-check").unlink()
sys.exit(pytest.main(sys.argv[1:], plugins=[InAChecksBody()]))
"""
"""pytest, and at its end the most memory that it held. What the kernel tells a parent of its child
is no less than what the parent itself held when it started it."""


@contextlib.contextmanager
def good_server() -> Iterator[str]:
    """The reference server over HTTP, in a process of its own: its URL."""
    command = [*warm_python(), "-m", "pytest_mcp_approval.reference_server"]
    command += ["--http", "localhost:0", "--json-response"]
    with _process(command, cwd=ROOT) as process:
        yield _first_line(process).removeprefix("ready: ")


@contextlib.contextmanager
def _process(
    command: list[str], cwd: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()


def _first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _READY_SECONDS)
    assert ready, "the server did not start"
    return process.stdout.readline().decode().strip()


def processes_marked(mark: str) -> list[int]:
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


@dataclass
class Visit:
    """A run of the suite against a hostile server, as its user saw it."""

    exit_code: int
    text: str
    seconds: float
    folder: Path
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    """What the checks said, one after the other; only of a run in this process."""
    peak: int = 0
    """The most memory that the run held, in bytes; only of a separate run."""

    def of(self, verdict: str) -> list[dict[str, Any]]:
        return [one for one in self.verdicts if one["verdict"] == verdict]

    @property
    def shape(self) -> str:
        """One letter for each check."""
        letters = {"passed": ".", "not verified": "n", "not applicable": "-", "warning": "w"}
        return "".join(letters.get(one["verdict"], "X") for one in self.verdicts)

    @property
    def last_word(self) -> str:
        """The line that says what is wrong."""
        lines = [one for one in self.text.splitlines() if one.startswith("mcp-approval  the ")]
        return lines[-1].removeprefix("mcp-approval  ") if lines else ""

    def times(self, what: str) -> int:
        """How often the server counted this."""
        path = self.folder / what
        return path.stat().st_size if path.exists() else 0

    def expect_told(self) -> None:
        """No flood, and nothing that a terminal would obey."""
        assert "Traceback" not in self.text
        assert "INTERNALERROR" not in self.text
        assert len(self.text) < 20_000
        strange = {one for one in self.text if not one.isprintable() and one != "\n"}
        assert strange == set()


class InAChecksBody:
    """Tells the server when the body of a check runs."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / IN_A_CHECK

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        self.mark.touch()
        try:
            return (yield)
        finally:
            self.mark.unlink()


class HostileServers:
    """Brings hostile servers and the suite together."""

    def __init__(self, upstream: str, folder: Path, pytester: pytest.Pytester | None) -> None:
        self.upstream = upstream
        self.folder = folder
        self.pytester = pytester

    @contextlib.contextmanager
    def server(self, kind: str, **plan: Any) -> Iterator[tuple[str, str, Path]]:
        """A target to name, the mark of its processes, and the folder of its counts."""
        folder = self.folder / secrets.token_hex(4)
        folder.mkdir()
        if kind == "supervised":
            with socket.create_server(("127.0.0.1", 0)) as free:
                plan["port"] = free.getsockname()[1]
        (folder / "plan.json").write_text(json.dumps({"upstream": self.upstream, **plan}))
        mark = folder.name
        command = [*PYTHON, str(RELAY), kind, str(folder)]
        if kind == "stdio":
            yield f"stdio:{shlex.join(['env', f'{MARK}={mark}', *command])}", mark, folder
            return
        with _process(command, ROOT, {MARK: mark}) as process:
            yield _first_line(process), mark, folder

    def visit(
        self,
        kind: str,
        *checks: str,
        timeout: float = 20,
        options: Sequence[str] = (),
        rules: Sequence[str] = RULES,
        effects: bool = True,
        apart: bool = False,
        **plan: Any,
    ) -> Visit:
        """One run. Whatever a command of the server's leaves running is a failure of the test."""
        with self.server(kind, **plan) as (target, mark, folder):
            given = [f"--mcp-approval-target={target}", f"--mcp-approval-timeout={timeout}"]
            given += [f"--mcp-approval-launch-timeout={timeout}"]
            given += [f"--mcp-approval-tool={SAFE}", "--mcp-approval-clock=none"]
            given += [f"--mcp-approval-select=sep2672/{rule}" for rule in rules]
            given += ["--mcp-approval-effects=tool:list_effects"] if effects else []
            if not any("protocol" in option for option in options):
                # Finding out takes a part of the time, which is short here.
                given.append("--mcp-approval-protocol=2026-07-28")
            given += [*options, *(f"mcp-approval/sep2672/{check}" for check in checks or TOUR)]
            run = self._apart if apart else self._here
            started = time.monotonic()
            visit = run(given, folder)
            visit.seconds = time.monotonic() - started
            if kind == "stdio":
                assert processes_marked(mark) == []
        return visit

    def _here(self, given: list[str], folder: Path) -> Visit:
        """In this process, which is quicker."""
        assert self.pytester is not None
        heard = Verdicts()
        done = self.pytester.runpytest_inprocess(
            *bare_options(), *given, plugins=[heard, InAChecksBody(folder)]
        )
        text = done.stdout.str() + done.stderr.str()
        return Visit(int(done.ret), text, 0, folder, heard.found)

    def _apart(self, given: list[str], folder: Path) -> Visit:
        """In a process of its own, as a user would."""
        command = [sys.executable, "-c", _PYTEST_WITH_PEAK, "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *plugin_options(), *given],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=110,
            check=False,
        )
        peak = int((folder / "peak").read_text()) * 1024
        return Visit(done.returncode, done.stdout.decode("utf-8", "replace"), 0, folder, peak=peak)

    def interrupted(self, target: str, folder: Path, mark: str) -> tuple[int, str]:
        """A run that gets Ctrl-C once the server has shown its habit: exit code and output."""
        command = [*warm_python(), "-m", "pytest", "-p", "no:cacheprovider", *plugin_options()]
        command += [f"--mcp-approval-target={target}", f"--mcp-approval-tool={SAFE}"]
        command += ["--mcp-approval-clock=none", "--mcp-approval-timeout=60"]
        command += [f"--mcp-approval-select=sep2672/{rule}" for rule in RULES]
        command += ["--mcp-approval-protocol=2026-07-28"]
        with (folder / "output").open("wb") as output:
            process = subprocess.Popen(
                with_default_signals(command), cwd=folder, stdout=output, stderr=subprocess.STDOUT
            )
            try:
                counted = folder / "requests"
                give_up = time.monotonic() + _READY_SECONDS
                while not (counted.exists() and counted.stat().st_size >= 2):
                    assert time.monotonic() < give_up, "the habit never showed"
                    assert process.poll() is None, "the run ended too early"
                    select.select([], [], [], 0.02)
                assert processes_marked(mark) != []
                process.send_signal(signal.SIGINT)
                code = process.wait(_READY_SECONDS)
            finally:
                process.kill()
                process.wait()
        return code, (folder / "output").read_bytes().decode("utf-8", "replace")
