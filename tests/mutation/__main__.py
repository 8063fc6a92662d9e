"""Break the reference line by line, and write down who noticed.

    python -m tests.mutation [--family NAME ...] [--sample N] [--seed N] [--jobs N] [--results FILE]

Writes the answers as lines of JSON as they come; what is in the file already is not asked again.
`python -m tests.mutation.page` makes the page of the docs from it.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from pytest_mcp_approval.config.registry import built_in
from tests.inner_runs import ROOT
from tests.mutation.modules import is_shared, module_names, source_of
from tests.mutation.operators import Mutation, mutations

RESULTS = Path(__file__).with_name("results.jsonl")
PATIENCE = 180.0
"""Seconds for one broken server. A server that hangs has been noticed: each check of it would end
with a time-out."""


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


def jobs_of(family: str) -> list[Job]:
    return [
        Job(family, module, mutation)
        for module in module_names(family)
        for mutation in mutations(source_of(module).read_text(encoding="utf-8"))
        if not (is_shared(module) and "." in mutation.function)  # methods cannot be copied
    ]


class Worker:
    """One process for a family, started again when it does not answer."""

    def __init__(self, family: str, file: Path) -> None:
        self.family, self.file = family, file
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()

    def check(self, job: Job) -> dict[str, Any]:
        process = self._started()
        one = job.mutation
        asked = {
            "module": job.module,
            "number": one.number,
            "function": one.function,
            "lines": list(range(one.line, one.last_line + 1)),
        }
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        except OSError:
            self.stop()
            return {"how": "broke the checker"}
        answer = self._next()
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
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.mutation.worker", "check", self.family, self.file],
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

    def _next(self) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            return {"how": "hung"}
        answer: dict[str, Any] = json.loads(line) if line else {"how": "broke the checker"}
        return answer


def _read(stream: IO[str], answers: queue.Queue[str]) -> None:
    for line in stream:
        answers.put(line)
    answers.put("")


def known_in(file: Path) -> dict[str, dict[str, Any]]:
    if not file.exists():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines()
    return {one["key"]: one for one in map(json.loads, lines)}


def run(family: str, jobs: list[Job], folder: Path, count: int) -> Iterator[dict[str, Any]]:
    """The answers, as they come."""
    file = folder / f"{family}.json"
    cover = [sys.executable, "-m", "tests.mutation.worker", "cover", family, str(file)]
    print(f"mutation: {family}: which scenario runs which lines", flush=True)
    subprocess.run(cover, check=True, cwd=ROOT, stderr=subprocess.DEVNULL, timeout=1800)
    workers = [Worker(family, file) for _ in range(count)]
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def work(worker: Worker) -> None:
        try:
            while True:
                job = waiting.get_nowait()
                began = time.monotonic()
                answer = worker.check(job)
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
    parser.add_argument("--sample", type=int, help="so many of each family, by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    known = known_in(given.results)
    for family in given.family or sorted(built_in()):
        jobs = jobs_of(family)
        random.Random(given.seed).shuffle(jobs)
        wanted = [job for job in jobs[: given.sample] if job.key not in known]
        print(f"mutation: {family}: {len(jobs)} mutations, {len(wanted)} to check", flush=True)
        if not wanted:
            continue
        counts: Counter[str] = Counter()
        with (
            tempfile.TemporaryDirectory() as folder,
            given.results.open("a", encoding="utf-8") as results,
        ):
            for answer in run(family, wanted, Path(folder), given.jobs):
                results.write(json.dumps(answer) + "\n")
                results.flush()
                counts[answer["how"]] += 1
                if sum(counts.values()) % 20 == 0 or sum(counts.values()) == len(wanted):
                    said = ", ".join(f"{how} {count}" for how, count in counts.most_common())
                    done = f"{sum(counts.values())} of {len(wanted)}"
                    print(f"mutation: {family}: {done}: {said}", flush=True)


if __name__ == "__main__":
    main()
