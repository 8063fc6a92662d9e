"""The soak, in small: it kills and races for real, and it would see a gate that runs twice."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from benchmarks import load, soak
from benchmarks.approvals import KINDS, Runs
from benchmarks.replicas import Place
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks replicas")


@pytest.fixture
def race(tmp_path):
    made = []

    def race(family: str, count: int = 2) -> soak.Race:
        place = Place(family, f"sqlite:///{tmp_path}/{family}.db", tmp_path / f"{family}-runs")
        made.append(soak.Race(place, count, random.Random(1)))
        return made[-1]

    yield race
    for one in made:
        one.close()


@pytest.mark.parametrize("family", KINDS)
def test_raced_and_killed_each_runs_once_at_most(race, family):
    tally = race(family).batch(6, kill=True)
    assert tally.is_right, tally
    assert (tally.approvals, tally.kills) == (6, 1)
    assert tally.submissions >= 18, "the one that was killed answered once at least"
    assert tally.runs + tally.used_up == 6
    assert not tally.failed


def test_without_a_kill_each_runs(race):
    tally = race("execution_tokens", 3).batch(5, kill=False)
    assert (tally.runs, tally.submissions, tally.used_up) == (5, 15, 0)
    assert tally.is_right


def test_a_gate_that_looks_and_then_marks_is_seen(race, monkeypatch):
    def spend(self, nonce, expires_at, now):
        if self._nonces.get(nonce.lower()) is not None:
            return False
        time.sleep(0.05)
        original(self, nonce, expires_at, now)
        return True

    original = NonceStore.spend
    monkeypatch.setattr(NonceStore, "spend", spend)
    tally = race("execution_tokens").batch(6, kill=False)
    assert tally.twice
    assert not tally.is_right


def test_a_gate_that_says_it_ran_and_did_not_is_seen(race, monkeypatch):
    monkeypatch.setattr(Runs, "note", lambda *_: None)
    tally = race("execution_tokens", 1).batch(3, kill=False)
    assert len(tally.lost) == 3
    assert not tally.is_right


def test_too_many_that_are_used_up_are_seen():
    assert soak.Tally(kills=2, used_up=2).is_right
    assert not soak.Tally(kills=2, used_up=3).is_right


def test_the_page_says_what_was_done():
    right = soak.Tally(approvals=10, submissions=1234, kills=5, runs=9, used_up=1)
    wrong = soak.Tally(approvals=10, submissions=20, kills=1, runs=12, twice=["a", "b"])
    cells = {("sep2672", "SQLite", 2): right, ("sep2672", "PostgreSQL", 4): wrong}
    text = soak.page(cells, seed=7, seconds=120)
    assert "1,254 raced submissions of 20 approvals and 6 kills" in text
    assert "**2 ran twice, 0 that were acknowledged were lost**" in text
    assert "| `sep2672` | PostgreSQL | 4 | 20 | 10 | 1 | 2 | 0 | 0 |" in text


@pytest.mark.parametrize("count", [1, 2])
def test_under_load_executions_equal_approvals(tmp_path: Path, count):
    place = Place("confirmation_tokens", f"sqlite:///{tmp_path}/db", tmp_path / "runs")
    place.runs.touch()
    found = load.measure(place, count, 8, random.Random(1))
    assert found.approvals == found.executions == len(found.honest) == 8
    assert found.calls == 8 * (4 + count - 1)
    assert len(found.hostile) == found.calls - 8
    assert not found.errors
