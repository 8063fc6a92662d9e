"""Two runs beside each other."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.config.settings import SettingsError
from pytest_mcp_approval.report.comparison import compare, read_earlier
from pytest_mcp_approval.report.json_file import render_json
from pytest_mcp_approval.report.terminal import comparison_lines
from tests.report import samples
from tests.report.samples import earlier_of


@pytest.mark.parametrize(
    ("before", "after", "side"),
    [
        (Verdict.FAILED, Verdict.PASSED, "better"),
        (Verdict.FAILED, Verdict.WARNING, "better"),
        (Verdict.NOT_VERIFIED, Verdict.PASSED, "better"),
        (Verdict.HARNESS_ERROR, Verdict.PASSED, "better"),
        (Verdict.PASSED, Verdict.FAILED, "worse"),
        (Verdict.PASSED, Verdict.WARNING, "worse"),
        (Verdict.PASSED, Verdict.NOT_VERIFIED, "worse"),
        (Verdict.NOT_VERIFIED, Verdict.FAILED, "worse"),
        # What is no longer seen is not fixed, nor is what was excused.
        (Verdict.FAILED, Verdict.NOT_VERIFIED, "other"),
        (Verdict.FAILED, Verdict.KNOWN, "other"),
        (Verdict.PASSED, Verdict.NOT_APPLICABLE, "other"),
    ],
)
def test_a_change_is_better_worse_or_neither(before, after, side):
    found = compare(earlier_of({"a/b": before}), {"a/b": (after, 1)})
    told = {"better": found.better, "worse": found.worse, "other": found.other}
    assert [len(changes) for name, changes in told.items() if name == side] == [1]
    assert sum(map(len, told.values())) == 1
    assert found.unchanged == 0


def test_fewer_failing_checks_of_a_broken_rule_are_better():
    before = earlier_of({"a/b": Verdict.FAILED}, failed=5)
    found = compare(before, {"a/b": (Verdict.FAILED, 2)})
    assert [str(change) for change in found.better] == ["a/b: 5 → 2 failed (MUST) of its checks"]
    assert compare(before, {"a/b": (Verdict.FAILED, 9)}).worse
    assert compare(before, {"a/b": (Verdict.FAILED, 5)}).unchanged == 1


def test_rules_that_only_one_run_has_are_told():
    found = compare(earlier_of({"a/gone": Verdict.PASSED}), {"a/new": (Verdict.FAILED, 1)})
    assert {str(change) for change in found.other} == {
        "a/gone: passed → not there",
        "a/new: not there → failed",
    }
    lines = comparison_lines(found)
    assert lines[0] == "compared  old.json: 2 otherwise changed · 0 unchanged"


def test_the_report_of_one_run_is_the_beginning_of_the_next_comparison(tmp_path):
    path = tmp_path / "old.json"
    path.write_text(render_json(samples.typical()))
    before = read_earlier(path, "old.json")
    assert before.rules[samples.COUNTER] == (Verdict.FAILED, 1)
    assert before.rules[samples.HASH] == (Verdict.PASSED, 0)
    again = samples.report(samples.result(), earlier=before)
    assert again.comparison is not None
    assert [change.rule for change in again.comparison.better] == [samples.COUNTER]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "expected a report that ends in .json"),
        ("[]", "expected a report that ends in .json"),
        (json.dumps({"format": "mcp-approval-report", "version": 99}), "of format version 99"),
        (json.dumps({"format": "mcp-approval-report", "version": 1}), "which is damaged"),
        (
            json.dumps(
                {
                    "format": "mcp-approval-report",
                    "version": 1,
                    "run": {"started": "", "target": ""},
                }
                | {"rules": [{"id": "a", "verdict": "splendid", "checks": {}}]}
            ),
            "which is damaged",
        ),
    ],
)
def test_what_is_no_earlier_report_is_told_in_a_line(tmp_path, text, said):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=said) as caught:
        read_earlier(path, "x.json")
    assert "\n" not in str(caught.value)
