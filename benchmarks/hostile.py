"""Figures of runs against servers that misbehave: memory, and the time that they cost.

    python -m benchmarks.hostile

Writes benchmarks/results/hostile.md. The servers are those of tests/hostile_servers. Each run is
its own process; memory is that of the whole run, including pytest and the authenticator.
"""

from __future__ import annotations

import platform
import re
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import sanity
from tests.hostile_servers.visits import MANY, HostileServers, Visit, good_server

RESULTS = Path(__file__).parent / "results" / "hostile.md"
TIMEOUT = 3.0
CALL: dict[str, Any] = {"at": "tools/call", "tool": "place_trade"}


@contextmanager
def started() -> Iterator[HostileServers]:
    with good_server() as url, tempfile.TemporaryDirectory() as folder:
        yield HostileServers(url, Path(folder), None)


def megabytes(visit: Visit) -> float:
    return sanity.measured(visit.peak / 2**20, "peak memory in MB")


def check_seconds(visit: Visit) -> list[float]:
    """How long each check that was not verified took, from JUnit's XML."""
    cases = ElementTree.parse(visit.folder / "junit.xml").iter("testcase")
    return [float(case.attrib["time"]) for case in cases if case.find("skipped") is not None]


def memory(hostile: HostileServers) -> list[tuple[str, str, str]]:
    rows = []
    healthy = hostile.visit("stdio", MANY, apart=True)
    rows.append(("peak memory, healthy server", f"{megabytes(healthy):.0f} MB", ""))
    for kind in ("stdio", "http"):
        visit = hostile.visit(kind, MANY, apart=True, at="challenge", first=3, do="gigabyte")
        what = "a line" if kind == "stdio" else "a body"
        name = f"peak memory, {what} of a gigabyte for every challenge ({kind})"
        rows.append((name, f"{megabytes(visit):.0f} MB", "at most 200 MB"))
    flood = hostile.visit(
        "stdio", MANY, apart=True, timeout=TIMEOUT, at="challenge", first=3, do="flood"
    )
    rows.append(
        ("peak memory, notifications without end (stdio)", f"{megabytes(flood):.0f} MB", "")
    )
    return rows


def time_lost(hostile: HostileServers) -> list[tuple[str, str, str]]:
    rows = []
    for kind, habit, plan in (
        ("stdio", "one method hangs", CALL),
        ("http", "one method hangs", CALL),
        ("stdio", "everything hangs from some moment on", {}),
        ("http", "everything hangs from some moment on", {}),
    ):
        visit = hostile.visit(
            kind,
            MANY,
            apart=True,
            timeout=TIMEOUT,
            options=["--junitxml=junit.xml"],
            first=3 if plan else 32,
            do="hang",
            **plan,
        )
        taken = [one for one in check_seconds(visit) if one > 0.2]
        sanity.measured(len(taken), f"checks that waited ({kind})", len(check_seconds(visit)))
        extra = max(taken) - TIMEOUT
        rows.append(
            (
                f"{habit} ({kind}): the most that a check took",
                f"{TIMEOUT:g} s {extra:+.1f} s",
                "+2 s",
            )
        )
        rows.append(
            (
                f"{habit} ({kind}): checks that waited, of {len(check_seconds(visit))}",
                f"{len(taken)}, {statistics.median(taken):.1f} s each",
                "",
            )
        )
    return rows


def main() -> None:
    with started() as hostile:
        print("benchmark: memory against hostile servers")
        rows = memory(hostile)
        print("benchmark: time lost to servers that hang")
        rows += time_lost(hostile)
    report = "\n".join(
        [
            "# Figures of runs against servers that misbehave",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}; "
            f"--mcp-approval-timeout={TIMEOUT:g} where something hangs. "
            "The times include ending a command and starting it again. Made by `make benchmark`.",
            "",
            "| figure | measured | aim |",
            "|---|---|---|",
            *(f"| {name} | {value} | {aim} |" for name, value, aim in rows),
            "",
        ]
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report, encoding="utf-8")
    print(re.sub(r"\|---.*\n", "", report))


if __name__ == "__main__":
    main()
