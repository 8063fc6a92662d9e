"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`)."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.sep2672.staged import StagedCall


@requirement("sep2672/8.2.3-exactly-once", needs=[])
def test_over_a_bad_network_an_approval_runs_once_at_most(ceremony):
    expect_once_over_faults(ceremony, lambda: StagedCall(ceremony.tool))
