"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`)."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.prepare_confirm.staged import StagedConfirm


@requirement("prepare_confirm/one-time", needs=[])
def test_over_a_bad_network_a_preview_is_confirmed_once_at_most(two_step):
    expect_once_over_faults(two_step, lambda: StagedConfirm(two_step.pair))
