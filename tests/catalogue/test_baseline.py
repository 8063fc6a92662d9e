"""Known failures as a file: what is read, what is refused, what is stale, what is written."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.catalogue.baseline_file import (
    Baseline,
    BaselineError,
    Known,
    compare,
    read_baseline,
    render_baseline,
    renewed,
)

COUNTER, METHOD = "sep2672/4.8-11-counter", "sep2672/4.8-03-method"
TODAY = datetime.date(2027, 1, 31)
A_DAY = datetime.timedelta(days=1)


def read(tmp_path: Path, text: str, today: datetime.date = TODAY) -> Baseline:
    path = tmp_path / "known.toml"
    path.write_text(text, encoding="utf-8")
    return read_baseline(path, "known.toml", today)


def entry(**members: str) -> str:
    given = {"rule": f'"{COUNTER}"', "comment": '"no counter yet"', **members}
    return "[[known]]\n" + "".join(f"{key} = {value}\n" for key, value in given.items() if value)


def baseline(*entries: Known) -> Baseline:
    return Baseline("known.toml", {one.rule: one for one in entries}, TODAY)


def test_an_entry_says_which_rule_why_and_until_when(tmp_path):
    found = read(tmp_path, entry(expires="2027-01-31"))
    assert found.entries == {COUNTER: Known(COUNTER, "no counter yet", TODAY)}


def test_an_empty_file_knows_nothing(tmp_path):
    assert read(tmp_path, "").entries == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (entry(rule='"sep2672/4.8-99-nothing"'), "entry 1: rule: got 'sep2672/4.8-99-nothing'"),
        (entry(rule='"nobody/1"'), "entry 1: rule: got 'nobody/1', expected a rule's id"),
        (entry(rule="7"), "entry 1: rule: got 7, expected a rule's id"),
        (entry(rule=""), "entry 1: rule: got none, expected a rule's id"),
        (
            entry(rule='"prepare_confirm/client-two-steps"'),
            "which binds the client and is never checked, expected one that is",
        ),
        (entry(comment=""), f"comment: got none, expected words that say why '{COUNTER}'"),
        (entry(comment='"  "'), "comment: got '  ', expected words"),
        (entry(comment="3"), "comment: got 3, expected words"),
        (entry(expires='"soon"'), "expires: got 'soon', expected a date such as 2027-01-31"),
        (entry(expires="2027-01-31T10:00:00"), "expires: got '2027-01-31 10:00:00', expected"),
        (entry(expires="2027-02-30"), "known.toml: no TOML: "),
        (entry(reason='"x"'), "got the key 'reason', expected one of rule, comment, expires"),
        (entry() + entry(), f"entry 2: got '{COUNTER}' a second time"),
        ("known = 1", "got another 'known', expected [[known]]"),
        ("[[unknown]]\n", "got 'unknown', expected [[known]] only"),
        ("[[known", "known.toml: no TOML: "),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, text: str, message: str):
    with pytest.raises(BaselineError) as caught:
        read(tmp_path, text)
    assert str(caught.value).count("\n") == 0
    assert message in str(caught.value)
    assert str(caught.value).startswith("known.toml: ")


def test_each_bad_entry_has_its_line(tmp_path):
    with pytest.raises(BaselineError) as caught:
        read(tmp_path, entry(comment="") + entry(rule='"nobody/1"') + entry(because='"x"'))
    lines = str(caught.value).splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["entry 1", "entry 2", "entry 3"]


def test_no_such_file_and_no_text_are_told(tmp_path):
    with pytest.raises(BaselineError, match=r"^none\.toml: cannot be read: no such file"):
        read_baseline(tmp_path / "none.toml", "none.toml", TODAY)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BaselineError, match=r"^bytes\.toml: no TOML: "):
        read_baseline(tmp_path / "bytes.toml", "bytes.toml", TODAY)


def test_an_entry_counts_on_its_last_day_and_not_on_the_next(tmp_path):
    text = entry(expires="2027-01-31")
    assert read(tmp_path, text, TODAY).comment_on([COUNTER]) == "no counter yet"
    later = read(tmp_path, text, TODAY + A_DAY)
    assert later.comment_on([COUNTER]) is None
    assert [one.rule for one in later.expired] == [COUNTER]
    assert later.active == {}


def test_a_failure_of_two_rules_is_known_only_if_both_are():
    one = baseline(Known(COUNTER, "a"))
    assert one.comment_on([COUNTER, METHOD]) is None
    assert one.comment_on([]) is None
    both = baseline(Known(COUNTER, "a"), Known(METHOD, "b"))
    assert both.comment_on([COUNTER, METHOD]) == "a; b"


@pytest.mark.parametrize(
    ("said", "whole", "outcome"),
    [
        ([Verdict.KNOWN, Verdict.PASSED], True, "fails"),
        ([Verdict.FAILED], True, "fails"),
        ([Verdict.KNOWN], False, "fails"),
        ([Verdict.PASSED], True, "stale"),
        ([Verdict.PASSED, Verdict.WARNING], True, "stale"),
        ([Verdict.PASSED], False, "not checked"),
        ([Verdict.PASSED, Verdict.NOT_VERIFIED], True, "not checked"),
        ([Verdict.WARNING, Verdict.NOT_VERIFIED], True, "not checked"),
        ([Verdict.NOT_APPLICABLE], True, "not checked"),
        ([Verdict.PASSED, Verdict.HARNESS_ERROR], True, "not checked"),
        ([], True, "not checked"),
    ],
)
def test_an_entry_is_stale_only_if_all_of_its_rule_ran_and_nothing_failed(said, whole, outcome):
    stale, not_checked = compare(
        baseline(Known(COUNTER, "a")), {COUNTER: said}, {COUNTER} if whole else set()
    )
    assert list(stale) == ([COUNTER] if outcome == "stale" else [])
    assert not_checked == ([COUNTER] if outcome == "not checked" else [])


def test_a_stale_entry_says_what_to_do():
    known = baseline(Known(COUNTER, "a"), Known(METHOD, "b"))
    verdicts = {COUNTER: [Verdict.PASSED], METHOD: [Verdict.WARNING]}
    stale, _ = compare(known, verdicts, verdicts)
    assert stale == {
        COUNTER: f"baseline: {COUNTER} no longer fails: remove it from known.toml",
        METHOD: f"baseline: {METHOD} no longer fails (it only warns): remove it from known.toml",
    }


def test_an_expired_entry_is_neither_stale_nor_owed():
    known = baseline(Known(COUNTER, "a", TODAY - A_DAY))
    assert compare(known, {COUNTER: [Verdict.PASSED]}, {COUNTER}) == ({}, [])


def test_what_is_written_can_be_read(tmp_path):
    hostile = 'a "quote", a \\, a\nline,\t\x1b[31m \u202e \U000e0001 \udcff and 😀'
    entries = [Known(COUNTER, hostile, TODAY), Known(METHOD, "x" * 5000)]
    text = render_baseline(entries)
    assert "\x1b" not in text
    assert "\u202e" not in text
    found = read(tmp_path, text).entries
    assert found[COUNTER].expires == TODAY
    assert found[COUNTER].comment.startswith('a "quote", a \\, a line, \x1b[31m \u202e \U000e0001')
    assert found[COUNTER].comment.endswith("and 😀")
    assert len(found[METHOD].comment) == 500


def test_a_file_without_entries_is_toml_too():
    assert tomllib.loads(render_baseline([])) == {}


def test_a_new_file_keeps_what_people_wrote_and_drops_what_is_stale():
    third = "sep2672/4.8-12-argument-hash"
    old = baseline(Known(COUNTER, "our words", TODAY), Known(METHOD, "gone"))
    failures = {COUNTER: "expected a, got b", third: "expected c, got d"}
    assert renewed(old, failures, stale=[METHOD]) == [
        Known(COUNTER, "our words", TODAY),
        Known(third, "expected c, got d"),
    ]


def test_an_expired_entry_that_still_fails_is_written_anew():
    old = baseline(Known(COUNTER, "our words", TODAY - A_DAY))
    assert renewed(old, {COUNTER: "expected a, got b"}, stale=[]) == [
        Known(COUNTER, "expected a, got b")
    ]
