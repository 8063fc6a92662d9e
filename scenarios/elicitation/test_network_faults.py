"""A bad network, and a client that tries again (collected with `--mcp-approval-network-faults`).

Since 2026-07-28 only: before, an answer is part of an open call.
"""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.network_faults import expect_once_over_faults
from pytest_mcp_approval.families.elicitation.staged import StagedQuestion


@requirement("elicitation/single-use", needs=[])
def test_over_a_bad_network_a_yes_runs_once_at_most(questions):
    questions.need_sessionless()
    expect_once_over_faults(questions, lambda: StagedQuestion(questions.tool))
