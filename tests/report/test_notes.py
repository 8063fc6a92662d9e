"""What one check that was not made does to a rule whose others passed, and where that is shown."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.json_file import render_json
from pytest_mcp_approval.report.results import Results, ScenarioResult, verdict_over
from pytest_mcp_approval.report.terminal import summary_lines
from tests.report.samples import COUNTER, finding, report, result

PASSES = [result(name=f"test_it[{number}]") for number in range(23)]
OF_NO_CONCERN = result(verdict=Verdict.NOT_APPLICABLE, name="test_other", why="one gated tool")
MINOR = result(verdict=Verdict.NOT_VERIFIED, name="test_part", why="needs a twin", minor=True)
ESSENTIAL = result(verdict=Verdict.NOT_VERIFIED, name="test_core", why="needs a clock")


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ([*PASSES, OF_NO_CONCERN], Verdict.PASSED),
        ([*PASSES, MINOR], Verdict.PASSED),
        ([*PASSES, MINOR, OF_NO_CONCERN], Verdict.PASSED),
        ([*PASSES, ESSENTIAL], Verdict.NOT_VERIFIED),
        ([*PASSES, ESSENTIAL, MINOR], Verdict.NOT_VERIFIED),
        ([OF_NO_CONCERN], Verdict.NOT_APPLICABLE),
        ([MINOR], Verdict.NOT_VERIFIED),
        ([MINOR, OF_NO_CONCERN], Verdict.NOT_VERIFIED),
        ([*PASSES, MINOR, finding()], Verdict.FAILED),
        ([], None),
    ],
)
def test_what_a_check_that_was_not_made_does_to_its_rule(results, verdict):
    assert verdict_over(results) is verdict
    assert Results(results).verdict_of(COUNTER) is verdict
    if verdict is not None:
        assert [one.verdict for one in report(*results).rules] == [verdict]


def test_a_pass_without_some_checks_says_so_everywhere():
    results = [*PASSES, MINOR, OF_NO_CONCERN]
    notes = [
        "1 of 25 checks not made: needs a twin",
        "1 of 25 checks not made: one gated tool",
    ]
    made = report(*results)
    assert made.rules[0].notes == notes
    assert json.loads(render_json(made))["rules"][0]["notes"] == notes
    page = render_html(made)
    assert all(f"<dt>note</dt><dd>{note}</dd>" in page for note in notes)
    lines = summary_lines(made)
    for why in ("needs a twin", "one gated tool"):
        at = lines.index(f"passed, note  {why}")
        assert lines[at + 1].split() == ["not", "made", "in", "4.8-11-counter", "(1", "of", "25)"]
    assert not any(line.startswith("not verified") for line in lines)


def test_there_is_no_note_where_something_else_decides():
    assert report(*PASSES, OF_NO_CONCERN, ESSENTIAL).rules[0].notes == []


def test_it_travels_from_a_worker():
    assert ScenarioResult.from_json(json.loads(json.dumps(MINOR.to_json()))) == MINOR
