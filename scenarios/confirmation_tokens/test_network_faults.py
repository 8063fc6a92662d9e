"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`)."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.confirmation_tokens.staged import StagedConfirmation


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_over_a_bad_network_a_token_runs_once_at_most(tokens):
    expect_once_over_faults(tokens, lambda: StagedConfirmation(tokens.operation))
