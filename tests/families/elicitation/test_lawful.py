"""Lawful servers with habits of their own are not failed; and a user's own tests work."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.families.elicitation import driver
from pytest_mcp_approval.wire import race_replicas
from tests.inner_runs import Verdicts, plugin_options

SETTINGS = """
effects = "tool:list_done"
family = "elicitation"
[elicitation.tools]
delete_user = { arguments = { id = "test-1" }, other-arguments = { id = "test-2" } }
archive_user = { arguments = { id = "test-1" } }
"""


def judge(pytester: pytest.Pytester, *options: str) -> list[dict[str, Any]]:
    pytester.makefile(".toml", **{"mcp-approval": SETTINGS})
    collected = Verdicts()
    pytester.inline_run(
        "mcp-approval/",
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=python:tests.families.elicitation.asking_servers:two_rounds",
        *options,
        plugins=[collected],
    )
    return collected.found


def test_a_server_that_asks_twice_and_says_no_in_plain_words(pytester: pytest.Pytester):
    """It keeps its states in memory for ever, which is the one thing that it is told."""
    found = judge(pytester)
    bad = {
        (str(one["scenario"]).rpartition("::")[2], one["verdict"], one["why"])
        for one in found
        if one["verdict"] in (Verdict.FAILED, Verdict.WARNING, Verdict.HARNESS_ERROR)
    }
    assert {name for name, *_ in bad} <= {"test_a_question_can_be_answered_for_a_short_time"}, bad
    passed = [one for one in found if one["verdict"] == Verdict.PASSED]
    assert len(passed) > 40


def test_a_replica_may_win_a_race_and_note_that_itself_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """Of the reference each replica lists its own effects."""
    together = race_replicas

    def the_last_one_first(calls):
        behind = [one for one in calls if one[0] is calls[-1][0]]
        ahead = [one for one in calls if one[0] is not calls[-1][0]]
        return [*together(behind), *together(ahead)]

    monkeypatch.setattr(driver, "race_replicas", the_last_one_first)
    collected = Verdicts()
    pytester.inline_run(
        "mcp-approval/elicitation/test_single_use.py::test_of_many_at_two_replicas_one_runs",
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=reference:http",
        plugins=[collected],
    )
    assert [(one["verdict"], one["why"]) for one in collected.found] == [(Verdict.PASSED, "")]


OWN_TEST = """
def test_nobody_deletes_without_a_yes(approval_elicitation):
    question = approval_elicitation.call("erase_account")
    assert "test-1" in question.message

    assert question.decline().nothing_ran
    assert question.accept().nothing_ran            # a declined question is over
    nobody = approval_elicitation.without_capability()
    assert nobody.call("erase_account").nothing_ran


def test_an_honest_yes_runs_it(approval_elicitation):
    assert approval_elicitation.finish(approval_elicitation.call("erase_account")).ran
"""


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25"])
def test_a_users_own_test(pytester: pytest.Pytester, protocol: str):
    pytester.makepyfile(OWN_TEST)
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=reference",
        f"--mcp-approval-protocol={protocol}",
        "--mcp-approval-select=elicitation/no-default-yes",
        str(pytester.path),
    )
    result.assert_outcomes(passed=3)
