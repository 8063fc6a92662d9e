"""SEP-2672 step by step: killed between two steps, handed round replicas, issued by a wrong clock.

Reading: a server may forget enrolments and challenges in a crash, since the document does not say
what it keeps. What was used it must not take for unused.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import (
    expect_bounded_by_wrong_clocks,
    expect_once_over_replicas,
)
from pytest_mcp_approval.families.sep2672.staged import StagedCall


@pytest.fixture
def begin(ceremony):
    """Begins a new approval."""
    return lambda: StagedCall(ceremony.tool)


@requirement("sep2672/8.2.3-exactly-once", needs=["restart"])
def test_killed_between_any_two_steps_an_approval_serves_once_at_most(ceremony, begin):
    expect_once_over_kills(ceremony, begin)


@requirement("sep2672/8.2.3-exactly-once", needs=["pair"])
def test_handed_round_the_replicas_an_approval_serves_once(ceremony, begin):
    expect_once_over_replicas(ceremony, begin)


@requirement("sep2672/4.8-06-challenge-unexpired", needs=["clock"])
def test_a_replica_with_a_wrong_clock_makes_no_challenge_endless(ceremony, begin):
    expect_bounded_by_wrong_clocks(ceremony, begin, tolerance=0)
