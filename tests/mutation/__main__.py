"""Break the reference line by line, and write down who noticed.

    python -m tests.mutation [--family NAME ...] [--sample N] [--explore SECONDS] [--jobs N]
        [--browser]

Writes the answers as lines of JSON as they come; what is in the file already is not asked again, so
that a larger sample goes on where a smaller one ended. Of each module the sample has the same
number, always the same ones. `python -m tests.mutation.page` makes the page of the docs from it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

from pytest_mcp_approval.config.registry import built_in, registered
from tests.inner_runs import ROOT
from tests.mutation.explaining import FILE, explained, explanations
from tests.mutation.modules import (
    UNNOTICED,
    is_shared,
    module_names,
    source_of,
    used_by_server,
)
from tests.mutation.operators import Mutation, mutations
from tests.mutation.worker import BROWSER

RESULTS = Path(__file__).with_name("results.jsonl")
COVERED = Path(__file__).with_name("covered")
PATIENCE = 180.0
"""Seconds for one broken server. A server that hangs has been noticed: each check of it would end
with a time-out."""
SAID = ("how", "by", "instead", "odd", "checked", "left_out")
"""What the scenarios said."""


@dataclass(frozen=True)
class Job:
    family: str
    module: str
    mutation: Mutation

    @property
    def key(self) -> str:
        """Known by what it does, not by its number: that moves when a line is added."""
        one = self.mutation
        name = self.module.removeprefix("pytest_mcp_approval.")
        return f"{name}:{one.function}:{one.line}: {one.what}"

    @property
    def lot(self) -> str:
        """Its place in the order in which a module's mutations are drawn: the same in every run,
        and in every larger sample."""
        return hashlib.sha256(self.key.encode()).hexdigest()


def jobs_of(family: str) -> list[Job]:
    return [
        Job(family, module, mutation)
        for module in module_names(family)
        for mutation in mutations(source_of(module).read_text(encoding="utf-8"))
        if not is_shared(module) or mutation.function in used_by_server(module)
    ]


def sample_of(jobs: list[Job], most: int | None) -> list[Job]:
    """So many of each module, and those of all modules in turn."""
    modules: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda one: one.lot):
        modules.setdefault(job.module, []).append(job)
    turns = zip_longest(*(drawn[:most] for drawn in modules.values()))
    return [job for turn in turns for job in turn if job is not None]


@dataclass(frozen=True)
class Asking:
    """How long who is asked about each mutation."""

    scenarios: float | None
    """Seconds, as they were measured before; None: all that run through the line."""
    explore: float
    again: bool = False
    """Whether what nobody noticed is asked about anew."""
    browser: bool = False
    """Whether a browser looks at pages."""

    @property
    def words(self) -> tuple[str, ...]:
        """For the worker's command."""
        return (BROWSER,) if self.browser else ()


class Worker:
    """One process for a family, started again when it does not answer."""

    def __init__(self, family: str, file: Path, asking: Asking) -> None:
        self.family, self.file, self.asking = family, file, asking
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def check(self, job: Job, *, scenarios: bool) -> dict[str, Any]:
        process = self._started()
        one = job.mutation
        asked = {
            "module": job.module,
            "number": one.number,
            "function": one.function,
            "lines": list(range(one.line, one.last_line + 1)),
            "scenarios": self.asking.scenarios if scenarios else 0,
            "explore": self.asking.explore,
        }
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        except OSError:
            self.stop()
            return {"how": "broke the checker"}
        answer = self._next(PATIENCE + 2 * self.asking.explore)
        if answer["how"] in ("hung", "broke the checker"):
            self.stop()
        return answer

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._answers = queue.Queue()
            about = (self.family, str(self.file), *self.asking.words)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.worker", "check", *about],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=ROOT,
            )
            reader = (self._process.stdout, self._answers)
            threading.Thread(target=_read, args=reader, daemon=True).start()
            assert self._next() == {"how": "ready"}, "a worker did not start"
        return self._process

    def _next(self, patience: float = PATIENCE) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=patience)
        except queue.Empty:
            return {"how": "hung"}
        answer: dict[str, Any] = json.loads(line) if line else {"how": "broke the checker"}
        return answer


def _read(stream: IO[str], answers: queue.Queue[str]) -> None:
    for line in stream:
        answers.put(line)
    answers.put("")


def asks_scenarios(before: Mapping[str, Any], asking: Asking) -> bool:
    """Whether scenarios are left that were not asked."""
    if not before or asking.again or before["how"] == "broke the checker":
        return True
    return asking.scenarios is None and bool(before.get("left_out"))


