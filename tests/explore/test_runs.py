"""Exploration in a pytest run: items, results, reports, the baseline, replays, workers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pytest_mcp_approval.config.options import OPTIONS
from pytest_mcp_approval.config.settings import settings_of_line
from pytest_mcp_approval.explore import engine
from pytest_mcp_approval.report.merging import merge, read_report
from pytest_mcp_approval.session.exploration import requests_a_second
from pytest_mcp_approval.target import open_target
from tests.explore.exploring import mutant
from tests.plugin.conftest import Suite

EXPLORATION = "mcp-approval/sep2672/exploration"
ALONE = ("--mcp-approval-explore=60", "--mcp-approval-browser=none", EXPLORATION)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> Suite:
    return Suite(pytester)


@pytest.fixture(autouse=True)
def few_walks(monkeypatch):
    """In this process: by walks, with one seed, and until something is found."""

    def make(model, target, budget, _seed, **more):
        broken = "mutants" in target.spec.text
        few = partial(
            engine_class, most_walks=60 if broken else 5, stop_at_first=True, most_shrinking=0.0
        )
        return few(model, target, budget, 1, **more)

    engine_class = engine.Explorer
    monkeypatch.setattr(engine, "Explorer", make)


def test_a_find_is_a_result_like_any_other(suite):
    """Verdict, four lines, numbered steps, reports, a file, a test; then the replay, the baseline,
    and the pasted test."""
    name = mutant("LooksAtTheSignatureOnly")
    done = suite.run(
        *ALONE,
        "--mcp-approval-report=r.json",
        "--mcp-approval-report=r.html",
        "--mcp-approval-report=r.md",
        "--mcp-approval-write-baseline=known.toml",
        target=name,
    )
    assert done.ret == 1
    text = done.stdout.str()
    for wanted in ("FAIL  sep2672/", "step 1 ", "step 2 ", "<-", "expected  -32001", "test "):
        assert wanted in text, wanted
    assert "explore   sep2672  " in text
    folder = suite.pytester.path
    report = json.loads((folder / "r.json").read_text())
    (scenario,) = report["scenarios"]
    (explored,) = report["exploration"]
    assert scenario["id"].startswith(f"{EXPLORATION}::")
    assert len(scenario["steps"]) >= 2
    assert scenario["conversation"]["steps"]
    assert explored["findings"] == 1
    assert explored["walks"] > 0
    assert sum(explored["transitions"].values()) > 0
    for page in ("r.html", "r.md"):
        assert "the call is made" in (folder / page).read_text()

    replayed = suite.run(
        f"--mcp-approval-replay=.mcp-approval/findings/{scenario['replay']}", target=name
    )
    assert replayed.ret == 1
    replayed.stdout.fnmatch_lines(["replay    still failing: *"])
    healthy = suite.run(f"--mcp-approval-replay=.mcp-approval/findings/{scenario['replay']}")
    assert healthy.ret == 0
    healthy.stdout.fnmatch_lines(["replay    fixed: *"])

    assert "explored = true" in (folder / "known.toml").read_text()
    known = suite.run(*ALONE, "--mcp-approval-baseline=known.toml", target=name)
    assert known.ret == 0
    known.stdout.fnmatch_lines(["known failure *"])
    # Its scenarios pass here, which does not make the entry stale.
    rule = f"--mcp-approval-select={scenario['rules'][0]}"
    passing = suite.run("--mcp-approval-baseline=known.toml", "--mcp-approval-browser=none", rule)
    assert passing.ret == 0
    assert "no longer fails" not in passing.stdout.str()

    (pasted,) = scenario["files"]
    copied = folder / "test_pasted.py"
    copied.write_text((folder / pasted).read_text())
    wrong = suite.run("test_pasted.py", "--mcp-approval-select=sep2672/4.3-missing*", target=name)
    assert wrong.parseoutcomes()["failed"] == 1
    assert "FAILED test_pasted.py" in wrong.stdout.str()
    assert "exploration.py" not in wrong.stdout.str()  # no traceback into our code

    merged = merge([read_report(folder / "r.json", one) for one in ("one", "two")])
    (both,) = merged.facts.explored
    assert both.walks == 2 * explored["walks"]
    assert len(merged.findings) == 1


def test_a_healthy_server_has_none(suite):
    done = suite.run(*ALONE, "-v")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["explore   sep2672  *no finding*", "* the call is made"])


def test_workers_explore_with_seeds_of_their_own(suite):
    """One item for each worker; finds and counts arrive where the report is written."""
    name = mutant("NoSeparators")  # found by nearly every walk, whatever the seed
    done = suite.run(
        *("-n", "2", "--mcp-approval-explore=2", "--mcp-approval-browser=none", EXPLORATION),
        "--mcp-approval-report=r.json",
        target=name,
    )
    assert done.ret == 1
    report = json.loads((suite.pytester.path / "r.json").read_text())
    assert {one["id"].partition("::")[0] for one in report["scenarios"]} == {EXPLORATION}
    (explored,) = report["exploration"]
    assert len(explored["seeds"]) == 2
    assert done.parseoutcomes()["passed"] == 2  # the items themselves
    assert done.parseoutcomes()["failed"] == len(report["scenarios"])


def test_nothing_is_explored_where_nobody_is_served(suite):
    """A server that refuses everything is not explored, and that is no clean run."""
    done = suite.run(*ALONE, target=mutant("DropsTransports"))
    assert done.ret == 10
    done.stdout.fnmatch_lines(["explore   sep2672  not explored: *an honest approval fails*"])


@pytest.mark.parametrize(
    ("name", "named", "rate"),
    [
        ("http://localhost:1/mcp", None, None),
        ("https://other.example/mcp", None, 20.0),
        ("https://other.example/mcp", 100.0, 100.0),
        ("http://localhost:1/mcp", 5.0, 5.0),
        ("reference", None, None),
    ],
)
def test_other_machines_are_asked_slowly(name, named, rate):
    given = {option.name: None for option in OPTIONS} | {"target": [name]}
    settings = replace(settings_of_line(given, Path()), explore_rate=named)
    target = open_target(name, settings)
    try:
        assert requests_a_second(target) == rate
    finally:
        target.close()


def test_without_the_option_nothing_is_explored(suite):
    done = suite.run("--collect-only", "-q", "--mcp-approval-family=sep2672")
    assert "exploration" not in done.stdout.str()


def test_a_finding_file_cannot_name_other_steps(suite):
    """It is untrusted: steps that the model does not have are not made."""
    finding = {
        "format": "mcp-approval-finding",
        "version": 1,
        "scenario": f"{EXPLORATION}::4.8-order-000000",
        "rules": ["sep2672/4.8-order"],
        "verdict": "failed",
        "why": "",
        "evidence": None,
        "options": {},
        "withheld": {},
        "walk": [["settle", {}], ["fuzz_method", {"method": "tools/call", "change": {}}]],
    }
    Path(suite.pytester.path / "f.json").write_text(json.dumps(finding))
    done = suite.run("--mcp-approval-replay=f.json")
    assert "could not be made again" in done.stdout.str()


def test_pytest_merges_reports_and_runs_nothing(suite):
    """The same as `mcp-approval report merge`, where only pytest is at hand."""
    for name in ("one", "two"):
        suite.run(*ALONE, f"--mcp-approval-report={name}.json")
    words = ("--mcp-approval-merge=one.json", "--mcp-approval-merge=two.json")
    done = suite.run(*words, "--mcp-approval-report=both.json", target="")
    assert done.ret == 0
    both = json.loads((suite.pytester.path / "both.json").read_text())
    parts = [
        json.loads((suite.pytester.path / f"{one}.json").read_text()) for one in ("one", "two")
    ]
    walks = [one["exploration"][0]["walks"] for one in (both, *parts)]
    assert walks[0] == sum(walks[1:]) > 0
    wrong = suite.run("--mcp-approval-merge=missing.json", target="")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
