"""`mcp-approval report`: several runs in one report, and two runs compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report import merging
from pytest_mcp_approval.report.json_file import render_json, report_json
from pytest_mcp_approval.report.merging import merge, read_report
from pytest_mcp_approval.report.model import Report, RunFacts
from tests.command.conftest import Command
from tests.report import samples

SCHEMA = json.loads(Path(merging.__file__).with_name("schema.json").read_text(encoding="utf-8"))


def written(name: str, report: Report) -> Path:
    path = Path(name)
    path.write_text(render_json(report), encoding="utf-8")
    return path


def with_target(target: str) -> RunFacts:
    return replace(samples.FACTS, target=target, header=(("target", target), ("clock", "moves")))


@pytest.fixture
def two(folder: Path) -> tuple[Path, Path]:
    """Two jobs of one run: the first has a finding, the other passes."""
    first = samples.report(samples.finding(), samples.result(name="test_other"))
    second = samples.report(samples.result(samples.HASH, name="test_hash"))
    return written("a.json", first), written("b.json", second)


def test_a_report_that_is_read_and_merged_alone_is_the_same(folder: Path):
    whole = samples.report(
        samples.finding(conversation=samples.real_conversation()),
        samples.finding(name="test_found_2", conversation=samples.real_conversation()),
        samples.result(samples.HASH, name="test_hash"),
        samples.result(
            samples.HASH, Verdict.NOT_VERIFIED, "test_minor", why="needs it", minor=True
        ),
        samples.result(samples.EXPIRED, Verdict.NOT_VERIFIED, "test_clock", why="needs a clock"),
    )
    again = merge([read_report(written("a.json", whole), "a.json")])
    before, after = report_json(whole), report_json(again)
    merged = after["run"]["header"].pop()
    assert merged == {"name": "merged", "value": "a.json: 3 rules in 5 checks"}
    assert json.loads(json.dumps(after)) == json.loads(json.dumps(before))
    jsonschema.validate(json.loads(json.dumps(after)), SCHEMA)


def test_an_older_report_does_not_say_what_is_minor(folder: Path):
    """A rule that passed did so with checks that were minor."""
    told = report_json(
        samples.report(
            samples.result(),
            samples.result(verdict=Verdict.NOT_VERIFIED, name="test_2", why="x", minor=True),
        )
    )
    for one in told["scenarios"]:
        del one["minor"]
    Path("a.json").write_text(json.dumps(told))
    (rule,) = merge([read_report(Path("a.json"), "a.json")]).rules
    assert rule.verdict is Verdict.PASSED


def test_the_worst_verdict_counts_where_a_check_ran_twice(folder: Path):
    one = samples.report(samples.result(name="test_found"), facts=with_target("http://a/"))
    two = samples.report(samples.finding(), facts=with_target("http://b/"))
    merged = merge([read_report(written(f"{n}.json", r), n) for n, r in (("a", one), ("b", two))])
    assert merged.counts == {Verdict.FAILED: 1}
    assert len(merged.scenarios) == 1
    assert merged.facts.target == "2 targets"
    assert ("clock", "moves") in merged.facts.header
    assert ("", "b: 1 rule in 1 check of http://b/") in merged.facts.header


def test_merging_writes_every_format_and_fails_as_the_jobs_did(command: Command, two):
    said = command("report", "merge", "a.json", "b.json", "-o", "m.html", "-o", "m.json")
    assert said.code == 1
    assert "1 finding in 3 checks" in said.out
    assert "report    m.html" in said.out
    assert json.loads(Path("m.json").read_text())["summary"]["rules"]["failed"] == 1
    assert command("report", "merge", "b.json").code == 0


def test_comparing_tells_what_got_worse(command: Command, two):
    better = samples.report(samples.result(name="test_found"), samples.result(name="test_other"))
    written("c.json", better)
    assert command("report", "compare", "a.json", "c.json").code == 0
    said = command("report", "compare", "c.json", "a.json")
    assert said.code == 1
    assert "sep2672/4.8-11-counter: passed → failed" in said.out


WRONG = {
    "no JSON": "{",
    "another file": "{}",
    "another version": '{"format": "mcp-approval-report", "version": 99}',
    "damaged": '{"format": "mcp-approval-report", "version": 2, "rules": [{}]}',
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_file_that_is_no_report_is_told_in_one_line(command: Command, two, text: str):
    Path("x.json").write_text(text)
    for words in (("merge", "a.json", "x.json"), ("compare", "a.json", "x.json")):
        said = command("report", *words)
        assert said.code == 4
        assert said.err.count("\n") == 1
        assert "'x.json'" in said.err


def test_a_place_that_cannot_be_written_is_told_first(command: Command, two):
    assert "expected an ending" in command("report", "merge", "a.json", "-o", "m.pdf").err
    assert "there is no folder" in command("report", "merge", "a.json", "-o", "x/m.html").err


def test_a_hostile_report_does_nothing_to_the_terminal(command: Command, two):
    told = json.loads(Path("a.json").read_text())
    evil = "\x1b[2J\u202e\nreport    pwned"
    told["run"]["target"] = told["run"]["header"][0]["value"] = evil
    for one in told["scenarios"]:
        one["why"] = one["again"] = one["location"]["path"] = evil
        if one["evidence"]:
            one["evidence"]["got"] = evil
    Path("a.json").write_text(json.dumps(told))
    said = command("report", "merge", "a.json", "-o", "m.html", "-o", "m.md")
    assert said.code == 1
    page = Path("m.html").read_text() + Path("m.md").read_text()
    for text in (said.out, said.err, page):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\nreport    pwned" not in text
