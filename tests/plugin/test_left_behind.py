"""Runs that are ended from outside: neither servers nor their children nor folders are left."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.default_signals import with_default_signals
from tests.hostile_servers.visits import MARK, processes_marked
from tests.inner_runs import plugin_options
from tests.warm_python import warm_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

SECONDS = 60.0
HOLDING = """
import json, os, select
from pathlib import Path

def hold(target, name):
    target.session()
    folder = Path(__file__).parent
    told = {"pytest": os.getpid(), "state": str(target.instance.fill("{state}"))}
    (folder / f"{name}.new").write_text(json.dumps(told))
    (folder / f"{name}.new").rename(folder / f"{name}.json")
    while not (folder / "go").exists():
        select.select([], [], [], 0.05)

def test_holds_one(approval_target):
    hold(approval_target, "one")

def test_holds_another(approval_target):
    hold(approval_target, "another")
"""
# A server with a child that left its group and ignores SIGTERM.
WRAPPER = """
import os, subprocess, sys
deaf = "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"
nothing = subprocess.DEVNULL
subprocess.Popen([sys.executable, "-S", "-c", deaf], start_new_session=True, stdin=nothing,
    stdout=nothing, stderr=nothing)
os.execv(sys.argv[1], sys.argv[1:])
"""
OPTIONS = [
    "--mcp-approval-family=sep2672",
    "--mcp-approval-select=sep2672/4.2-required-literal",
    "--mcp-approval-timeout=60",
    "--mcp-approval-clock=none",
    "--mcp-approval-browser=none",
    "--mcp-approval-origin=http://localhost",
    *("-k", "holds"),
]


def until(true: Callable[[], Any], what: str) -> None:
    give_up = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < give_up, what
        select.select([], [], [], 0.02)


class Held:
    """An inner run, in a process of its own, that goes no further for the time being."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder, self.mark = folder, secrets.token_hex(8)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        (folder / "test_holding.py").write_text(HOLDING)
        (folder / "wrapper.py").write_text(WRAPPER)
        command = [*warm_python(), "-m", "pytest", "-p", "no:cacheprovider", *plugin_options()]
        with (folder / "output").open("wb") as output:
            self.process = subprocess.Popen(
                with_default_signals([*command, *OPTIONS, *arguments, "test_holding.py"]),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, MARK: self.mark, "TMPDIR": str(self.temporary)},
            )

    def told(self, name: str) -> dict[str, Any]:
        path = self.folder / f"{name}.json"

        def there() -> bool:
            assert self.process.poll() is None, self.output
            return path.exists()

        until(there, "it never held")
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    @property
    def output(self) -> str:
        return (self.folder / "output").read_text("utf-8", "replace")

    @property
    def folders(self) -> list[str]:
        return [one.name for one in self.temporary.iterdir() if one.is_dir()]

    def processes(self) -> list[str]:
        """What runs of it, by what it is."""
        found = []
        for number in processes_marked(self.mark):
            with contextlib.suppress(OSError):
                found.append(Path(f"/proc/{number}/cmdline").read_text().replace("\0", " "))
        return found

    def expect_nothing_left(self) -> None:
        until(lambda: not self.processes(), "a process is left")
        until(lambda: not [one for one in self.folders if one.startswith("mcp-")], "a folder is")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Callable[..., Held]]:
    made: list[Held] = []

    def hold(*arguments: str) -> Held:
        made.append(Held(tmp_path, *arguments))
        return made[-1]

    yield hold
    for one in made:
        one.process.kill()
        one.process.wait(SECONDS)
        for number in processes_marked(one.mark):
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def server(folder: Path) -> str:
    wrapped = [sys.executable, f"{folder}/wrapper.py", *warm_python()]
    return shlex.join([*wrapped, "-m", "pytest_mcp_approval.reference_server"])


def stdio(folder: Path) -> list[str]:
    return [f"--mcp-approval-target=stdio:{server(folder)} --stdio --store sqlite:{{state}}/db"]


def launched(folder: Path) -> list[str]:
    return [
        "--mcp-approval-target=http://localhost:{port}/mcp",
        f"--mcp-approval-launch={server(folder)} --http localhost:{{port}}"
        " --store sqlite:{state}/db",
    ]


@pytest.mark.parametrize(
    ("start", "number"),
    [
        (launched, signal.SIGKILL),
        (launched, signal.SIGTERM),
        (stdio, signal.SIGKILL),
        (stdio, signal.SIGHUP),
    ],
    ids=lambda one: one.name if isinstance(one, signal.Signals) else one.__name__,
)
def test_a_run_that_is_ended_leaves_nothing(held, tmp_path, start, number):
    run = held(*start(tmp_path))
    state = run.told("one")["state"]
    assert Path(state).is_dir()
    assert any("reference_server" in one for one in run.processes())
    assert any("SIG_IGN" in one for one in run.processes())
    run.process.send_signal(number)
    code = run.process.wait(SECONDS)
    run.expect_nothing_left()
    assert not Path(state).exists()
    if number == signal.SIGKILL:
        assert code == -number
    else:
        assert code == 128 + number, run.output
        assert f"ended by {number.name}" in run.output
        assert "INTERNALERROR" not in run.output


def test_a_worker_that_is_killed_leaves_nothing(held, tmp_path):
    """While the run goes on with the others."""
    pytest.importorskip("xdist")
    run = held(*launched(tmp_path), *("-n", "2"))
    one, another = run.told("one"), run.told("another")
    assert one["pytest"] != another["pytest"]
    os.kill(one["pytest"], signal.SIGKILL)
    until(lambda: not Path(one["state"]).exists(), "the folder of the killed worker is left")
    until(
        lambda: not [line for line in run.processes() if one["state"] in line],
        "the server of the killed worker is left",
    )
    assert Path(another["state"]).is_dir()
    assert [line for line in run.processes() if another["state"] in line]
    (tmp_path / "go").touch()
    assert run.process.wait(SECONDS) == 1, run.output
    run.expect_nothing_left()
