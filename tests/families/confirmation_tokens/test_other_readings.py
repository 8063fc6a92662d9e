"""What the document leaves open is no failure."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_runs import Verdicts, bare_options

MODULE = "tests.families.confirmation_tokens.other_readings"
BAD = (Verdict.FAILED, Verdict.WARNING, Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR)


def judge(pytester: pytest.Pytester, factory: str, *patterns: str) -> dict[str, tuple[str, str]]:
    """Verdict and reason by scenario."""
    listener = Verdicts()
    pytester.inline_run(
        f"--mcp-approval-target=python:{MODULE}:{factory}",
        *(f"--mcp-approval-select=confirmation_tokens/{pattern}" for pattern in patterns),
        "--mcp-approval-findings=none",
        *bare_options(),
        plugins=[listener],
    )
    return {
        one["scenario"].rpartition("::")[2]: (one["verdict"], one["why"]) for one in listener.found
    }


def test_asking_more_often_than_needed_breaks_nothing(pytester: pytest.Pytester):
    found = judge(pytester, "asks", "1.3*")
    assert found["test_a_harmless_operation_needs_no_token[reversible]"][0] == Verdict.PASSED
    assert {name: said for name, said in found.items() if said[0] in BAD} == {}


def test_the_same_token_again_breaks_nothing(pytester: pytest.Pytester):
    found = judge(pytester, "repeats", "1.3*", "3.1*", "4.1-not-consumed", "5.2*", "5.3-revocation")
    assert len(found) > 10
    assert {name: said for name, said in found.items() if said[0] in BAD} == {}
    assert found["test_tokens_have_room_for_128_random_bits"][0] == Verdict.PASSED


def test_tokens_that_are_evicted_when_they_expire_are_a_warning(pytester: pytest.Pytester):
    found = judge(pytester, "evicts", "4.1-not-expired", "4.1-codes", "4.1-every-check")
    bad = {name: said for name, said in found.items() if said[0] in BAD}
    assert {said[0] for said in bad.values()} == {Verdict.WARNING}, bad
    assert all("section 4.1 names TOKEN_EXPIRED" in why for _, why in bad.values())
    assert found["test_each_failed_check_has_its_own_code"][0] == Verdict.PASSED


def test_a_limit_of_failed_validations_breaks_nothing_and_proves_nothing(
    pytester: pytest.Pytester,
):
    found = judge(pytester, "limits", "4.1-codes", "4.1-exists", "6.2-tamper")
    assert {name for name, said in found.items() if said[0] == Verdict.FAILED} == set(), found
    for name in (
        "test_words_of_a_token_do_not_decide_why_it_is_refused",
        "test_what_is_no_token_confirms_nothing[destructive]",
        "test_a_changed_token_is_invalid",
    ):
        assert found[name][0] == Verdict.NOT_VERIFIED
        assert "rate limit" in found[name][1]


def test_one_quota_for_all_users_is_a_warning(pytester: pytest.Pytester):
    found = judge(pytester, "shares", "2.1-quota")
    verdict, why = found["test_the_pause_of_one_user_is_resumed_by_their_own_token"]
    assert verdict == Verdict.WARNING
    assert "one for all users" in why


def test_tokens_of_a_session_and_words_that_change_break_nothing(pytester: pytest.Pytester):
    found = judge(pytester, "binds", "6.4-audit", "3.3*")
    assert {name: said for name, said in found.items() if said[0] == Verdict.FAILED} == {}
    assert found["test_each_first_answer_is_about_its_own_call"][0] == Verdict.PASSED
    assert "test_what_ends_tokens_by_itself_is_told" in found
