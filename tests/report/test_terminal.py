"""What a run prints, and how the verdicts of scenarios become one."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report.results import Results, ScenarioResult, check_lines
from pytest_mcp_approval.report.shown import headline
from pytest_mcp_approval.report.terminal import finding_lines, header_lines, summary_lines
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets
from tests.report import samples
from tests.report.samples import COUNTER, EXPIRED, HASH, finding, result


def test_the_worst_scenario_decides_about_a_rule():
    order = [
        Verdict.NOT_APPLICABLE,
        Verdict.PASSED,
        Verdict.NOT_VERIFIED,
        Verdict.WARNING,
        Verdict.KNOWN,
        Verdict.FAILED,
        Verdict.HARNESS_ERROR,
    ]
    for worse in range(1, len(order)):
        results = Results([result(verdict=order[worse]), result(verdict=order[worse - 1])])
        assert results.verdict_of(COUNTER) is order[worse]
    assert Results().verdict_of(COUNTER) is None


def test_a_scenario_that_is_told_twice_counts_once():
    whole = samples.report(result(), result(verdict=Verdict.HARNESS_ERROR, why="at tear-down"))
    assert [one.verdict for one in whole.scenarios] == [Verdict.HARNESS_ERROR]
    assert whole.counts[Verdict.HARNESS_ERROR] == 1
    assert sum(whole.counts.values()) == 1


def test_a_result_survives_the_way_from_a_worker():
    one = finding(conversation=samples.real_conversation(), replay="x.json")
    assert ScenarioResult.from_json(one.to_json()) == one


def test_the_end_of_a_run_counts_rules_and_tells_what_was_not_judged():
    whole = samples.report(
        finding(),
        result(),
        result(HASH, name="test_hash"),
        result(EXPIRED, Verdict.NOT_VERIFIED, "test_expired", why="needs a clock"),
    )
    lines = "\n".join(summary_lines(whole))
    assert "1 finding in 4 checks of acme-trades 1.4 (sep2672), 2 of 3 rules verified" in lines
    assert "1  FAIL  sep2672/4.8-11-counter" in lines
    assert "not verified  needs a clock" in lines
    assert "4.8-06-challenge-unexpired" in lines
    assert "§4.8 ○✗●" in lines
    assert "1 passed · 1 failed (MUST) · 1 not verified      4 checks" in lines


def test_a_check_is_told_in_lines_that_can_be_run_again():
    lines = check_lines(finding(), samples.rule_of(COUNTER))
    assert lines[0].startswith("FAIL sep2672/4.8-11-counter ")
    assert lines[0].endswith("MUST  SEP-2672 §4.8 step 11")
    assert [line.split()[0] for line in lines[1:]] == ["sent", "rule", "expected", "got", "again"]


def test_no_terminal_obeys_a_target_and_no_line_is_endless():
    hostile = "\x1b[2J\x1b]0;x\x07\u202eabc\n\nFAIL forged\x00" + "y" * 100_000
    shown = finding(got=hostile).fit_to_show(Secrets())
    assert shown.evidence is not None
    assert shown.evidence.got.isprintable()
    assert len(shown.evidence.got) < 2_100
    assert "\\u001b[2J" in shown.evidence.got
    why = result(verdict=Verdict.NOT_VERIFIED, why=hostile).fit_to_show(Secrets()).why
    assert why.isprintable()


def test_no_line_has_a_secret():
    shown = finding(got="you sent hunter2!").fit_to_show(Secrets(["hunter2!"]))
    assert shown.evidence is not None
    assert shown.evidence.got == f"you sent {HIDDEN}"


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ([], "Nothing was checked"),
        ([Verdict.NOT_APPLICABLE], "Nothing was checked"),
        ([Verdict.PASSED, Verdict.NOT_APPLICABLE], "The rule holds"),
        ([Verdict.FAILED, Verdict.PASSED, Verdict.NOT_APPLICABLE], "1 of 2 rules broken"),
        ([Verdict.PASSED] * 3, "All 3 rules hold"),
        ([Verdict.PASSED, Verdict.FAILED, Verdict.HARNESS_ERROR], "1 of 3 rules broken"),
        ([Verdict.PASSED, Verdict.HARNESS_ERROR], "The suite itself failed on 1 of 2 rules"),
        ([Verdict.PASSED, Verdict.WARNING], "No MUST is broken; 1 warning"),
        ([Verdict.PASSED, Verdict.KNOWN], "Nothing newly broken; 1 of 2 rules known to be"),
        (
            [Verdict.PASSED] * 2 + [Verdict.NOT_VERIFIED],
            "Nothing broken; 1 of 3 rules could not be checked",
        ),
        (
            [Verdict.PASSED] + [Verdict.NOT_VERIFIED] * 2,
            "Nothing broken, but 2 of 3 rules could not be checked",
        ),
    ],
)
def test_a_run_comes_to_one_sentence(verdicts, sentence):
    from collections import Counter

    assert headline(Counter(verdicts)) == sentence


LONG = ("who", "a client can invent an accept, and no server can tell; what is checked is one call")


def test_a_narrow_terminal_gets_whole_words():
    told = header_lines([("target", "http://localhost:3000/mcp"), LONG], 60)
    assert max(map(len, told)) <= 60
    assert " ".join(" ".join(told).split()).endswith(LONG[1])
    assert len(header_lines([LONG])) == 1
    whole = samples.report(samples.finding("a result, tool run"))
    for width in (60, 80, 100):
        lines = finding_lines(whole.findings[0], width)
        for line in lines:
            assert len(line) <= width or line.split()[0] in ("again", "why")
