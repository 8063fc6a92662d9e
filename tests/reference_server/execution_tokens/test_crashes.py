"""kill -9 at random points, hundreds of times: no token ever executes twice.

A child takes a token, verifies it and writes into the effects file; it is killed at some point, and
another one presents the same token again. Children are forked, so that a round takes milliseconds.
"""

from __future__ import annotations

import datetime
import os
import random
import select
import signal
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

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

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


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
    """Seconds from ready to executed, on this machine as busy as it is."""
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
    return statistics.median(took)


@pytest.mark.parametrize(
    ("open_log", "tokens"), [(folder_log, 100), (sql_log, 60)], ids=["folder", "sqlite"]
)
def test_killed_at_any_point_a_token_executes_once_at_most(tmp_path, open_log, tokens):
    """Each token is presented by two children, one after the other, each killed midway."""
    chance = random.Random(6)
    arbiter = Arbiter(SECRET, now)
    load_what_it_needs(open_log, tmp_path)
    (tmp_path / "effects").touch()
    usual = time_of_an_execution(open_log, tmp_path)
    kills, executed_by_the_first = 0, 0
    for _ in range(tokens):
        token = arbiter.approve(CONTENT, "exec", [])
        for number in range(2):
            process = child(open_log, tmp_path, token)
            # A busy wait, since the points are close together: around the execution.
            until = time.perf_counter() + chance.random() * 1.5 * usual
            while time.perf_counter() < until:
                pass
            kill(process)
            kills += 1
            runs = (tmp_path / "effects").read_text().split().count(token.nonce)
            assert runs <= 1, "a token has executed twice"
            executed_by_the_first += runs if number == 0 else 0
    assert kills == 2 * tokens
    # The points were well chosen: some were after an execution, which the second child noticed.
    assert executed_by_the_first > 0


class LoggedAfterwards(FolderNonceLog):
    """What a careless service has: it looks before the execution, and records after it."""

    def spend(self, nonce: str, expires_at: datetime.datetime, at: datetime.datetime) -> bool:
        del expires_at, at
        return not (self._folder / nonce).exists()


@pytest.mark.parametrize(
    ("open_log", "executions"),
    [
        (folder_log, 1),
        (sql_log, 1),
        (lambda place: LoggedAfterwards(place / "nonces"), 3),
    ],
    ids=["folder", "sqlite", "a log that is written afterwards"],
)
def test_killed_right_after_its_execution_a_token_is_spent(tmp_path, open_log, executions):
    """Three children, each of which dies by kill -9 if it executes. The last log shows that the
    test can fail."""
    token = Arbiter(SECRET, now).approve(CONTENT, "exec", [])
    load_what_it_needs(open_log, tmp_path)
    for _ in range(3):
        await_end(child(open_log, tmp_path, token, dying=True))
    assert (tmp_path / "effects").read_text().split() == [token.nonce] * executions
