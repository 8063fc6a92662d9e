"""Figures of whole runs: the demo, every family over every transport, and a foreign server.

    python -m benchmarks.runs [demo] [families] [foreign]

Writes benchmarks/results/demo.md, families.md and foreign.md. Seconds are of one run on the machine
as it is; ratios are of two runs one after the other.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import sanity
from benchmarks.suite import PYTEST, ROOT, seconds, speed
from pytest_mcp_approval.config.registry import built_in
from tests.examples.node_packages import node_modules

RESULTS = ROOT / "benchmarks" / "results"
TRANSPORTS = ("in-process", "http", "stdio")
QUIET = ["--mcp-approval-findings=none"]
Rows = list[tuple[str, ...]]


def processor_seconds() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def told(output: str) -> int:
    """How many checks the run says that it made."""
    counted = [int(number) for number in re.findall(r"([0-9]+) checks in [0-9.]+ s", output)]
    return int(sanity.measured(sum(counted), "checks that the run tells"))


def demo() -> Rows:
    """The command of `make demo`, as the Makefile has it."""
    line = re.search(r"\$\(BIN\)/python -m (pytest .*)", (ROOT / "Makefile").read_text())
    sanity.named(line is not None, True, "the demo's line of the Makefile")
    assert line is not None
    with tempfile.TemporaryDirectory() as folder:
        words = line[1].replace("mcp-approval-report.html", f"{folder}/report.html").split()
        before = processor_seconds()
        taken, output = seconds([sys.executable, "-m", *words], ROOT)
        used = processor_seconds() - before
    return [
        ("checks", str(told(output)), ""),
        ("seconds", f"{sanity.measured(taken, 'seconds'):.0f}", "at most 60"),
        ("processor seconds", f"{sanity.measured(used, 'processor seconds'):.0f}", ""),
    ]


def families() -> Rows:
    rows: Rows = []
    for name in built_in():
        for transport in TRANSPORTS:
            print(f"benchmark: {name}, {transport}", flush=True)
            words = [f"--mcp-approval-target=reference:{transport}"]
            words += [f"--mcp-approval-family={name}", "--mcp-approval-browser=none", *QUIET]
            taken, output = seconds([*PYTEST, *words, "-p", "benchmarks.waiting"], ROOT)
            rows.append((f"{name}, {transport}", str(told(output)), f"{taken:.1f}", share(output)))
    return rows


def share(output: str) -> str:
    waited = re.search(r"waited ([0-9.]+) s of ([0-9.]+) s", output)
    sanity.named(waited is not None, True, "a line that says how long was waited")
    assert waited is not None
    return f"{sanity.share(float(waited[1]) / float(waited[2]), 'waiting for the target'):.2f}"


def foreign() -> Rows:
    """examples/node-server, which the suite starts; pages have their own benchmark."""
    command = [*PYTEST, "--mcp-approval", "--mcp-approval-browser=none", *QUIET]
    with node_server() as folder:
        os.environ["PYTHONPATH"] = str(ROOT)
        print("benchmark: node-server, one process", flush=True)
        alone, output = seconds([*command, "-p", "benchmarks.waiting"], folder)
        print("benchmark: node-server, two workers", flush=True)
        by_two, _ = seconds([*command, "-n", "2"], folder)
        part = [*command, "--mcp-approval-reset=restart", "--mcp-approval-select=sep2672/4.5*"]
        print("benchmark: node-server, restarted for each scenario", flush=True)
        ahead, _ = seconds(part, folder)
        settings = folder / "mcp-approval.toml"
        settings.write_text(settings.read_text().replace("--store {state}", ""))
        one_by_one, _ = seconds(part, folder)
    gained = speed(alone, by_two)["speed-up"]
    restarts = sanity.ratio(one_by_one / ahead, "one server after the other to one ahead")
    return [
        ("checks", str(told(output)), ""),
        ("seconds, one process", f"{alone:.1f}", ""),
        ("share of the time that is waiting for the target", share(output), ">= 0.5"),
        ("-n 2 to one process, whole command", f"{gained:.2f}", "at least 1.5"),
        ("reset = restart: one after the other to one ahead", f"{restarts:.2f}", ""),
    ]


@contextmanager
def node_server() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "node-server"
        left_out = shutil.ignore_patterns("node_modules", "*.db*")
        shutil.copytree(ROOT / "examples" / "node-server", copy, ignore=left_out)
        (copy / "node_modules").symlink_to(node_modules(), target_is_directory=True)
        yield copy


PARTS: dict[str, tuple[str, tuple[str, ...], Callable[[], Rows]]] = {
    "demo": ("Figures of make demo", ("figure", "measured", "aim"), demo),
    "families": (
        "Figures of every family on the reference server",
        ("family and transport", "checks", "seconds", "share that waits for the target"),
        families,
    ),
    "foreign": (
        "Figures of a run against a server in another language",
        ("figure", "measured", "aim"),
        foreign,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    for name in parser.parse_args().parts or PARTS:
        title, heads, measure = PARTS[name]
        print(f"benchmark: {name}", flush=True)
        table = [heads, ("---",) * len(heads), *measure()]
        lines = [
            f"# {title}",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}, "
            f"{len(os.sched_getaffinity(0))} cores. Made by `python -m benchmarks.runs {name}`.",
            "",
            *(f"| {' | '.join(row)} |" for row in table),
            "",
        ]
        (RESULTS / f"{name}.md").write_text("\n".join(lines), encoding="utf-8")
        print("\n".join(lines))


if __name__ == "__main__":
    main()
