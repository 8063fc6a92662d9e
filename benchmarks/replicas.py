"""Replicas of gates as processes: each answers batches, can be killed, and is started again.

They are forked from a process that has everything loaded, and open their stores themselves. Knows
no figures.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.approvals import KINDS, Runs

_SECONDS = 300.0
"""For one batch."""
_processes = multiprocessing.get_context("fork")

Answers = list[tuple[str, float]]
"""What became of each: ran, refused or failed; and the seconds that it took."""


@dataclass(frozen=True)
class Place:
    """Where replicas meet: a gate, its database, and the file in which runs are noted."""

    family: str
    url: str | None
    runs: Path


def _serve(link: Connection, place: Place) -> None:
    approvals = KINDS[place.family](place.url, Runs(place.runs))
    while True:
        try:
            order, given = link.recv()
        except EOFError:
            os._exit(0)
        if order == "end":
            approvals.close()
            os._exit(0)
        if order == "approve":
            link.send([approvals.approve() for _ in range(given)])
            continue
        answers: Answers = []
        for one in given:
            began = time.perf_counter()
            try:
                became = "ran" if approvals.use(one) else "refused"
            except Exception as error:  # counted, and shown by its name
                became = f"failed: {type(error).__name__}"
            answers.append((became, time.perf_counter() - began))
        link.send(answers)


class Replica:
    """One process."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._start()

    def _start(self) -> None:
        self._link, theirs = _processes.Pipe()
        self._process = _processes.Process(target=_serve, args=(theirs, self._place), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, of which it uses none
            self._process.start()
        theirs.close()

    def approve(self, count: int) -> list[tuple[str, Any]]:
        self._link.send(("approve", count))
        made: list[tuple[str, Any]] = self._answer()
        return made

    def submit(self, approvals: Sequence[Any]) -> None:
        """Begin to use them, one after the other."""
        self._link.send(("use", list(approvals)))

    def answers(self) -> Answers | None:
        """What became of them; None if it was killed meanwhile."""
        try:
            found: Answers = self._answer()
        except (EOFError, ConnectionResetError):
            return None
        return found

    def _answer(self) -> Any:
        if not self._link.poll(_SECONDS):
            raise TimeoutError(f"a replica did not answer within {_SECONDS:g} s")
        return self._link.recv()

    def kill(self) -> None:
        """Without any warning."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()

    def start_again(self) -> None:
        self._link.close()
        self._start()

    def close(self) -> None:
        # Not by closing its pipe: later ones have inherited an end of it.
        self._link.send(("end", None))
        self._process.join(5)
        self._link.close()
        if self._process.is_alive():
            self.kill()
