"""Prepare and confirm step by step: killed between two steps, handed round replicas, prepared by a
wrong clock.

Reading: a server may forget previews in a crash. What was confirmed it must not confirm again.
"""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import (
    expect_bounded_by_wrong_clocks,
    expect_once_over_replicas,
)
from pytest_mcp_approval.families.prepare_confirm.staged import StagedConfirm

KEY = "a key for tests step by step 4409"


@pytest.fixture
def keyed(two_step):
    """With a key that outlives a process, if it can be configured: else a crash ends all tokens."""
    try:
        return two_step.with_key(KEY)
    except NotApplicable:
        return two_step


@pytest.fixture
def begin(keyed):
    """Begins a new approval."""
    return lambda: StagedConfirm(keyed.pair)


@requirement("prepare_confirm/one-time", needs=["restart"])
def test_killed_between_any_two_steps_a_preview_is_confirmed_once_at_most(keyed, begin):
    expect_once_over_kills(keyed, begin)


@requirement("prepare_confirm/concurrent", needs=[])
def test_handed_round_the_replicas_a_preview_is_confirmed_once(keyed, begin):
    expect_once_over_replicas(keyed, begin)


@requirement("prepare_confirm/expired", needs=["clock"])
def test_a_replica_with_a_wrong_clock_makes_no_preview_endless(keyed, begin):
    expect_bounded_by_wrong_clocks(keyed, begin, tolerance=0)
