"""What a server need not have, names of its own, and names that prove nothing."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.families.prepare_confirm.test_restore import RESTORED, failed, judge

OWN_NAMES = """
effects = "tool:list_done"
[prepare_confirm]
action = "data.what"
operation = "data.verb"
token = "data.ticket"
token-argument = "ticket"
expires = "data.until"
items = "data.things"
warnings = "data.notes"
next-step = "data.then"
success = "ok"
message = "info"
[prepare_confirm.pairs.delete_orders]
prepare = "plan_delete"
confirm = "do_delete"
arguments = { ids = ["o-1", "o-2"] }
restore = { tool = "create_orders", arguments = { ids = ["o-1", "o-2"] } }
"""


def select(*rules: str) -> list[str]:
    return [f"--mcp-approval-select=prepare_confirm/{rule}" for rule in rules]


def test_what_a_server_need_not_have_leaves_no_rule_unverified(pytester: pytest.Pytester):
    """One irreversible pair, without a force flag, SSO users, keys or lifetimes to configure."""
    rules = ("action-bound", "pairs", "secret-key", "one-time", "signature")
    found = judge(pytester, "deletes", RESTORED, *select(*rules))
    said = {one["scenario"].rpartition("::")[2]: (one["verdict"], one["why"]) for one in found}
    wanted = {
        "test_a_token_of_another_pair_is_refused": "the server has only one pair",
        "test_what_can_be_undone_says_how": "the server has no reversible pair",
        "test_a_user_who_signs_in_elsewhere_is_told_apart": "no pair has sso",
        "test_a_given_key_is_shared": "the key cannot be configured",
        "test_forgetting_used_tokens_does_not_make_them_good_again": "the expiry cannot be",
    }
    for name, why in wanted.items():
        assert said[name][0] == Verdict.NOT_APPLICABLE, (name, said[name])
        assert why in said[name][1]
    passed = {rule for one in found if one["verdict"] == Verdict.PASSED for rule in one["rules"]}
    unverified = {
        rule for one in found if one["verdict"] == Verdict.NOT_VERIFIED for rule in one["rules"]
    }
    for rule in ("pairs", "secret-key", "one-time"):
        assert f"prepare_confirm/{rule}" in passed - unverified


def test_names_of_its_own_are_told_once(pytester: pytest.Pytester):
    found = judge(pytester, "renamed", OWN_NAMES)
    assert failed(found) == set()
    warned = {
        one["scenario"].rpartition("::")[2]: one["why"]
        for one in found
        if one["verdict"] == Verdict.WARNING
    }
    assert set(warned) == {
        "test_what_a_preview_is_called",
        "test_what_confirming_is_called",
        "test_a_preview_says_until_when",
    }
    assert "data.ticket for confirmation_token" in warned["test_what_a_preview_is_called"]
    assert "plan_delete for prepare_delete_orders" in warned["test_what_a_preview_is_called"]
    assert (
        "ticket for confirmation_token, ok for success" in warned["test_what_confirming_is_called"]
    )
    assert "not ISO 8601" in warned["test_a_preview_says_until_when"]


def test_the_documents_names_are_no_news(pytester: pytest.Pytester):
    found = judge(pytester, "deletes", RESTORED, *select("preview", "confirm-executes"))
    assert {one["verdict"] for one in found} <= {
        Verdict.PASSED,
        Verdict.NOT_APPLICABLE,
        Verdict.NOT_VERIFIED,
    }


def test_what_only_a_name_suggests_is_a_warning(pytester: pytest.Pytester):
    found = judge(pytester, "warns_of_nothing", RESTORED, *select("pairs"))
    assert failed(found) == set()
    warned = {one["why"] for one in found if one["verdict"] == Verdict.WARNING}
    assert len(warned) == 2
    assert any("reversible = ... in pairs.delete_orders" in why for why in warned)
    assert any("no prepare_x for confirm_address" in why for why in warned)


def test_what_the_table_says_is_a_failure(pytester: pytest.Pytester):
    table = f"{RESTORED}reversible = false\n"
    found = judge(pytester, "warns_of_nothing", table, *select("pairs"))
    assert [name.rpartition("::")[2] for name, _ in failed(found)] == [
        "test_what_cannot_be_undone_says_so"
    ]


def test_a_race_that_shows_in_the_answers_only_breaks_a_must(pytester: pytest.Pytester):
    """Without any effects to look at: two successes are two executions."""
    table = RESTORED.replace('effects = "tool:list_done"\n', "")
    assert "effects" not in table
    found = judge(pytester, "takes_twice", table, *select("concurrent"))
    assert any("2 of 8 succeeded" in why for _, why in failed(found))
    assert failed(judge(pytester, "deletes", table, *select("concurrent"))) == set()
