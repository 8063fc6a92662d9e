"""A consent for one call step by step: killed between two steps, handed round replicas.

Reading: a gateway may forget in a crash what was not remembered ("others end with the call"), and
need not tell other processes about it. What was used it must not take for unused.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import expect_once_over_replicas
from pytest_mcp_approval.families.gateway_consent.staged import StagedConsent


@pytest.fixture
def begin(consents):
    """Begins a new approval."""

    def made():
        if consents.driver.asks_in_dialogs:
            consents.not_applicable("dialogs come up where the call waits")
        if consents.tool.own_authorisation:
            consents.not_applicable("needs a tool that runs on consent alone")
        return StagedConsent(consents.tool)

    return made


@requirement("gateway_consent/remember", needs=["restart"])
def test_killed_between_any_two_steps_a_consent_serves_one_call_at_most(consents, begin):
    expect_once_over_kills(consents, begin)


@requirement("gateway_consent/remember", needs=[])
def test_handed_round_the_replicas_a_consent_serves_one_call(consents, begin):
    expect_once_over_replicas(consents, begin)
