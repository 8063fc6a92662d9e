"""examples/mcp1-server: a server on mcp 1.x, judged as a user would, by pytest in its folder.

Then copies with one line broken, which have to be found out. The server has an environment of its
own; pytest runs in ours.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.clock.faketime import find_library
from tests.examples.mcp1_environment import EXAMPLE, environment

FAMILY = "prepare_confirm"
RULES = {rule.name for rule in catalogue(FAMILY) if rule.party == "server"}
DEADLINE = 100
LISTENER = """
import json

def pytest_runtest_logreport(report):
    found = getattr(report, "mcp_approval", None)
    if found is not None:
        with open("found.jsonl", "a") as file:
            file.write(json.dumps(found) + "\\n")
"""
# Opaque tokens, and a back end that nobody can break: this cannot be judged here.
NEVER = {"token-format", "failed-execution"}
# Without libfaketime nobody can move the clock of another process.
TIMED = {"cleanup"} if find_library() is None else set()
# In parts, so that the machine's cores share them: some rules start a server for each scenario.
PARTS = {
    "steps": ("preview", "confirm-executes", "pairs", "action-bound", "concurrent", "nonce"),
    "tokens": ("signature", "missing-token", "not-logged", "cleanup"),
    "one-time": ("one-time",),
    "keys": ("secret-key",),
    "expiry": ("expired",),
    "time zones": ("expired",),
}
# The others start a server for each scenario and take a minute more: `make matrix` runs them too.
QUICK = ("steps", "tokens")
JUDGED = list(PARTS) if os.environ.get("MCP_APPROVAL_MATRIX") else QUICK
ONLY = {"expiry": "not zone and not summer", "time zones": "zone or summer"}


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
    copy = tmp_path / "mcp1-server"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "listener.py").write_text(LISTENER)
    return copy


def judge(folder: Path, *arguments: str) -> Judged:
    """`pytest` in the folder. What `python` means there is the environment with mcp 1.x."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "listener"]
    words += ["-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:xdist"]
    words += ["--mcp-approval-timeout=30", *arguments]
    variables = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    variables["PATH"] = f"{environment()}{os.pathsep}{os.environ['PATH']}"
    variables["PYTHONPATH"] = str(folder)
    process = subprocess.Popen(
        words,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        text, _ = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # asked to end, it ends the server that it started
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
            verdicts.setdefault(rule.removeprefix(f"{FAMILY}/"), set()).add(found["verdict"])
    return Judged(process.returncode, text, verdicts)


def test_the_parts_are_the_whole():
    assert {rule for part in PARTS.values() for rule in part} == RULES - NEVER


@pytest.mark.parametrize("part", JUDGED)
def test_a_server_on_mcp_1_is_judged_and_passes(folder: Path, part: str):
    wanted = set(PARTS[part])
    select = [f"--mcp-approval-select={FAMILY}/{rule}" for rule in wanted]
    judged = judge(folder, *select, "-k", ONLY.get(part, ""))
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "known"):
        # Scenarios of two rules tell of both.
        assert judged.rules(verdict) & wanted == set(), judged.text
    assert judged.rules("passed") >= wanted - TIMED, judged.text


BROKEN = {
    "one-time": ('if payload["nonce"] in self.used:', "if False:"),
    "signature": (
        "if not hmac.compare_digest(self.sign(text).encode(), signature.encode()):",
        "if not signature:",
    ),
    "action-bound": ('if payload["action"] != action:', "if False:"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_copy_is_found_out(folder: Path, rule: str):
    """One line of confirmation.py is another one, and just that rule tells."""
    healthy, broken = BROKEN[rule]
    source = (folder / "confirmation.py").read_text()
    assert source.count(healthy) == 1
    (folder / "confirmation.py").write_text(source.replace(healthy, broken))
    if rule == "one-time":
        # Going by names alone, as many servers do: else the stamps stand against a replay.
        server = (folder / "server.py").read_text()
        stamps = 'shelf.get(name, {}).get("stamp") != stamp'
        assert server.count(stamps) == 1
        (folder / "server.py").write_text(server.replace(stamps, "name not in shelf"))
    judged = judge(folder, f"--mcp-approval-select={FAMILY}/{rule}", "-k", "not restart")
    assert judged.code == 1, judged.text
    assert rule in judged.rules("failed"), judged.text
