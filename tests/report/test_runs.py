"""What a pytest run leaves behind, as a user sees it: files, lines, exit codes; also with xdist."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from tests.inner_runs import Verdicts, plugin_options

METHOD = "--mcp-approval-select=sep2672/4.8-03-method"
COUNTER = "--mcp-approval-select=sep2672/4.8-11-counter"
BROKEN = "python:tests.mutants.sep2672.consumption:NeverUpdatesTheCounter"


def test_a_run_leaves_every_report_that_it_was_asked_for(suite):
    names = [f"found.{ending}" for ending in ("html", "json", "md", "sarif", "yaml", "svg")]
    run = suite.run(METHOD, *(f"--mcp-approval-report={name}" for name in names))
    assert run.ret == 0
    run.stdout.fnmatch_lines([f"report    {name}" for name in names])
    told = json.loads((suite.path / "found.json").read_text())
    assert told["summary"]["headline"] == "The rule holds"
    assert [rule["id"] for rule in told["rules"]] == ["sep2672/4.8-03-method"]
    assert told["run"]["header"][0]["name"] == "target"
    assert "sep2672/4.8-03-method" in (suite.path / "found.html").read_text()
    assert not (suite.path / ".mcp-approval").exists()


@pytest.mark.parametrize(("report", "wanted"), [("found.HTML", True), ("found.json", False)])
def test_what_was_said_in_a_check_that_passed_is_kept_for_the_page_only(suite, report, wanted):
    heard = Verdicts()
    suite.pytester.inline_run(
        *("-p", "no:cacheprovider", *plugin_options(), METHOD),
        *("--mcp-approval-target=reference", f"--mcp-approval-report={report}"),
        plugins=[heard],
    )
    assert {one["verdict"] for one in heard.found} == {"passed"}
    assert {bool(one["conversation"]) for one in heard.found} == {wanted}


def test_a_file_may_name_several_reports(suite):
    suite.path.joinpath("mcp-approval.toml").write_text('report = ["a.json", "a.md"]\n')
    assert suite.run(METHOD).ret == 0
    assert (suite.path / "a.json").is_file()
    assert (suite.path / "a.md").is_file()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (
            "report=found.pdf",
            "*got 'found.pdf', expected a file that ends in one of .html, .json,*",
        ),
        ("report=no/found.html", "*there is no folder 'no'*"),
        ("compare=no.json", "*--mcp-approval-compare: there is no file 'no.json'*"),
        ("replay=no.json", "*--mcp-approval-replay: there is no file 'no.json'*"),
    ],
)
def test_what_cannot_be_left_is_told_before_anything_runs(suite, option, said):
    run = suite.run(METHOD, f"--mcp-approval-{option}")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines([said])


def test_a_report_that_cannot_be_written_in_the_end_is_told_and_noticed(suite):
    (suite.path / "gone").mkdir()
    suite.pytester.makeconftest(
        "import shutil\ndef pytest_collection_finish(session): shutil.rmtree('gone')"
    )
    run = suite.run(METHOD, "--mcp-approval-report=gone/a.html", "--mcp-approval-report=b.json")
    assert run.ret == 4
    run.stdout.fnmatch_lines(["report    b.json", "report    *a.html: not written: No such file*"])


def test_the_summary_of_a_github_job_is_written_by_itself(suite, monkeypatch):
    summary = suite.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert suite.run(METHOD).ret == 0
    assert summary.read_text().startswith("## ✅ The rule holds\n")


def test_junit_knows_the_rules(suite):
    suite.run(METHOD, "--junitxml=junit.xml")
    cases = ElementTree.parse(suite.path / "junit.xml").iter("testcase")
    for case in cases:
        properties = {one.get("name"): one.get("value") for one in case.iter("property")}
        assert properties["mcp_approval_requirement"] == "sep2672/4.8-03-method"
        assert properties["mcp_approval_verdict"] == "passed"


def test_a_finding_can_be_replayed_and_is_told_fixed_failing_or_changed(suite):
    select = "mcp-approval/sep2672/test_4_8_signature.py::test_a_copied_key_is_noticed"
    run = suite.run(select, "--mcp-approval-report=old.json", target=BROKEN)
    assert run.ret == 1
    (left,) = (suite.path / ".mcp-approval" / "findings").glob("*.json")
    assert re.fullmatch(r"4\.8-11-counter-[0-9a-f]{6}\.json", left.name)
    # What runs a program is not taken from a file, so the command repeats it.
    command = f"pytest --mcp-approval-replay=.mcp-approval/findings/{left.name}"
    run.stdout.fnmatch_lines([f"*again     {command} --mcp-approval-target={BROKEN}"])
    assert (suite.path / ".mcp-approval" / ".gitignore").read_text() == "*\n"
    stored = json.loads(left.read_text())
    assert stored["options"]["target"] == [BROKEN]
    assert stored["conversation"]["steps"]

    # The scenario and all other options come from the file.
    replay = f"--mcp-approval-replay={left.relative_to(suite.path)}"
    same = f"--mcp-approval-target={BROKEN}"
    again = suite.run(replay, same, target="")
    assert again.ret == 1
    again.stdout.fnmatch_lines(["replay    still failing: *tool run, as before"])
    again.assert_outcomes(failed=1)

    # Another target may be named: a healthy one has the fault no more.
    fixed = suite.run(replay, "--mcp-approval-compare=old.json")
    assert fixed.ret == 0
    fixed.stdout.fnmatch_lines(["compared  old.json: 1 better*", "*better*failed → passed"])
    fixed.stdout.fnmatch_lines(["replay    fixed: *test_a_copied_key_is_noticed passes now"])
    assert left.is_file()

    stored["evidence"]["got"] = "the connection was closed"
    left.write_text(json.dumps(stored))
    changed = suite.run(replay, same, target="")
    assert changed.ret == 1
    changed.stdout.fnmatch_lines(
        ["replay    changed: still failing, but now *; it was the connection was closed"]
    )

    # A run that no longer finds it removes it.
    assert suite.run(select).ret == 0
    assert not left.exists()


def test_findings_can_be_left_elsewhere_or_nowhere(suite):
    select = "mcp-approval/sep2672/test_4_8_signature.py::test_a_copied_key_is_noticed"
    suite.run(select, "--mcp-approval-findings=none", target=BROKEN)
    assert not (suite.path / ".mcp-approval").exists()
    suite.run(select, "--mcp-approval-findings=here", target=BROKEN)
    assert len(list((suite.path / "here").glob("*.json"))) == 1


def test_no_secret_is_left_anywhere(suite, capfd):
    secret = "hunter2-hunter2"
    select = "mcp-approval/sep2672/test_4_8_signature.py::test_a_copied_key_is_noticed"
    endings = ("html", "json", "md", "sarif", "yaml")
    run = suite.run(
        select,
        f"--mcp-approval-header=Authorization: Bearer {secret}",
        *(f"--mcp-approval-report=a.{ending}" for ending in endings),
        target=BROKEN,
    )
    assert secret not in run.stdout.str()
    left = [path for path in suite.path.rglob("*") if path.is_file()]
    assert len(left) >= len(endings) + 1
    for path in left:
        assert secret.encode() not in path.read_bytes(), path
    (finding,) = suite.path.glob(".mcp-approval/findings/*.json")
    assert json.loads(finding.read_text())["withheld"] == {"header": ["Authorization"]}
    refused = suite.run(f"--mcp-approval-replay={finding.relative_to(suite.path)}", target=BROKEN)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*had header 'Authorization', whose value is not kept: add --mcp-approval-header=*"]
    )


def test_the_password_in_an_address_is_not_printed(suite):
    run = suite.run(METHOD, target="http://me:hunter2-hunter2@localhost:1/mcp?token=hunter3")
    assert run.ret == 10
    run.stdout.fnmatch_lines(["*cannot speak to the target*"])
    assert "hunter" not in run.stdout.str() + run.stderr.str()


def test_a_finding_whose_scenario_is_gone_is_told(suite):
    told = {"format": "mcp-approval-finding", "version": 1, "rules": ["sep2672/4.8-03-method"]}
    told |= {"scenario": "mcp-approval/sep2672/test_4_8_verification.py::test_of_old"}
    told |= {"verdict": "failed", "why": "", "evidence": None, "withheld": {}}
    told |= {"options": {"target": ["reference"]}}
    (suite.path / "old.json").write_text(json.dumps(told))
    run = suite.run("--mcp-approval-replay=old.json", target="")
    assert run.ret == 1
    run.stdout.fnmatch_lines(["replay    changed: *::test_of_old did not run"])


def test_workers_lose_and_double_nothing(suite, monkeypatch):
    """The same data with and without xdist, but for times and what is random."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def told(name, run):
        assert run.ret == 1
        data = json.loads((suite.path / name).read_text())
        assert (suite.path / f"{name}.html").stat().st_size > 50_000
        left = sorted(path.name for path in suite.path.glob(".mcp-approval/findings/*.json"))
        for scenario in data["scenarios"]:
            scenario.pop("seconds")
            conversation = scenario.pop("conversation")
            # What each scenario said is the same; only the first of a worker opens the session.
            assert conversation is None or conversation["steps"]
        return data["rules"], data["scenarios"], data["summary"], left

    def options(name):
        return [COUNTER, f"--mcp-approval-report={name}", f"--mcp-approval-report={name}.html"]

    alone = told("alone.json", suite.run(*options("alone.json"), target=BROKEN))
    both = suite.run(*options("two.json"), "-n", "2", target=BROKEN)
    assert told("two.json", both) == alone
    assert alone[2]["checks"]["failed"] > 1
