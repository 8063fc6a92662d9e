"""What a replay compares, and what it leaves alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report.normalising import gist
from pytest_mcp_approval.report.replay import compare_finding, file_name, write_findings
from tests.report import samples
from tests.report.samples import COUNTER, finding, result

BROKEN = "python:tests.mutants.sep2672.consumption:NeverUpdatesTheCounter"
SCENARIO = "mcp-approval/sep2672/test_4_8_signature.py::test_a_copied_key_is_noticed"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "error -32603 row 17 of 40 is locked, tool not run",
            "error -32603 row 3 of 41 is locked, tool not run",
        ),
        (
            "error -32000 no such 8f14e45fceea167a",
            "error -32000 no such c9f0f895fb98ab91",
        ),
        (
            "error -32000 expired at 2026-01-02T03:04:05.120Z",
            "error -32000 expired at 2027-11-12T13:14:15Z",
        ),
        ("error -32000 unknown id 'a1' after 12 ms", "error -32000 unknown id 'b22' after 7.5 ms"),
        (
            "error -32602 Expected object, received string",
            "error -32602 Expected object, received number",
        ),
    ],
)
def test_numbers_and_identifiers_are_no_change(before, after):
    word, _ = compare_finding(finding(got=before), finding(got=after))
    assert word == "still failing"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("error -32603 no, tool not run", "error -32602 no, tool not run"),
        ("error -32603 no, tool not run", "error -32603 no, tool run"),
        ("a result, tool run", "a result, tool run 2 times"),
        ("a result, tool run 3 times", "a result, tool run 2 times"),
        (
            'error -32001 no {"reason":"signature_counter_regression"}',
            'error -32001 no {"reason":"signature_verification_failed"}',
        ),
        ("error -32001 signature_counter_regression", "error -32001 challenge_unknown_or_expired"),
        ("HTTP 500 without JSON-RPC", "HTTP 404 without JSON-RPC"),
    ],
)
def test_another_code_reason_or_effect_is_a_change(before, after):
    word, line = compare_finding(finding(got=before), finding(got=after))
    assert word == "changed"
    assert after in line
    assert before in line


def test_the_same_answer_under_another_rule_is_a_change():
    was = replace(finding(), rules=(samples.HASH,))
    assert compare_finding(was, finding())[0] == "changed"


def test_what_was_sent_may_be_repeated_in_any_way():
    said = 'error -32602 cannot read "{}", which was sent'
    one, other = said.format("a bad one"), said.format("a 2nd one")
    assert gist(one, "evidence is a bad one") == gist(other, "evidence is a 2nd one")
    assert gist(one, "evidence is another") != gist(other, "evidence is another")


# ---- what a later run takes away


@pytest.mark.parametrize(
    ("verdict", "stays"),
    [
        (None, True),
        (Verdict.NOT_VERIFIED, True),
        (Verdict.HARNESS_ERROR, True),
        (Verdict.KNOWN, True),
        (Verdict.PASSED, False),
        (Verdict.NOT_APPLICABLE, False),
    ],
)
def test_only_a_check_that_ran_and_no_longer_fails_removes_its_finding(tmp_path, verdict, stays):
    found = finding()
    name = file_name(COUNTER, found.scenario)
    assert write_findings(tmp_path, samples.report(replace(found, replay=name))) is None
    later = result(samples.HASH, name="test_other")
    if verdict is not None:
        later = replace(found, verdict=verdict, why="the honest call failed", evidence=None)
    assert write_findings(tmp_path, samples.report(later)) is None
    assert (tmp_path / name).exists() is stays


# ---- a replay runs one scenario: reports of whole runs are not its to write


@pytest.mark.parametrize("where", ["file", "addopts"])
def test_a_replay_leaves_configured_reports_and_baselines_alone(suite, where):
    assert suite.run(SCENARIO, "--mcp-approval-report=whole.json", target=BROKEN).ret == 1
    (left,) = (suite.path / ".mcp-approval" / "findings").glob("*.json")
    before = (suite.path / "whole.json").read_bytes()
    if where == "file":
        (suite.path / "mcp-approval.toml").write_text(
            'report = ["whole.json", "page.html"]\ncompare = "whole.json"\n'
            'write-baseline = "known.toml"\n'
        )
    else:
        options = ("report=whole.json", "compare=whole.json", "write-baseline=known.toml")
        addopts = " ".join(f"--mcp-approval-{one}" for one in options)
        (suite.path / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n")
    replay = f"--mcp-approval-replay={left.relative_to(suite.path)}"
    run = suite.run(replay, f"--mcp-approval-target={BROKEN}", target="")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["replay    still failing: *"])
    run.stdout.no_fnmatch_line("compared *")
    assert (suite.path / "whole.json").read_bytes() == before
    assert not (suite.path / "page.html").exists()
    assert not (suite.path / "known.toml").exists()


def test_a_replay_writes_what_it_is_asked_for(suite):
    assert suite.run(SCENARIO, target=BROKEN).ret == 1
    (left,) = (suite.path / ".mcp-approval" / "findings").glob("*.json")
    replay = f"--mcp-approval-replay={left.relative_to(suite.path)}"
    same = f"--mcp-approval-target={BROKEN}"
    suite.run(replay, same, "--mcp-approval-report=one.json", target="")
    assert len(json.loads((suite.path / "one.json").read_text())["scenarios"]) == 1


def test_what_a_finding_brings_along_is_in_the_settings_and_not_in_pytests_options(suite):
    suite.run(SCENARIO, "--mcp-approval-timeout=27", target=BROKEN)
    [path] = (suite.path / ".mcp-approval" / "findings").glob("*.json")
    suite.pytester.makeconftest(
        """
        def pytest_collection_finish(session):
            from pytest_mcp_approval.session.state import state_of
            given = session.config.getoption("mcp_approval_timeout")
            print(f"option {given}, setting {state_of(session.config).settings.timeout:g}")
        """
    )
    again = [f"--mcp-approval-replay={path}", f"--mcp-approval-target={BROKEN}", "-s"]
    result = suite.run(*again, target="")
    result.stdout.fnmatch_lines(["*option None, setting 27", "replay *still*"])
