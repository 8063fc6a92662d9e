"""Gates under load: honest and hostile callers mixed, on each database, with 1, 2 and 4 replicas.

    python -m benchmarks.load [--approvals 120]

Writes benchmarks/results/load.md. Each approval is used honestly once. At the same time it is sent
to every other replica, once more to the first, and twice as a forgery, all in random order: most
calls are hostile, as under an attack. Executions must equal approvals. One gate in memory is
measured in the same run, for comparison.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.approvals import KINDS, Runs
from benchmarks.replicas import Place, Replica
from benchmarks.soak import databases

RESULTS = Path(__file__).parent / "results" / "load.md"
REPLICAS = (1, 2, 4)


@dataclass
class Load:
    """What was measured of one gate on one database."""

    approvals: int
    executions: int
    calls: int
    seconds: float
    honest: list[float]
    """Seconds that each call took that ran."""
    hostile: list[float]
    errors: Counter[str]

    @property
    def per_second(self) -> float:
        return self.executions / self.seconds


def measure(place: Place, count: int, approvals: int, chance: random.Random) -> Load:
    replicas = [Replica(place) for _ in range(count)]
    try:
        shares = [one.approve(approvals // count) for one in replicas]
        forger = KINDS[place.family](None, Runs(place.runs))
        work = []
        for number in range(count):
            own = [
                one
                for _, approval in shares[number]
                for one in (approval, approval, forger.forged(approval), forger.forged(approval))
            ]
            stolen = [a for other in range(count) if other != number for _, a in shares[other]]
            calls = own + stolen
            chance.shuffle(calls)
            work.append(calls)
        began = time.perf_counter()
        for one, calls in zip(replicas, work, strict=True):
            one.submit(calls)
        answers = [found for one in replicas for found in one.answers() or []]
        seconds = time.perf_counter() - began
    finally:
        for one in replicas:
            one.close()
    noted = Counter(place.runs.read_text(encoding="utf-8").split())
    assert all(times == 1 for times in noted.values()), "something ran twice"
    return Load(
        approvals=sum(map(len, shares)),
        executions=sum(noted.values()),
        calls=len(answers),
        seconds=seconds,
        honest=[took for became, took in answers if became == "ran"],
        hostile=[took for became, took in answers if became == "refused"],
        errors=Counter(became for became, _ in answers if became.startswith("failed")),
    )


def percentiles(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return "-"
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return " / ".join(f"{cuts[part] * 1000:.1f}" for part in (49, 94, 98))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load")
    parser.add_argument("--approvals", type=int, default=120)
    given = parser.parse_args()
    chance = random.Random(22)
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as folder, databases(Path(folder)) as urls:
        for family in KINDS:
            cells = [("memory", 1), *((kind, count) for kind in urls for count in REPLICAS)]
            base = 0.0
            for number, (kind, count) in enumerate(cells):
                print(f"benchmark: {family}, {kind}, {count} replica(s)", flush=True)
                url = None if kind == "memory" else urls[kind]()
                place = Place(family, url, Path(folder) / f"{family}-{number}")
                place.runs.touch()
                found = measure(place, count, given.approvals, chance)
                assert found.executions == found.approvals, (family, kind, count, found.errors)
                base = base or found.per_second
                rows.append(
                    f"| `{family}` | {kind} | {count} | {found.per_second:.0f} "
                    f"| {found.per_second / base:.2f} | {found.calls / found.seconds:.0f} "
                    f"| {percentiles(found.honest)} | {percentiles(found.hostile)} "
                    f"| {found.executions} of {found.approvals} | {sum(found.errors.values())} |"
                )
    report = "\n".join(
        [
            "# Gates under load",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}; "
            f"{given.approvals} approvals in each row, most calls hostile (see "
            "`benchmarks/load.py`). The gates are called directly, one caller in each replica. "
            "Latencies are the median, the 95th and the 99th percentile in milliseconds. Compare "
            "rows of this run only: the machine had other work, and two cores.",
            "",
            "| gate | store | replicas | approvals a second | to memory | calls a second "
            "| honest, ms | hostile, ms | executions | errors |",
            "|---|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
