"""What the document leaves open, names of a team's own, and what a verifier is not told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from tests.inner_runs import Verdicts, plugin_options

MODULE = "tests.families.execution_tokens.plain_verifiers"
VERIFY = f"{sys.executable} {Path(verifiers.__file__).parent / 'verify.py'}"
FILES = "--token {token} --content {content} --nonce-log {nonce_log}"


def judge(
    pytester: pytest.Pytester, target: str, rule: str, clock: str = "none"
) -> list[dict[str, Any]]:
    listener = Verdicts()
    pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        f"--mcp-approval-target={target}",
        f"--mcp-approval-select=execution_tokens/{rule}",
        "--mcp-approval-findings=none",
        f"--mcp-approval-clock={clock}",
        plugins=[listener],
    )
    assert listener.found
    return listener.found


def by_name(found: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {one["scenario"].rpartition("::")[2]: (one["verdict"], one["why"]) for one in found}


NO_TEXT = "test_a_nonce_that_is_no_text_serves_once_at_most"


def test_a_nonce_of_another_kind_that_serves_once_is_a_warning(pytester: pytest.Pytester):
    found = by_name(judge(pytester, f"verifier:{MODULE}:any_nonce", "nonce-required"))
    assert found[NO_TEXT][0] == Verdict.WARNING
    assert {verdict for verdict, _ in found.values()} == {
        Verdict.WARNING,
        Verdict.PASSED,
        Verdict.NOT_APPLICABLE,
    }


def test_a_nonce_of_another_kind_that_serves_twice_is_a_failure(pytester: pytest.Pytester):
    found = by_name(judge(pytester, f"verifier:{MODULE}:forgets_numbers", "nonce-required"))
    assert found[NO_TEXT][0] == Verdict.FAILED
    assert "a number for a nonce, for time 2" in found[NO_TEXT][1]


NAMES = "test_the_members_are_called_as_in_the_document"


@pytest.mark.parametrize(
    ("factory", "members", "verdict", "said"),
    [
        ("any_nonce", "", Verdict.PASSED, ""),
        (
            "renamed_outside",
            'token_id = "id", signature = "hmac"',
            Verdict.WARNING,
            "not called as in the document: id for token_id, hmac for signature",
        ),
        ("renamed_inside", 'content_hash = "digest"', Verdict.FAILED, "digest for content_hash"),
    ],
)
def test_names_of_its_own_are_told_once(
    pytester: pytest.Pytester, factory: str, members: str, verdict: Verdict, said: str
):
    table = f"[execution_tokens]\nmembers = {{ {members} }}\n"
    (pytester.path / "mcp-approval.toml").write_text(table, encoding="utf-8")
    found = by_name(judge(pytester, f"verifier:{MODULE}:{factory}", "canonical-string"))
    assert found[NAMES][0] == verdict
    assert said in found[NAMES][1]
    others = {one for name, (one, _) in found.items() if name != NAMES}
    assert others <= {Verdict.PASSED, Verdict.NOT_APPLICABLE}, found


@pytest.mark.parametrize(
    ("command", "rule", "missing"),
    [
        (f"{VERIFY} {FILES} --action {{action}} -- {{runner}}", "scope-host", "{host}"),
        (f"{VERIFY} {FILES} --action exec -- {{runner}}", "scope-action", "{action}"),
    ],
)
def test_who_is_not_told_is_not_blamed(
    pytester: pytest.Pytester, command: str, rule: str, missing: str
):
    found = by_name(judge(pytester, f"command:{command}", rule))
    open_ones = {why for verdict, why in found.values() if verdict != Verdict.NOT_APPLICABLE}
    assert {verdict for verdict, _ in found.values()} <= {
        Verdict.NOT_VERIFIED,
        Verdict.NOT_APPLICABLE,
    }
    assert open_ones
    assert all(missing in why for why in open_ones)


SPELLINGS = "test_another_spelling_of_a_field_is_another_signature"


def test_a_uuid_in_another_spelling_is_a_warning(pytester: pytest.Pytester):
    found = by_name(judge(pytester, f"verifier:{MODULE}:reads_uuids", "signature"))
    assert found[SPELLINGS][0] == Verdict.WARNING
    assert "capitals in nonce" in found[SPELLINGS][1]
    assert Verdict.FAILED not in {verdict for verdict, _ in found.values()}, found


@pytest.mark.parametrize(
    ("rule", "warned"),
    [
        ("canonical-string", "test_odd_scopes_are_signed_as_python_writes_them"),
        ("scope-host", "test_any_of_several_hosts_and_none_of_none"),
        ("scope-action", None),
        ("nonce-replay", None),
    ],
)
def test_limits_of_its_own_are_no_failure(pytester: pytest.Pytester, rule: str, warned: str | None):
    found = by_name(judge(pytester, f"verifier:{MODULE}:has_limits", rule))
    assert {name for name, (one, _) in found.items() if one == Verdict.WARNING} == {
        *filter(None, [warned])
    }
    assert Verdict.FAILED not in {verdict for verdict, _ in found.values()}, found


CALLABLES = "tests.families.execution_tokens.callables"
ARBITERS = "tests.families.execution_tokens.own_arbiters"


@pytest.mark.parametrize(
    ("factory", "rule", "expected"),
    [
        # Whoever executes can also approve here, which the document leaves open.
        ("one_life", "arbiter-scope", {Verdict.PASSED, Verdict.NOT_APPLICABLE}),
        ("one_life", "arbiter-expiry", {Verdict.PASSED, Verdict.NOT_APPLICABLE}),
        (
            "narrow",
            "arbiter-scope",
            {Verdict.PASSED, Verdict.WARNING, Verdict.NOT_APPLICABLE},
        ),
        ("narrow", "arbiter-expiry", {Verdict.PASSED}),
    ],
)
def test_an_arbiter_decides_for_how_long_and_may_approve_less(
    pytester: pytest.Pytester, factory: str, rule: str, expected: set[Verdict]
):
    found = by_name(judge(pytester, f"python:{ARBITERS}:{factory}", rule, clock="auto"))
    assert {verdict for verdict, _ in found.values()} == expected, found
    if rule == "arbiter-expiry":
        assert found["test_an_approval_ends_and_another_begins"][0] == Verdict.PASSED


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "x.example", "GitHub.test"])
def test_a_trick_that_names_the_allowed_host_is_none(pytester: pytest.Pytester, host: str):
    table = f'[execution_tokens]\nhost = "{host}"\n'
    (pytester.path / "mcp-approval.toml").write_text(table, encoding="utf-8")
    found = by_name(judge(pytester, f"verifier:{CALLABLES}:verify", "scope-host"))
    assert {verdict for verdict, _ in found.values()} <= {Verdict.PASSED, Verdict.NOT_APPLICABLE}, (
        found
    )
