"""A gateway of another shape, without a page, is checked with nothing but its table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from tests.families.gateway_consent.other_makes import judge_program

HERE = Path(__file__).parent
TABLE = (HERE / "other_gateway.toml").read_text(encoding="utf-8")
COMMAND = f"{sys.executable} {HERE / 'other_gateway.py'}"
RULES = {rule.name for rule in catalogue("gateway_consent") if rule.party == "server"}
VERIFIED = {
    *("consent-required", "all-platforms", "caller-identity", "caller-isolation"),
    *("key-collision", "tool-isolation", "authorize-all", "deny", "remember"),
}


def judge(pytester: pytest.Pytester, *options: str, table: str = TABLE, flags: str = ""):
    """What the suite says about it, and how the run ended."""
    return judge_program(pytester, COMMAND, table, *options, flags=flags)


def verdicts_of(found, *verdicts: Verdict) -> set[str]:
    return {
        rule.partition("/")[2]
        for one in found
        if one["verdict"] in verdicts
        for rule in one["rules"]
    }


def test_it_is_judged_by_its_table_and_a_hook_for_decisions(pytester: pytest.Pytester):
    result, found = judge(pytester)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*tools*mail.send (web)*", "*person*hook:http://*"])
    assert verdicts_of(found, Verdict.FAILED, Verdict.HARNESS_ERROR) == set()
    assert verdicts_of(found, Verdict.PASSED) == VERIFIED
    assert verdicts_of(found, Verdict.WARNING) == {"consent-required"}
    assert verdicts_of(found, Verdict.NOT_VERIFIED) >= RULES - VERIFIED


def test_snake_case_is_a_warning_and_what_is_missing_is_told(pytester: pytest.Pytester):
    selected = ("consent-required", "api-key", "storage-shape", "oauth-pkce", "dialog-fields")
    _, found = judge(pytester, *(f"--mcp-approval-select={name}" for name in selected))
    whys = "\n".join(one["why"] for one in found if one["verdict"] == Verdict.WARNING)
    assert "app_id" in whys
    assert "the document writes camelCase" in whys
    missing = "\n".join(one["why"] for one in found if one["verdict"] == Verdict.NOT_VERIFIED)
    for what in ("descriptors-environment", "export =", "oauth in", "the dialog shows"):
        assert what in missing, what


def test_its_faults_are_found_too(pytester: pytest.Pytester):
    result, found = judge(
        pytester, "-x", "--mcp-approval-select=caller-isolation", flags="--keyed-by-app"
    )
    assert result.ret == 1
    assert verdicts_of(found, Verdict.FAILED) == {"caller-isolation"}


MISTAKES = {
    "a key that there is not": (
        'person = "hook:',
        'perosn = "hook:',
        "*got 'perosn', did you mean 'person'*",
    ),
    "no such person": ('"hook:http', '"http', "*person: got 'http*expected page, browser, hook*"),
    "a kind that there is not": ('kind = "web"', 'kind = "phone"', "*kind: got 'phone'*"),
    "a tool that there is not": ('"mail.send"', '"mail.sned"', "*does not list: mail.sned*"),
    "a tool of no app": ('app = "notes", ', "", "*got no app, expected the id of the app*"),
    "arguments that are none": (
        'arguments = { text = "a test" } }',
        'arguments = "a test" }',
        "*arguments: got 'a test', expected a table*",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_table_is_told_before_anything_is_judged(
    pytester: pytest.Pytester, mistake: str
):
    line, instead, said = MISTAKES[mistake]
    assert line in TABLE
    result, found = judge(pytester, table=TABLE.replace(line, instead, 1))
    assert result.ret == 10
    assert found == []
    result.stdout.fnmatch_lines([f"mcp-approval  {said}"])


def test_without_a_table_nothing_is_called(pytester: pytest.Pytester):
    head = TABLE.partition("[gateway_consent]")[0]
    result, found = judge(pytester, table=head)
    assert result.ret == 10
    assert found == []
    result.stdout.fnmatch_lines(["*no tool of an app behind a gateway is named*"])
