"""A question step by step: killed between the question and the answer, handed round replicas.

Since 2026-07-28 only: before, a question is part of an open call, which ends with its server.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.crashes import expect_once_over_kills
from pytest_mcp_approval.families.base.replicas import expect_once_over_replicas
from pytest_mcp_approval.families.elicitation.staged import StagedQuestion


@pytest.fixture
def begin(questions):
    """Begins a new approval."""
    questions.need_sessionless()
    return lambda: StagedQuestion(questions.tool)


@requirement("elicitation/single-use-restart", needs=["restart"])
def test_killed_between_any_two_steps_a_yes_serves_once_at_most(questions, begin):
    expect_once_over_kills(questions, begin)


@requirement("elicitation/single-use-race", needs=[])
def test_handed_round_the_replicas_a_yes_serves_once(questions, begin):
    expect_once_over_replicas(questions, begin)
