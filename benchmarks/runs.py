"""Figures of whole runs: the demo, every family over every transport, and a foreign server.

    python -m benchmarks.runs [demo] [families] [foreign]

Writes benchmarks/results/demo.md, families.md and foreign.md. Seconds are of one run on the machine
as it is; those of the processor hardly depend on what else it does. Ratios are of two runs one
after the other.
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
from dataclasses import dataclass
from pathlib import Path

from benchmarks import sanity
from benchmarks.suite import PYTEST, ROOT, alone, seconds, speed
from pytest_mcp_approval.config.registry import built_in
from tests.examples.node_packages import node_modules

RESULTS = ROOT / "benchmarks" / "results"
TRANSPORTS = ("in-process", "http", "stdio+sqlite")
"""A process that keeps everything in memory forgets used nonces when it is restarted, and is found
out: with stdio there is a database."""
Rows = list[tuple[str, ...]]
_JUDGED = re.compile(r"([0-9]+) (?:passed|warned|known|not verified|not applicable)\b")
"""How pytest counts checks in its last line, in a run that ended well."""


@dataclass(frozen=True)
class Run:
    """A command that has ended well."""

    seconds: float
    processor: float
    """Seconds of the processor, with all that it started."""
    output: str

    @classmethod
    def of(cls, command: list[str], folder: Path) -> Run:
        before = _processor_seconds()
        taken, output = seconds(command, folder)
        return cls(taken, sanity.measured(_processor_seconds() - before, "processor"), output)

    @property
    def checks(self) -> int:
        """How many there were, as we and pytest tell."""
        told = sum(int(one) for one in re.findall(r"([0-9]+) checks in [0-9.]+ s", self.output))
        last = self.output.strip().splitlines()[-1]
        tests = sum(int(one) for one in _JUDGED.findall(last))
        return sanity.count(told, tests, "checks that the run tells, of pytest's tests")

    @property
    def waiting(self) -> float:
        """The share of the time in which it waited for the target."""
        waited = re.search(r"waited ([0-9.]+) s of ([0-9.]+) s", self.output)
        sanity.named(waited is not None, True, "a line that says how long was waited")
        assert waited is not None
        return sanity.share(float(waited[1]) / float(waited[2]), "waiting for the target")


def _processor_seconds() -> float:
    """Of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def demo() -> Rows:
    """The command of `make demo`, as the Makefile has it."""
    line = re.search(r"\$\(BIN\)/python -m (pytest .*)", (ROOT / "Makefile").read_text())
    sanity.named(line is not None, True, "the demo's line of the Makefile")
    assert line is not None
    with tempfile.TemporaryDirectory() as folder:
        workers = str(1 + len(os.sched_getaffinity(0)))  # as the Makefile counts them
        text = line[1].replace("mcp-approval-report.html", f"{folder}/report.html")
        words = text.replace("$(WORKERS)", workers).split()
        run = Run.of([sys.executable, "-m", *words], ROOT)
    return [
        ("checks", str(run.checks), ""),
        ("seconds", f"{run.seconds:.0f}", "at most 60"),
        ("processor seconds", f"{run.processor:.0f}", ""),
    ]


def families() -> Rows:
    rows: Rows = []
    for name in built_in():
        for transport in TRANSPORTS:
            print(f"benchmark: {name}, {transport}", flush=True)
            before = _processor_seconds()
            run = alone(name, transport)
            used = sanity.measured(_processor_seconds() - before, "processor")
            row = f"{run['checks']:.0f}", f"{run['alone']:.1f}", f"{used:.1f}"
            rows.append((f"{name}, {transport}", *row, f"{run['waiting']:.2f}"))
    return rows


def foreign() -> Rows:
    """examples/node-server, which the suite starts; pages have their own benchmark."""
    command = [*PYTEST, "--mcp-approval", "--mcp-approval-browser=none"]
    command += ["--mcp-approval-findings=none"]
    with node_server() as folder:
        os.environ["PYTHONPATH"] = str(ROOT)
        print("benchmark: node-server, one process", flush=True)
        by_one = Run.of([*command, "-p", "benchmarks.waiting"], folder)
        print("benchmark: node-server, two workers", flush=True)
        by_two = Run.of([*command, "-n", "2"], folder)
        part = [*command, "--mcp-approval-reset=restart", "--mcp-approval-select=sep2672/4.5*"]
        print("benchmark: node-server, restarted for each scenario", flush=True)
        ahead = Run.of(part, folder)
        print("benchmark: the same, one server after the other", flush=True)
        in_turn = Run.of([*part, "-p", "benchmarks.one_server"], folder)
    sanity.count(by_two.checks, by_one.checks, "checks of two workers, of those of one")
    sanity.count(in_turn.checks, ahead.checks, "checks in both ways to restart")
    gained = speed(by_one.seconds, by_two.seconds)["speed-up"]
    restarts = sanity.ratio(in_turn.seconds / ahead.seconds, "one after the other to one ahead")
    return [
        ("checks", str(by_one.checks), ""),
        ("seconds, one process", f"{by_one.seconds:.1f}", ""),
        ("processor seconds, with the server's", f"{by_one.processor:.1f}", ""),
        ("share of the time that is waiting for the target", f"{by_one.waiting:.2f}", ">= 0.5"),
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
        ("family and transport", "checks", "seconds", "processor seconds", "share waiting"),
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
