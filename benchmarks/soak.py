"""Approvals that are raced and replicas that are killed, for as long as it takes.

    make soak
    python -m benchmarks.soak [--kills 200] [--submissions 100000] [--minutes 0]

Each approval is sent to all replicas at the same moment, one of them is killed (SIGKILL) somewhere
in the batch and started again, and the whole batch is sent once more to all. Afterwards the file of
runs must have each approval once at most, and once if a replica said so. Writes docs/soak.md.
PostgreSQL is started from the system's programs, if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.approvals import KINDS
from benchmarks.replicas import Answers, Place, Replica

PAGE = Path(__file__).parent.parent / "docs" / "soak.md"
REPLICAS = (2, 4)
BATCH = 96
KILLS, SUBMISSIONS = 200, 100_000


@dataclass
class Tally:
    """What was seen, of one gate on one database with so many replicas."""

    approvals: int = 0
    submissions: int = 0
    kills: int = 0
    runs: int = 0
    twice: list[str] = field(default_factory=list)
    """Approvals that ran more than once: there must be none."""
    lost: list[str] = field(default_factory=list)
    """Approvals that a replica said had run, and that have not: there must be none."""
    used_up: int = 0
    """Used up by a process that was killed before it ran them: at most one for each kill."""
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def is_right(self) -> bool:
        return not self.twice and not self.lost and self.used_up <= self.kills

    def add(self, other: Tally) -> None:
        for name in ("approvals", "submissions", "kills", "runs", "used_up"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.twice += other.twice
        self.lost += other.lost
        self.failed += other.failed


class Race:
    """Some replicas of one gate."""

    def __init__(self, place: Place, count: int, chance: random.Random) -> None:
        self._place = place
        self._chance = chance
        self._replicas = [Replica(place) for _ in range(count)]
        self._typical = 0.05
        """Seconds that a batch takes, as seen last: somewhere in it a replica is killed."""

    def batch(self, size: int, *, kill: bool) -> Tally:
        made = self._replicas[0].approve(size)
        names, sent = [name for name, _ in made], [approval for _, approval in made]
        tally = Tally(approvals=size)
        said: Counter[str] = Counter()
        for round_ in range(2 if kill else 1):
            began = time.monotonic()
            for one in self._replicas:
                one.submit(sent)
            victim = self._chance.choice(self._replicas) if kill and round_ == 0 else None
            if victim is not None:
                time.sleep(self._chance.uniform(0, self._typical))
                victim.kill()
                tally.kills += 1
            for one in self._replicas:
                answers = one.answers()
                self._count(names, answers, tally, said)
            self._typical = time.monotonic() - began
            if victim is not None:
                victim.start_again()
        self._compare(names, tally, said)
        return tally

    def _count(
        self, names: Sequence[str], answers: Answers | None, tally: Tally, said: Counter[str]
    ) -> None:
        tally.submissions += len(names) if answers is not None else 0
        for name, (became, _) in zip(names, answers or [], strict=False):
            if became == "ran":
                said[name] += 1
            elif became != "refused":
                tally.failed[became] += 1

    def _compare(self, names: Sequence[str], tally: Tally, said: Counter[str]) -> None:
        noted = Counter(self._place.runs.read_text(encoding="utf-8").split())
        for name in names:
            runs = noted[name]
            tally.runs += runs
            if runs > 1 or said[name] > 1:
                tally.twice.append(name)
            elif said[name] and not runs:
                tally.lost.append(name)
            elif not runs:
                tally.used_up += 1
        self._place.runs.write_text("", encoding="utf-8")

    def close(self) -> None:
        for one in self._replicas:
            one.close()


@contextlib.contextmanager
def databases(folder: Path) -> Iterator[dict[str, Any]]:
    """By name, a function that makes the URL of a new database."""
    numbers = iter(range(10**6))
    made: dict[str, Any] = {"SQLite": lambda: f"sqlite:///{folder}/{next(numbers)}.db"}
    from tests.databases import find_postgresql, started_postgresql

    if find_postgresql() is None:
        print("soak: no PostgreSQL here, so it is left out", flush=True)
        yield made
        return
    with started_postgresql() as running:
        yield {**made, "PostgreSQL": running.new_database}


Found = dict[tuple[str, str, int], Tally]


def soak(
    kills: int,
    submissions: int,
    seed: int,
    minutes: float = 0.0,
    families: Sequence[str] = (*KINDS,),
) -> Found:
    """At least so many of both, spread evenly; fewer if that takes more than these minutes."""
    chance = random.Random(seed)
    found: Found = {}
    with tempfile.TemporaryDirectory() as text, databases(Path(text)) as urls:
        cells = list(product(families, urls, REPLICAS))
        done = Tally()
        for number, (family, kind, count) in enumerate(cells):
            place = Place(family, urls[kind](), Path(text) / f"runs-{number}")
            left = len(cells) - number
            until = (
                done.kills + -(-(kills - done.kills) // left),
                done.submissions + (submissions - done.submissions) / left,
            )
            tally = found[family, kind, count] = Tally()
            race = Race(place, count, chance)
            began = time.monotonic()
            end = began + 60 * minutes / len(cells) if minutes else float("inf")
            try:
                while time.monotonic() < end and (
                    done.kills < until[0] or done.submissions < until[1]
                ):
                    one = race.batch(BATCH, kill=True)
                    tally.add(one)
                    done.add(one)
                    _show(number, len(cells), family, kind, count, tally, done)
            finally:
                race.close()
            seconds = time.monotonic() - began
            print(f"\nsoak: {seconds:.0f} s, {tally.submissions / seconds:.0f} a second")
    return found


def _show(
    number: int, cells: int, family: str, kind: str, count: int, tally: Tally, done: Tally
) -> None:
    end = "\r" if sys.stdout.isatty() else "\n"
    if sys.stdout.isatty() or tally.kills % 10 == 1:
        print(
            f"soak: {number + 1} of {cells}, {family} on {kind}, {count} replicas: "
            f"{tally.submissions} submissions, {tally.kills} kills, {len(done.twice)} ran twice "
            f"(in all {done.submissions}, {done.kills})",
            end=end,
            flush=True,
        )


def page(found: Found, seed: int, seconds: float, minutes: float = 0.0) -> str:
    total = Tally()
    for one in found.values():
        total.add(one)
    stopped = ""
    if total.kills < KILLS or total.submissions < SUBMISSIONS:
        after = f", stopped after {minutes:g} minutes" if minutes else ""
        stopped = (
            f" This run was a shorter one{after}: `make soak` goes on to {KILLS} kills and "
            f"{SUBMISSIONS:,} submissions."
        )
    failed = ", ".join(f"{count} {name}" for name, count in total.failed.items()) or "none"
    lines = [
        "# Soak: raced approvals and killed replicas",
        "<!-- Written by benchmarks/soak.py; run `make soak` to write it anew. -->",
        "",
        f"{total.submissions:,} raced submissions of {total.approvals:,} approvals and "
        f"{total.kills:,} kills (SIGKILL): **{len(total.twice)} ran twice, {len(total.lost)} that "
        f"were acknowledged were lost**.{stopped}",
        "",
        "Each approval is sent to all replicas at the same moment, in batches of "
        f"{BATCH}. Somewhere in each batch one replica is killed; it is started again, and the "
        "whole batch is sent once more to all. A run is a line in a file that outlives the "
        "processes. Approvals that are neither run nor usable were used up by a process that died "
        "before it ran them: [at most once](at-most-once.md), and at most one for each kill. "
        "Submissions to a replica that was killed before it answered are not counted.",
        "",
        "| gate | database | replicas | submissions | approvals | kills | ran twice | lost | used "
        "up by a kill |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{family}` | {kind} | {count} | {one.submissions:,} | {one.approvals:,} | {one.kills} "
        f"| {len(one.twice)} | {len(one.lost)} | {one.used_up} |"
        for (family, kind, count), one in found.items()
    ]
    lines += [
        "",
        f"Answers that were errors: {failed}. {seconds / 60:.0f} minutes, Python "
        f"{platform.python_version()}, {platform.machine()}; seed {seed}. The gates are called "
        "directly, without MCP and HTTP in between. `elicitation` and `gateway_consent` are not in "
        "it: the first spends questions by the same statement as `execution_tokens`, the second "
        "keeps consents for one call in the memory of one process.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--submissions", type=int, default=SUBMISSIONS)
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after these; 0: never")
    parser.add_argument("--seed", type=int, default=22)
    given = parser.parse_args()
    began = time.monotonic()
    found = soak(given.kills, given.submissions, given.seed, given.minutes)
    text = page(found, given.seed, time.monotonic() - began, given.minutes)
    PAGE.write_text(text, encoding="utf-8")
    wrong = [cell for cell, tally in found.items() if not tally.is_right]
    print(f"soak: wrote {PAGE.name}; {'WRONG: ' + repr(wrong) if wrong else 'all right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
