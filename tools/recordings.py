"""Records what the suite says about every server of this project, to compare it later.

    python -m tools.recordings record BEFORE.json [reference] [examples] [mutants]
    python -m tools.recordings compare BEFORE.json AFTER.json

A recording holds the verdict and the finding's text of every scenario, on the reference server in
each combination of transport, store and era and on the three examples, and for every mutant
whether its rule finds it out. It uses only the command line, so that the same script works before
and after a change to anything behind it. What differs in every run (ports, tokens, times) is left
out of the texts. `reference:http+memory` records the places with that in their names. A whole
recording takes about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PARTS = ("reference", "examples", "mutants")
RUN_SECONDS = 3600
LISTENER = """
import json

def pytest_runtest_logreport(report):
    found = getattr(report, "mcp_approval", None)
    if found is not None:
        with open("found.jsonl", "a") as file:
            file.write(json.dumps(found) + "\\n")
"""
VARYING = re.compile(
    r"""(?x)
      \d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?     # instants
    | [A-Za-z0-9_+/=.-]{16,}                                       # tokens, identifiers, paths
    | (?<![\w-])\d+(?:\.\d+)?(?!\w)                                # ports, seconds, counts
    """
)

Recording = dict[str, dict[str, str]]
"""What was said, by place and by scenario or mutant."""


def record(parts: list[str], file: Path) -> None:
    """Written after each place, so that an interrupted recording is still useful."""
    whole: Recording = {}
    makers = {"reference": references, "examples": examples, "mutants": mutants}
    for part in parts:
        name, _, only = part.partition(":")
        for place, found in makers[name](only):
            print(f"recordings: {place}: {len(found)}", flush=True)
            whole[place] = found
            file.write_text(json.dumps(whole, indent=1, sort_keys=True), encoding="utf-8")


def references(only: str) -> Iterator[tuple[str, dict[str, str]]]:
    for transport in ("in-process", "http", "stdio"):
        for store in ("memory", "sqlite"):
            for era in ("2026-07-28", "2025-11-25"):
                target = f"reference:{transport}+{store}"
                if only not in f"{transport}+{store} {era}":
                    continue
                words = [f"--mcp-approval-target={target}", f"--mcp-approval-protocol={era}"]
                with tempfile.TemporaryDirectory() as folder:
                    yield f"{target} {era}", judge(Path(folder), *words)


def examples(only: str) -> Iterator[tuple[str, dict[str, str]]]:
    from tests.examples.mcp1_environment import environment
    from tests.examples.node_packages import node_modules

    commands = {"mcp1-server": environment()}
    for name in ("mcp1-server", "node-server", "python-server"):
        if only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            left_out = shutil.ignore_patterns("node_modules", "__pycache__", "*.db*")
            shutil.copytree(ROOT / "examples" / name, copy, ignore=left_out)
            if name == "node-server":
                (copy / "node_modules").symlink_to(node_modules(), target_is_directory=True)
            path = commands.get(name, Path(sys.executable).parent)
            yield name, judge(copy, "--mcp-approval", "--mcp-approval-timeout=30", commands=path)


def judge(folder: Path, *words: str, commands: Path | None = None) -> dict[str, str]:
    """Run all scenarios on one target: the verdict and text of each."""
    (folder / "listener_of_recordings.py").write_text(LISTENER)
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment["PYTHONPATH"] = str(folder)
    if commands is not None:
        environment["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    done = subprocess.run(
        [
            *command,
            "-p",
            "listener_of_recordings",
            "-p",
            "no:xdist",
            "--mcp-approval-findings=none",
        ],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    lines = folder / "found.jsonl"
    if not lines.is_file():
        sys.exit(f"recordings: nothing was judged: {done.stdout[-2000:]}")
    results = [json.loads(line) for line in lines.read_text().splitlines()]
    return {one["scenario"]: said(one) for one in results}


def said(result: dict[str, Any]) -> str:
    """The verdict with the finding, or why there is none, without the parts that vary."""
    texts = (result["evidence"] or {"why": result["why"]}).values()
    return f"{result['verdict']}: {VARYING.sub('#', ' | '.join(texts))}"


def mutants(_: str) -> Iterator[tuple[str, dict[str, str]]]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        matrix = "tests/mutants/test_kill_matrix.py"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", matrix, f"--junitxml={report}"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            timeout=RUN_SECONDS,
            check=False,
        )
        found = {}
        for case in ElementTree.parse(report).iter("testcase"):
            name = case.attrib["name"].partition("[")[2].removesuffix("]")
            if name:  # The test passes if the mutant's own rule finds it out for its reason.
                passed = case.find("./failure") is None and case.find("./error") is None
                found[name] = "found out by its rule" if passed else "not found out"
    yield "mutants", found


def compare(before: Recording, after: Recording) -> int:
    """Print the differences; returns how many there are."""
    differences = 0
    for place in sorted({*before, *after}):
        old, new = before.get(place, {}), after.get(place, {})
        for name in sorted({*old, *new}):
            was, now = old.get(name, "-"), new.get(name, "-")
            if was != now:
                differences += 1
                print(f"{place}\n  {name}\n    was {was}\n    now {now}")
    print(f"recordings: {differences} differences in {sum(map(len, after.values()))} verdicts")
    return differences


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.recordings", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("parts", nargs="*", metavar="PART", help="reference, examples, mutants")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        unknown = {part.partition(":")[0] for part in given.parts} - set(PARTS)
        if unknown:
            parser.error(f"got {', '.join(sorted(unknown))}, expected {', '.join(PARTS)}")
        record(given.parts or list(PARTS), given.file)
    elif compare(*(json.loads(path.read_text()) for path in (given.before, given.after))):
        sys.exit(1)


if __name__ == "__main__":
    main()