def is_wanted(before: Mapping[str, Any], asking: Asking) -> bool:
    """Whether there is something left to ask about it."""
    if not before or before["how"] == "broke the checker":
        return True
    if before["how"] not in UNNOTICED or before.get("explored"):
        return False
    return asks_scenarios(before, asking) or asking.explore > before.get("exploring", 0)


def known_in(file: Path) -> dict[str, dict[str, Any]]:
    if not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return {one["key"]: one for one in map(json.loads, lines)}


def covered(family: str, folder: Path, words: Sequence[str] = ()) -> Path:
    """The file that says which scenario runs which lines. It is good until one of them changes, or
    the folder that they are in."""
    read = [*map(source_of, module_names(family)), *registered(family).scenarios.glob("*.py")]
    content = b"".join((bytes(ROOT), *(path.read_bytes() for path in sorted(read))))
    name = "-".join((family, *words, hashlib.sha256(content).hexdigest()[:12]))
    file = folder / f"{name}.json"
    if file.exists():
        return file
    folder.mkdir(exist_ok=True)
    cover = [sys.executable, "-m", "tests.mutation.worker", "cover", family, str(file), *words]
    print(f"mutation: {family}: which scenario runs which lines", flush=True)
    subprocess.run(cover, check=True, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=1800)
    return file


def run(
    family: str,
    jobs: list[Job],
    file: Path,
    count: int,
    asking: Asking,
    known: Mapping[str, Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """The answers, as they come. What the scenarios did not notice before is only explored."""
    workers = [Worker(family, file, asking) for _ in range(count)]
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def work(worker: Worker) -> None:
        try:
            while True:
                job = waiting.get_nowait()
                began = time.monotonic()
                before = known.get(job.key, {})
                fresh = asks_scenarios(before, asking)
                answer = worker.check(job, scenarios=fresh)
                if not fresh and answer["how"] == "nobody":
                    answer = {name: before[name] for name in SAID if name in before} | {
                        name: value for name, value in answer.items() if name != "how"
                    }
                told = {"key": job.key, "family": family, "module": job.module, **answer}
                seconds = round(time.monotonic() - began, 2)
                answers.put({**told, **asdict(job.mutation), "seconds": seconds})
        except queue.Empty:
            pass
        finally:
            worker.stop()
            answers.put(None)

    with ThreadPoolExecutor(count) as pool:
        for worker in workers:
            pool.submit(work, worker)
        left = count
        while left:
            answer = answers.get()
            left -= answer is None
            if answer is not None:
                yield answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--family", action="append", choices=sorted(built_in()))
    parser.add_argument("--module", action="append", help="only modules of this name, as in gate")
    parser.add_argument("--only", action="append", help="only those with this text in their names")
    parser.add_argument("--sample", type=int, help="so many of each module; without it all")
    parser.add_argument("--scenarios", type=float, help="seconds for each; without it all")
    parser.add_argument("--explore", type=float, default=60.0, help="seconds for each survivor")
    parser.add_argument("--again", action="store_true", help="ask about survivors anew")
    parser.add_argument("--browser", action="store_true", help="look at pages with a browser")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    known = known_in(given.results)
    asking = Asking(given.scenarios, given.explore, given.again, given.browser)
    reasons = explanations(FILE.read_text(encoding="utf-8"))
    for family in given.family or sorted(built_in()):
        named = [
            job
            for job in jobs_of(family)
            if given.module is None or job.module.rpartition(".")[2] in given.module
            if given.only is None or any(text in job.key for text in given.only)
        ]
        jobs = sample_of(named, given.sample)
        wanted = [
            job
            for job in jobs
            if is_wanted(known.get(job.key, {}), asking)
            and not (job.key in known and explained(job.key, reasons))
        ]
        print(f"mutation: {family}: {len(jobs)} mutations, {len(wanted)} to check", flush=True)
        if not wanted:
            continue
        counts: Counter[str] = Counter()
        file = covered(family, COVERED, asking.words)
        with given.results.open("a", encoding="utf-8") as results:
            for answer in run(family, wanted, file, given.jobs, asking, known):
                results.write(json.dumps(answer) + "\n")
                results.flush()
                counts["explored" if answer.get("explored") else answer["how"]] += 1
                if sum(counts.values()) % 20 == 0 or sum(counts.values()) == len(wanted):
                    said = ", ".join(f"{how} {count}" for how, count in counts.most_common())
                    done = f"{sum(counts.values())} of {len(wanted)}"
                    print(f"mutation: {family}: {done}: {said}", flush=True)


if __name__ == "__main__":
    main()
