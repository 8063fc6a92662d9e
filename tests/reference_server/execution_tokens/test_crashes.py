"""kill -9 at random points, hundreds of times: no token ever executes twice.

A child takes a token, verifies it and writes into the effects file; it is killed at some point, and
another one presents the same token again. Children are forked from a small process (crashing.py),
so that a round takes milliseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from tests.reference_server.execution_tokens import crashing
from tests.reference_server.execution_tokens.crashing import CONTENT, LOGS, SECRET, now

ROOT = Path(__file__).parents[3]
LONGEST = 110.0
"""Seconds; a deadline for hangs."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize(("log", "tokens"), [("folder", 100), ("sqlite", 60)])
def test_killed_at_any_point_a_token_executes_once_at_most(
    tmp_path: Path, log: str, tokens: int
) -> None:
    """Each token is presented by two children, one after the other, each killed midway."""
    command = [sys.executable, "-m", crashing.__name__, log, str(tokens), str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["kills"] == 2 * tokens
    assert found["most executions of a token"] == 1, "a token has executed twice"
    # The points were well chosen: some were after an execution, which the second child noticed.
    assert found["executed by the first"] > 0


@pytest.mark.parametrize(
    ("log", "executions"),
    [("folder", 1), ("sqlite", 1), ("a log that is written afterwards", 3)],
)
def test_killed_right_after_its_execution_a_token_is_spent(
    tmp_path: Path, log: str, executions: int
) -> None:
    """Three children, each of which dies by kill -9 if it executes. The last log shows that the
    test can fail."""
    token = Arbiter(SECRET, now).approve(CONTENT, "exec", [])
    crashing.load_what_it_needs(LOGS[log], tmp_path)
    for _ in range(3):
        crashing.await_end(crashing.child(LOGS[log], tmp_path, token, dying=True))
    assert (tmp_path / "effects").read_text().split() == [token.nonce] * executions
