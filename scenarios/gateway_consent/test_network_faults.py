"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`)."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.gateway_consent.staged import StagedConsent


@requirement("gateway_consent/remember", needs=[])
def test_over_a_bad_network_a_consent_serves_one_call_at_most(consents):
    if consents.driver.asks_in_dialogs or consents.tool.own_authorisation:
        consents.not_applicable("needs a tool that runs on consent alone, asked about on a page")
    expect_once_over_faults(consents, lambda: StagedConsent(consents.tool))
