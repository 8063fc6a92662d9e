"""Failures by cause: what is one finding, how it is shown, and what comes first."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Finding, Verdict, catalogue
from pytest_mcp_approval.report.findings import group_findings
from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.json_file import render_json
from pytest_mcp_approval.report.markdown import render_markdown
from pytest_mcp_approval.report.normalising import gist
from pytest_mcp_approval.report.results import ScenarioResult
from pytest_mcp_approval.report.sarif import render_sarif
from pytest_mcp_approval.report.terminal import finding_lines, summary_lines
from tests.report import samples
from tests.report.samples import COUNTER, HASH, RULES, result

EVIDENCE = "sep2672/4.8-02-evidence-well-formed"
EXPECTED = "-32001 missing_evidence, tool not run"


def check(
    sent: str, got: str, rule: str = EVIDENCE, expected: str = EXPECTED, **more: Any
) -> ScenarioResult:
    """A check that found something, under a name of its own."""
    found = Finding(sent=sent, expected=expected, got=got)
    named = result(rule, name=f"test_shapes[{rule}-{sent}-{got}]", **more)
    return named.with_finding(found)


def shapes(*kinds: str) -> list[ScenarioResult]:
    got = "error -32603 Invalid arguments: expected object, received {}, tool not run"
    return [check(f"tools/call, evidence is {kind}", got.format(kind)) for kind in kinds]


def test_failures_of_one_cause_are_one_finding_told_by_its_simplest_example():
    whole = samples.report(*shapes("undefined", "null", "string", "number"))
    (one,) = whole.findings
    assert one.example.evidence is not None
    assert one.example.evidence.sent == "tools/call, evidence is null"
    assert len(one.variants) == 3
    lines = finding_lines(one, with_fix=False)
    assert [line.split()[0] for line in lines] == [
        *("1", "sent", "rule", "expected", "got", "also", "again", "why")
    ]
    assert lines[5] == "   also      3 more like it: number; string; undefined"


def test_how_to_fix_it_is_said_once_for_each_rule():
    fix = catalogue("sep2672")[EVIDENCE].fix
    whole = samples.report(*shapes("null", "number"), check("x", "a result, tool run"))
    assert len(whole.findings) == 2
    for width in (60, 100):
        told = summary_lines(whole, width=width)
        assert " ".join(" ".join(told).split()).count(fix) == 1
        assert [line for line in told if line.startswith("   fix")]
    assert render_html(whole).count(escape(fix)) == 1
    assert render_markdown(whole).count("How to fix it") == 2
    (run,) = json.loads(render_sarif(whole))["runs"]
    assert fix in run["tool"]["driver"]["rules"][0]["help"]["markdown"]
    assert json.loads(render_json(whole))["rules"][0]["fix"] == fix


@pytest.mark.parametrize(
    "other",
    [
        check("evidence is {}", "error -32602 no, tool not run"),
        check("evidence is {}", "error -32603 no, tool run"),
        check("evidence is {}", 'error -32603 no {"reason":"x"}, tool not run'),
        check("evidence is {}", "error -32603 no, tool not run", rule=HASH),
        check("evidence is {}", "error -32603 no, tool not run", expected="-32001 other_reason"),
    ],
    ids=["code", "effect", "reason", "rule", "expected"],
)
def test_another_code_effect_reason_rule_or_expectation_is_another_finding(other):
    one = check("evidence is 7", "error -32603 no, tool not run")
    assert len(samples.report(one, other).findings) == 2


def test_a_message_does_not_count_beside_a_reason():
    said = 'error -32001 {} {{"reason":"verification_failed"}}, tool not run'
    assert gist(said.format("flag UV is 0")) == gist(said.format("the origin is another"))
    assert "verification_failed" in gist(said.format("x"))
    assert gist("error -32603 flag UV is 0") != gist("error -32603 the origin is another")


def test_failures_come_before_warnings_and_what_is_known():
    warned = replace(check("a", "b", rule=COUNTER), verdict=Verdict.WARNING)
    known = check("a", "c", rule=COUNTER).with_verdict(Verdict.KNOWN, "ticket 12")
    failed = check("a", "d", rule=HASH)
    found = group_findings([warned, known, failed], RULES)
    assert [(one.number, one.verdict) for one in found] == [
        *((1, Verdict.FAILED), (2, Verdict.WARNING), (3, Verdict.KNOWN))
    ]


def test_one_cause_under_several_rules_is_told_once_and_named_there():
    rules = (COUNTER, HASH, EVIDENCE)
    whole = samples.report(*(check("a call", "a result, tool run", rule=rule) for rule in rules))
    assert [one.alike for one in whole.findings] == [(2, 3), (1, 3), (1, 2)]
    text = "\n".join(summary_lines(whole))
    assert text.count("   expected  ") == 1
    assert text.count("   got       as in finding 1") == 2
    assert "findings 1, 2 and 3 may well be one defect; start with 1" in text


def test_only_another_code_is_one_finding_of_a_rule_whatever_the_reasons():
    reasons = ("missing_evidence", "unsupported_method")
    whole = samples.report(
        *(
            check(
                f"a call for {reason}",
                f'error -32000 no {{"reason":"{reason}"}}, tool not run',
                expected=f"-32001 {reason}, tool not run",
            )
            for reason in reasons
        ),
        check("a call", 'error -32000 no {"reason":"other"}, tool not run'),
    )
    assert sorted(len(one.checks) for one in whole.findings) == [1, 2]


def test_the_summary_counts_findings_and_not_checks():
    told = summary_lines(samples.report(*shapes("null", "string", "number"), result()))
    assert told[1] == "1 finding in 4 checks of acme-trades 1.4 (sep2672), 2 of 2 rules verified"


def test_a_cascade_is_said_before_everything_else():
    why = "the honest call failed, so nothing follows: error -32603 row {} is locked, tool not run"
    lost = [
        result(rule.id, Verdict.NOT_VERIFIED, f"test_{number}", why=why.format(number))
        for number, rule in enumerate(RULES[:30])
    ]
    culprit = check("a call", "error -32603 row 99 is locked, tool not run")
    passed = [result(rule.id, name=f"test_fine_{rule.name}") for rule in RULES]
    whole = samples.report(*lost, culprit, *passed)
    said = "31 checks are not in order, 31 of them for one reason: error -32603 row 99 is locked"
    assert whole.cascade == said
    assert summary_lines(whole)[1] == f"mcp-approval  {said}"


def test_a_few_checks_that_fail_alike_are_no_cascade():
    passed = [result(rule.id, name=f"test_fine_{rule.name}") for rule in RULES]
    assert samples.report(*shapes(*map(str, range(40))), *passed).cascade == ""
    # Nor is it one where only a few rules were asked for.
    few = [
        check(f"call {number}", "a result, tool run", rule=rule)
        for number in range(20)
        for rule in (COUNTER, HASH)
    ]
    assert samples.report(*few).cascade == ""


def test_what_ran_or_broke_the_server_is_to_be_mended_first():
    refused = check("a call", "error -32603 no, tool not run")
    ran = check("another call", "a result, tool run", rule=HASH)
    told = "\n".join(summary_lines(samples.report(refused, ran)))
    assert "Next: fix finding 2 first: something ran that had to be refused." in told
    expected = "an error, and honest people served as before"
    got = "error -32603 no; after this, honest calls fail: error -32603 x is not a function"
    breaking = check("7", got, rule="sep2672/4.4.2-persisted", expected=expected)
    told = "\n".join(summary_lines(samples.report(refused, ran, breaking)))
    assert "Next: fix finding 1 first: after it, the server fails for everyone." in told


def test_warnings_are_grouped_by_what_came():
    said = (
        "tools/call {}: error -32000 no {{}}, tool not run; the reason is right, and section 4.10 "
    )
    noted = [
        result(rule, Verdict.WARNING, f"test_{n}", why=f"{said.format(n)}fixes the code")
        for n, rule in enumerate((COUNTER, COUNTER, COUNTER, HASH))
    ]
    one, other = samples.report(*noted).findings
    assert (len(one.checks), len(other.checks)) == (3, 1)
    assert one.alike == (2,)
    assert one.labels == ["1", "2"]


def test_a_hundred_findings_and_hostile_text_stay_bounded():
    hostile = "\x1b[2J" + "y" * 100_000
    found = [
        samples.finding(f"{'abcdefghij'[number % 10] * (number + 1)} {hostile}", name=f"t{number}")
        for number in range(100)
    ]
    text = "\n".join(summary_lines(samples.report(*found), width=80))
    assert "more findings; the reports have them all" in text
    assert len(text) < 100_000
    assert "\x1b" not in text


# ---- in a run


BROKEN = "python:tests.mutants.sep2672.evidence:NeverLooksAtTheMethod"
METHOD = ("--mcp-approval-select=sep2672/4.8-03-method", "-k", "only_webauthn or test_mine")


@pytest.mark.parametrize(
    ("options", "sections", "told"),
    [
        ([], False, 1),
        (["-v"], False, 1),
        (["--tb=no"], False, 1),
        (["-vv"], True, None),
        (["--tb=short"], True, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_pytest_does_not_tell_each_failed_check_again(suite, options, sections, told):
    run = suite.run(*METHOD, *options, target=BROKEN)
    failed = run.parseoutcomes()["failed"]
    assert failed > 2
    text = run.stdout.str()
    assert ("= FAILURES =" in text) is sections
    assert text.count("expected  -32001") == (told or failed + 1)
    lines = [line for line in run.stdout.lines if line.startswith("FAILED mcp-approval/")]
    assert len(lines) == failed
    run.stdout.fnmatch_lines([f"*also*{failed - 1} more like it*", "Next: fix finding 1*"])


def test_what_failed_otherwise_is_told_by_pytest_as_ever(suite):
    own = suite.pytester.makepyfile(test_own="def test_mine():\n    assert 1 == 2")
    run = suite.run(*METHOD, str(own), target=BROKEN)
    run.stdout.fnmatch_lines(["*= FAILURES =*", "*_ test_mine _*", "*assert 1 == 2*"])
    run.stdout.fnmatch_lines(["1  FAIL  sep2672/4.8-03-method*", "FAILED *::test_mine*"])
    assert run.stdout.str().count("_ test_") == 1
