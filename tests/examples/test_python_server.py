"""examples/python-server, judged as a user would: pytest in that folder, started apart.

In pytest's own process by most rules, and over its other ways by those that may differ there; then
copies with one line broken, which have to be found out. Run `pytest` in the folder for all of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from pytest_mcp_approval.clock.faketime import find_library

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-server"
RULES = [rule for rule in catalogue("sep2672") if rule.party == "server"]
DEADLINE = 105
IN_PROCESS = "--mcp-approval-target=python:server:factory"
STDIO = "--mcp-approval-target=stdio:python server.py --stdio --database {state}/approvals.db"

LISTENER = """
import json

def pytest_runtest_logreport(report):
    found = getattr(report, "mcp_approval", None)
    if found is not None:
        with open("found.jsonl", "a") as file:
            file.write(json.dumps(found) + "\\n")
"""


@dataclass
class Judged:
    """What a run of pytest in the example's folder said."""

    code: int
    text: str
    verdicts: dict[str, set[str]]
    """By rule."""

    def rules(self, verdict: str) -> set[str]:
        return {rule for rule, said in self.verdicts.items() if verdict in said}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example, as somebody would copy it."""
    left_out = shutil.ignore_patterns("__pycache__", "*.db*", ".pytest_cache")
    copy = tmp_path / "python-server"
    shutil.copytree(EXAMPLE, copy, ignore=left_out)
    (copy / "listener.py").write_text(LISTENER)
    return copy


def judge(folder: Path, *arguments: str, select: tuple[str, ...] = ()) -> Judged:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "listener"]
    words += ["-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:xdist"]
    # A busy machine is slow to start things, which is not what is judged here.
    words += ["--mcp-approval-timeout=60"]
    words += [*arguments, *(f"--mcp-approval-select={one}" for one in select)]
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    # As in an activated environment: `python` is the one that has what the server needs.
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment["PYTHONPATH"] = str(folder)
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        text, _ = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        # Asked to end, it ends the server that it started.
        process.send_signal(signal.SIGINT)
        text, _ = process.communicate(timeout=10)
        pytest.fail(f"not done within {DEADLINE} s:\n{text}")
    finally:
        process.kill()
        process.wait()
    verdicts: dict[str, set[str]] = {}
    lines = folder / "found.jsonl"
    for line in lines.read_text().splitlines() if lines.is_file() else ():
        found = json.loads(line)
        for rule in found["rules"]:
            verdicts.setdefault(rule, set()).add(found["verdict"])
    return Judged(process.returncode, text, verdicts)


def owed(select: tuple[str, ...]) -> set[str]:
    return {rule.id for rule in RULES if selected(rule.id, select)}


def assert_all_pass(judged: Judged, select: tuple[str, ...], *, but: Collection[str] = ()):
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "known"):
        assert judged.rules(verdict) == set(), judged.text
    assert judged.rules("not verified") == set(but), judged.text
    assert judged.rules("passed") | set(but) == owed(select), judged.text


# In parts, so that the machine's cores share them.
PARTS = {
    "listing": ("4.2*", "4.3*", "4.10*"),
    "hashes": ("4.6-n*", "4.6-s*", "8.1*", "8.3*"),
    "steps": ("4.8-03*", "4.8-0[5-8]*", "4.8-13*"),
}


@pytest.mark.parametrize("part", PARTS)
def test_in_process(folder: Path, part: str):
    """With freezegun for a clock."""
    assert_all_pass(judge(folder, IN_PROCESS, select=PARTS[part]), PARTS[part])


def test_pytest_alone_launches_it(folder: Path):
    """As mcp-approval.toml says: over HTTP, with a serverId that the suite knows."""
    select = ("4.6-hash*", "4.6-server-id-unique", "4.8-06*")
    # Without libfaketime nobody can move the clock of another process.
    timed = {"sep2672/4.8-06-challenge-unexpired"} if find_library() is None else set()
    assert_all_pass(judge(folder, select=select), select, but=timed)


def test_over_stdio(folder: Path):
    select = ("4.3*", "4.8-03*")
    assert_all_pass(judge(folder, STDIO, "--mcp-approval-clock=none", select=select), select)


@dataclass(frozen=True)
class Break:
    """A line of the example, what becomes of it, and the rule that finds it out."""

    file: str
    line: str
    instead: str
    rule: str


BREAKS = {
    "a constant serverId": Break(
        "approval.py",
        "        server_id=server_id,\n",
        '        server_id="mcp-default",\n',
        "sep2672/4.6-server-id-unique",
    ),
    "a serverId that changes": Break(
        "approval.py",
        "        server_id=server_id,\n",
        '        server_id=__import__("secrets").token_hex(),\n',
        "sep2672/4.6-server-id-stable",
    ),
    "annotated but not guarded": Break(
        "server.py",
        "    return server\n",
        '    return approval.gate.tools.pop("block_card") and server\n',
        "sep2672/4.3-missing-evidence",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_line_is_found_out(folder: Path, name: str):
    broken = BREAKS[name]
    path = folder / broken.file
    text = path.read_text(encoding="utf-8")
    assert text.count(broken.line) == 1, "the example has changed: break another line"
    path.write_text(text.replace(broken.line, broken.instead), encoding="utf-8")
    judged = judge(folder, IN_PROCESS, select=(broken.rule,))
    assert judged.code == 1, judged.text
    assert judged.rules("failed") == {broken.rule}
