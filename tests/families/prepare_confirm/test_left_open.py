"""What the document leaves open is no failure, and what goes beyond that is one."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_runs import Verdicts, bare_options

MODULE = "tests.families.prepare_confirm.left_open"
LOST = "test_an_answer_that_was_lost_is_not_tried_again"
FAILS = "test_a_failure_is_told"


@pytest.mark.parametrize(
    ("factory", "scenario", "verdict"),
    [
        ("one_mutation", LOST, Verdict.PASSED),
        ("counts_all", LOST, Verdict.FAILED),
        ("gives_back", FAILS, Verdict.PASSED),
        ("zero_is_at_once", "test_no_and_negative_lifetimes_are_refused", Verdict.PASSED),
    ],
)
def test_what_is_left_open_is_no_failure(
    pytester: pytest.Pytester, factory: str, scenario: str, verdict: Verdict
):
    listener = Verdicts()
    pytester.inline_run(
        f"--mcp-approval-target=python:{MODULE}:{factory}",
        "--mcp-approval-family=prepare_confirm",
        "--mcp-approval-findings=none",
        "-k",
        scenario,
        *bare_options(),
        plugins=[listener],
    )
    assert [
        (one["verdict"], one["why"]) for one in listener.found if one["verdict"] != verdict
    ] == []
    assert [one["scenario"].rpartition("::")[2] for one in listener.found] == [scenario]
