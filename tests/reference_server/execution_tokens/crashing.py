"""Children that present a token and are killed: the machinery of test_crashes.py.

    python -m tests.reference_server.execution_tokens.crashing LOG TOKENS FOLDER

Forking a process as large as that of the tests takes several times as long as it does here, where
only what a child needs is loaded. Knows nothing of pytest; what it found is a line of JSON.
"""

from __future__ import annotations

import datetime
import json
import os
import random
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from pytest_mcp_approval.reference_server.execution_tokens.gate import TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import (
    FolderNonceLog,
    NonceLog,
    NonceStore,
)
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token

SECRET = b"a secret of these tests, 16+"
CONTENT = b"echo once\n"
DEADLINE = 30.0


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def folder_log(place: Path) -> NonceLog:
    return FolderNonceLog(place / "nonces")


def sql_log(place: Path) -> NonceLog:
    return NonceStore(f"sqlite:///{place / 'nonces.db'}")


def load_what_it_needs(open_log: Callable[[Path], NonceLog], place: Path) -> None:
    """Before anybody is forked; a connection is not taken along."""
    log = open_log(place)
    if isinstance(log, NonceStore):
        log.close()


def child(
    open_log: Callable[[Path], NonceLog], place: Path, token: Token, *, dying: bool = False
) -> int:
    """Starts a process that presents the token for ever; its process id. Ready when it says so.

    `dying`: it kills itself as soon as it has executed."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, of which the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], DEADLINE)
        os.close(reading)
        assert ready, "the child did not come up"
        return process
    try:
        log = open_log(place)
        effects = os.open(place / "effects", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        operator = Operator(TokenVerifier(SECRET, log, now))
        os.write(writing, b"1")

        def run(content: bytes) -> None:
            del content
            os.write(effects, f"{token.nonce}\n".encode())
            if dying:
                os.kill(os.getpid(), signal.SIGKILL)

        while True:
            try:
                operator.execute(token.to_json(), CONTENT, "exec", run)
            except ExecutionRefusal:
                if dying:
                    break
    finally:
        os._exit(1)


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
    await_end(process)


def await_end(process: int) -> None:
    give_up = time.monotonic() + DEADLINE
    while time.monotonic() < give_up:
        if os.waitpid(process, os.WNOHANG)[0]:
            return
        time.sleep(0.0005)
    raise AssertionError("the child did not end")


def time_of_an_execution(open_log: Callable[[Path], NonceLog], place: Path) -> float:
    """Seconds from ready to executed on this machine: the least that was seen. With the median a
    machine that is very busy took minutes for what comes next."""
    took = []
    for _ in range(3):
        token = Arbiter(SECRET, now).approve(CONTENT, "exec", [])
        before = (place / "effects").stat().st_size
        process = child(open_log, place, token)
        began = time.perf_counter()
        while (place / "effects").stat().st_size == before:
            assert time.perf_counter() < began + DEADLINE
        took.append(time.perf_counter() - began)
        kill(process)
    return min(took)


class LoggedAfterwards(FolderNonceLog):
    """What a careless service has: it looks before the execution, and records after it."""

    def spend(self, nonce: str, expires_at: datetime.datetime, at: datetime.datetime) -> bool:
        del expires_at, at
        return not (self._folder / nonce).exists()


def careless_log(place: Path) -> NonceLog:
    return LoggedAfterwards(place / "nonces")


LOGS = {"folder": folder_log, "sqlite": sql_log, "a log that is written afterwards": careless_log}


def killed_at_any_point(
    open_log: Callable[[Path], NonceLog], tokens: int, place: Path
) -> dict[str, int]:
    """Each token is presented by two children, one after the other, each killed midway."""
    chance = random.Random(6)
    arbiter = Arbiter(SECRET, now)
    load_what_it_needs(open_log, place)
    (place / "effects").touch()
    usual = time_of_an_execution(open_log, place)
    found = {"kills": 0, "executed by the first": 0, "most executions of a token": 0}
    for _ in range(tokens):
        token = arbiter.approve(CONTENT, "exec", [])
        for number in range(2):
            process = child(open_log, place, token)
            # A busy wait, since the points are close together: around the execution.
            until = time.perf_counter() + chance.random() * 1.5 * usual
            while time.perf_counter() < until:
                pass
            kill(process)
            found["kills"] += 1
            runs = (place / "effects").read_text().split().count(token.nonce)
            found["most executions of a token"] = max(found["most executions of a token"], runs)
            found["executed by the first"] += runs if number == 0 else 0
    return found


def main(log: str, tokens: str, place: str) -> None:
    print(json.dumps(killed_at_any_point(LOGS[log], int(tokens), Path(place))))


if __name__ == "__main__":
    main(*sys.argv[1:])
