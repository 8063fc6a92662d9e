"""On a server that keeps everything, rate limits recover between scenarios."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.confirmation_tokens.driver import ConfirmationTokens
from pytest_mcp_approval.target import Target, open_target

MANY = 41


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    with contextlib.closing(
        open_target("reference:in-process+sqlite", Settings(directory=tmp_path))
    ) as opened:
        opened.can_reset = False
        yield opened


def test_the_clock_of_a_scenario_never_goes_back_behind_earlier_calls(target: Target):
    """Else the limit would still be full of them: the look at the target after a check, and a
    restart, let time be what it was."""
    start = target.clock.now()
    reached = start
    for ended_by in (target.clock.release, target.restart, target.clock.release):
        tokens = ConfirmationTokens(target)
        for _ in range(MANY):
            tokens.ask("delete_repo", {"owner": "acme", "repo": "widgets"})
        reached = max(reached, target.clock.now())
        ended_by()
        assert target.clock.now() < start + datetime.timedelta(minutes=1)
        ConfirmationTokens(target).begin_afresh()
        assert target.clock.now() >= reached + datetime.timedelta(minutes=5)
        reached = target.clock.now()


def test_a_few_calls_move_no_clock(target: Target):
    tokens = ConfirmationTokens(target)
    tokens.ask("delete_repo", {"owner": "acme", "repo": "widgets"})
    before = target.clock.now()
    tokens.begin_afresh()
    assert target.clock.now() - before < datetime.timedelta(minutes=1)
