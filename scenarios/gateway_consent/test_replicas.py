"""Two processes of a gateway over one state: what a person has decided at one counts at the other.

Reading: a decision for one call need not be known elsewhere. A remembered one is kept for good, so
that two processes that share it at all must agree on it.
"""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.gateway_consent.driver import GatewayConsent
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice


@contextlib.contextmanager
def _replica(consents):
    """The other gateway, which shows what is remembered here."""
    if consents.driver.asks_in_dialogs:
        raise NotApplicable("dialogs come up where the call waits")
    target = consents.target.replica()
    if target is None:
        raise NotApplicable("no second replica of the target is named (another target)")
    # A client may need a process of its own at the replica, which is closed first.
    with contextlib.closing(target), contextlib.closing(GatewayConsent(target)) as other:
        client = consents.client("Shared")
        consents.allowed(client, consents.tool)
        if not consents.is_served(other.client(client.name).call(consents.tool), consents.tool):
            raise NotApplicable("the replicas do not share what is remembered")
        consents.driver.forget()
        yield other


@requirement("gateway_consent/remember", needs=[])
@pytest.mark.parametrize("choice", [Choice.TOOL, Choice.DENY])
def test_what_is_remembered_at_one_replica_counts_at_the_other(consents, choice):
    """Also if the other one has asked before: it must not go by what it knew then."""
    tool = consents.tool
    with _replica(consents) as other:
        client = consents.client("Both")
        there = other.client(client.name)
        consents.expect_asked(there.call(tool), sent=f"{tool.name} at the second replica, at first")
        consents.decided(client, tool, choice)
        answer = there.call(tool)
        sent = f"{tool.name} at the second replica, after a remembered {choice.value} at the first"
        if choice is Choice.DENY:
            consents.expect_denied(answer, sent=sent)
        else:
            consents.expect_served(answer, tool, sent=sent)
        consents.driver.forget()
