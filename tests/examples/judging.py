"""pytest in the folder of an example, as its user would run it, and what the suite said there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

DEADLINE = 105
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


def copy_of(example: Path, place: Path) -> Path:
    """The example, as somebody would copy it."""
    left_out = shutil.ignore_patterns("__pycache__", "*.db*", ".pytest_cache")
    copy = place / example.name
    shutil.copytree(example, copy, ignore=left_out)
    (copy / "listener.py").write_text(LISTENER)
    return copy


def run_pytest(folder: Path, *arguments: str, commands: Path) -> Judged:
    """`commands` is where `python` is found, as in an activated environment."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "listener"]
    words += ["-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:xdist", "--mcp-approval"]
    words += arguments
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
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
        process.terminate()
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
