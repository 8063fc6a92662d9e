"""Execution tokens step by step: killed between two steps, handed round replicas, made by a wrong
clock.

Only for servers: a command runs anew for each token anyway, and a callable runs in this process.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import (
    expect_bounded_by_wrong_clocks,
    expect_once_over_replicas,
)
from pytest_mcp_approval.families.execution_tokens.staged import StagedExecution


@pytest.fixture
def begin(executions):
    """Begins a new approval."""

    def made():
        if not executions.target.speaks_mcp:
            executions.not_applicable("no server, which could be killed or have replicas")
        return StagedExecution(executions.driver.secret)

    return made


@requirement("execution_tokens/nonce-restart", needs=["restart"])
def test_killed_between_any_two_steps_a_token_serves_once_at_most(executions, begin):
    expect_once_over_kills(executions, begin)


@requirement("execution_tokens/nonce-race", needs=[])
def test_handed_round_the_replicas_a_token_serves_once(executions, begin):
    expect_once_over_replicas(executions, begin)


@requirement("execution_tokens/expiry", needs=["clock"])
def test_a_replica_with_a_wrong_clock_makes_no_token_endless(executions, begin):
    begin()
    expect_bounded_by_wrong_clocks(executions, begin, tolerance=0)
