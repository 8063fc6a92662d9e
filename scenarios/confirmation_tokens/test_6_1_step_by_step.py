"""Confirmation tokens step by step: killed between two steps, handed round replicas, issued by a
wrong clock.

Reading: a server may forget tokens in a crash. What was used it must not take for unused.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import (
    expect_bounded_by_wrong_clocks,
    expect_once_over_replicas,
)
from pytest_mcp_approval.families.confirmation_tokens.staged import StagedConfirmation


@pytest.fixture
def begin(tokens):
    """Begins a new approval."""
    return lambda: StagedConfirmation(tokens.operation)


@requirement("confirmation_tokens/6.1-replay", needs=["restart"])
def test_killed_between_any_two_steps_a_token_serves_once_at_most(tokens, begin):
    expect_once_over_kills(tokens, begin)


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_handed_round_the_replicas_a_token_serves_once(tokens, begin):
    expect_once_over_replicas(tokens, begin)


@requirement("confirmation_tokens/4.1-not-expired", needs=["clock"])
def test_a_replica_with_a_wrong_clock_makes_no_token_endless(tokens, begin):
    expect_bounded_by_wrong_clocks(tokens, begin, tolerance=tokens.allowed_lateness)
