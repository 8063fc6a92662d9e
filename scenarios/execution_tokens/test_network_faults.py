"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`)."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.execution_tokens.staged import StagedExecution


@requirement("execution_tokens/nonce-replay", needs=[])
def test_over_a_bad_network_a_token_runs_once_at_most(executions):
    if not executions.target.speaks_mcp:
        executions.not_applicable("no server, so that no network is in between")
    expect_once_over_faults(executions, lambda: StagedExecution(executions.driver.secret))
