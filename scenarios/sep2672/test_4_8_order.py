"""SEP-2672 section 4.8: the order of the checks 1 to 12, for every pair.

Each scenario sends one call with two faults. The SEP's order is normative, so the reason has to be
that of the earlier check, for every two checks that one call can break together. Which pairs are
possible, and why the others are not, is written beside the faults in
pytest_mcp_approval/families/sep2672/faulty_calls.py.
"""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.faulty_calls import draft, possible_pairs
from pytest_mcp_approval.families.sep2672.vocabulary import Reason

# Reading 4: a server may forget a challenge once its lifetime is over. The scenarios of steps 5 and
# 6 judge that; here it is not about the order.
ALSO_RIGHT_AFTER_EXPIRY = {Reason.CHALLENGE_CONSUMED, Reason.CHALLENGE_EXPIRED}


def _accepted(first, *faults):
    expired = any(fault.reason is Reason.CHALLENGE_EXPIRED for fault in faults)
    if expired and first.reason in ALSO_RIGHT_AFTER_EXPIRY:
        return (first.reason, Reason.CHALLENGE_UNKNOWN)
    return (first.reason,)


@requirement("sep2672/4.8-order")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(first, second, id=f"{first.id} before {second.id}")
        for first, second in possible_pairs()
    ],
)
def test_the_earlier_check_gives_the_reason(ceremony, first, second):
    """First the earlier fault alone, to see that the server gives its reason at all; then both."""
    ceremony.honest()
    alone = draft(ceremony, first)
    outcome = alone.submit()
    if outcome.executed or outcome.reason not in _accepted(first, first):
        raise NotVerified(
            f"step {first.step} alone ({first.name}) is not refused as {first.reason}, so that its "
            f"place in the order cannot be seen: {outcome.describe()}"
        )
    both = draft(ceremony, first, second)
    outcome = both.submit()
    if both.refused_by_the_schema(outcome):
        raise NotVerified("the server refused the other arguments before it looked at the approval")
    ceremony.expect_refusal(
        outcome,
        *_accepted(first, first, second),
        sent=f"tools/call with {first.name} (step {first.step}) and {second.name} "
        f"(step {second.step})",
    )
