"""What a pytest user expects of the scenarios: ids, selection, options, own tests beside."""

from __future__ import annotations

import shlex
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.warm_python import warm_python

ONE_RULE = "--mcp-approval-select=sep2672/4.8-03-method"
SCENARIO = "mcp-approval/sep2672/test_4_8_verification.py::test_only_webauthn_is_a_method"


def test_without_a_target_the_plugin_is_not_noticed(suite):
    suite.pytester.makepyfile("def test_mine(): pass")
    result = suite.run("-v", target=None)
    result.assert_outcomes(passed=1)
    noticed = [line for line in result.outlines if "mcp-approval" in line]
    # pytest itself lists every plugin that is installed.
    assert [line for line in noticed if not line.startswith("plugins: ")] == []


def test_with_a_target_and_no_path_the_scenarios_are_all_there_is(suite):
    suite.pytester.makepyfile("def test_mine(): pass")
    result = suite.run(ONE_RULE, "-v")
    assert result.ret == 0
    assert "test_mine" not in result.stdout.str()
    result.stdout.fnmatch_lines([f"{SCENARIO}* PASSED*"])


def test_with_a_path_they_are_collected_beside_the_users_tests(suite):
    path = suite.pytester.makepyfile("def test_mine(): pass")
    result = suite.run(ONE_RULE, "-v", str(path))
    result.stdout.fnmatch_lines(["*::test_mine PASSED*", f"{SCENARIO}* PASSED*"])


def test_a_single_id_runs_alone(suite):
    result = suite.run(f"{SCENARIO}[totp]")
    result.assert_outcomes(passed=1)


LISTING_MODULES = """
    import sys
    from pathlib import Path

    def pytest_sessionfinish():
        files = [getattr(one, "__file__", None) for one in list(sys.modules.values())]
        Path("loaded.txt").write_text("\\n".join(str(one) for one in files if one))
"""


@pytest.mark.parametrize("options", [["--collect-only"], []], ids=["collected", "run"])
def test_naming_one_scenario_imports_its_file_and_its_family_only(suite, options):
    suite.pytester.makeconftest(LISTING_MODULES)
    server = f"stdio:{shlex.join(warm_python())} -m pytest_mcp_approval.reference_server --stdio"
    scenario = "mcp-approval/sep2672/test_4_2_annotation.py::test_required_is_the_literal_verified"
    safe = ["--mcp-approval-clock=none", "--mcp-approval-tool=wipe_cache={}"]
    result = suite.run_apart(scenario, *options, *safe, target=server)
    assert result.ret == 0, result.stdout.str()
    loaded = [Path(one) for one in (suite.pytester.path / "loaded.txt").read_text().splitlines()]
    scenarios = {one.name for one in loaded if one.parent.parent.name == "scenarios"}
    assert scenarios == {"test_4_2_annotation.py"}
    parts: dict[str, set[str]] = {}
    for one in loaded:
        if one.parent.parent.name == "families":
            parts.setdefault(one.parent.name, set()).add(one.stem)
    assert parts.keys() > {"base", "sep2672"}
    for family, modules in parts.items():
        # What a test author uses is loaded with the plugin. Of other families the survey of tools
        # that ask nobody needs to know which tools they gate, and nothing behind that.
        light = not modules & {"exploration", "fixtures", "scenario"}
        assert light or family in ("base", "sep2672"), (family, modules)


def test_an_id_without_its_parameter_runs_all_of_them(suite):
    listed = suite.run(SCENARIO, "--collect-only", "-q").stdout.str()
    assert listed.count(SCENARIO) > 1
    assert listed.count("mcp-approval/") == listed.count(SCENARIO)


def test_k_and_m_and_x_work(suite):
    assert suite.run(ONE_RULE, "-k", "totp").parseoutcomes()["passed"] == 1
    assert suite.run(ONE_RULE, "-m", "mcp_approval_requirement").parseoutcomes()["passed"] > 1
    result = suite.run(ONE_RULE, "-m", "not mcp_approval_requirement")
    assert "passed" not in result.parseoutcomes()


def test_last_failed_runs_what_failed(suite):
    broken = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    first = suite.run(ONE_RULE, target=broken, remembers=True)
    assert first.ret == 1
    failed = first.parseoutcomes()["failed"]
    again = suite.run(ONE_RULE, "--lf", target=broken, remembers=True)
    outcomes = again.parseoutcomes()
    assert outcomes["failed"] == failed
    assert "passed" not in outcomes


def test_junit_tells_rule_and_verdict(suite):
    suite.run(f"{SCENARIO}[totp]", "--junitxml=found.xml")
    tree = ElementTree.parse(suite.pytester.path / "found.xml")
    properties = {p.get("name"): p.get("value") for p in tree.iter("property")}
    assert properties["mcp_approval_requirement"] == "sep2672/4.8-03-method"
    assert properties["mcp_approval_verdict"] == "passed"


def test_collecting_only_starts_no_target(suite):
    result = suite.run(ONE_RULE, "--collect-only", "-q", target="http://127.0.0.1:9/mcp")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"{SCENARIO}*"])


@pytest.mark.usefixtures("cold_workers")
def test_two_workers_find_the_same(suite):
    alone = suite.run(ONE_RULE).parseoutcomes()["passed"]
    result = suite.run(ONE_RULE, "-n", "2")
    assert result.parseoutcomes()["passed"] == alone
    # What the workers found has come to the controller, once.
    result.stdout.fnmatch_lines([f"*{alone} checks in *"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--mcp-approval-select=sep2672/9*", "*is no rule's id*sep2672/4.8-11-counter*"),
        ("--mcp-approval-family=sep9999", "*family: got 'sep9999', expected one of*sep2672*"),
        ("--mcp-approval-timeout=soon", "*timeout: got 'soon', expected seconds*"),
        ("--mcp-approval-timeout=-1", "*timeout: got '-1', expected seconds*"),
        ("--mcp-approval-tool=wipe", "*tool: got 'wipe', expected NAME=JSON*"),
        ("--mcp-approval-tool=wipe=[1]", "*expected NAME=JSON object*"),
        ("--mcp-approval-effects=file", "*effects: got 'file', expected a URL or tool:NAME*"),
        ("--mcp-approval-origin=localhost", "*origin: got 'localhost', expected https://host*"),
        ("--mcp-approval-header=secret", "*header: got no 'NAME: VALUE'*"),
        ("--mcp-approval-protocol=2099-01-01", "*unknown protocol revision '2099-01-01'*"),
    ],
)
def test_a_wrong_value_is_told_in_a_line(suite, option, message):
    result = suite.run(option)
    assert result.ret != 0
    text = result.stdout.str() + result.stderr.str()
    assert "Traceback" not in text
    assert any(fnmatch(line, message) for line in text.splitlines()), text
    assert "secret" not in text, "a header's value is not shown"


@pytest.mark.parametrize(
    "target",
    ["", "ftp://x", "http://", "stdio:", "stdio:'x", "python:", "python:a:b-c", "reference:x"],
)
def test_a_target_that_is_none_is_told_the_grammar(suite, target):
    result = suite.run(f"--mcp-approval-target={target}", target=None)
    assert result.ret == 4
    assert "--mcp-approval-target: " in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_an_option_without_a_target_says_what_is_missing(suite):
    result = suite.run("--mcp-approval-strict", target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--mcp-approval-strict needs --mcp-approval-target=<server>*"])


def test_options_come_from_a_file_and_the_command_line_wins(suite):
    suite.pytester.makefile(
        ".toml",
        **{"mcp-approval": 'target = ["reference"]\nselect = ["sep2672/4.8-03-method"]\n'},
    )
    result = suite.run("--mcp-approval", "--collect-only", "-q", target=None)
    assert result.stdout.str().count("mcp-approval/") > 1
    result = suite.run("--mcp-approval", "--mcp-approval-select=sep2672/none", target=None)
    assert result.ret == 4


def test_options_come_from_pyproject(suite):
    suite.pytester.makepyprojecttoml('[tool.mcp-approval]\ntarget = "reference"\nstrict = "yes"\n')
    result = suite.run("--mcp-approval", target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*strict: got 'yes', expected true or false*"])


def test_an_unknown_key_in_a_file_is_told(suite):
    suite.pytester.makefile(".toml", **{"mcp-approval": 'targets = ["reference"]\n'})
    result = suite.run("--mcp-approval", target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*mcp-approval.toml: got 'targets', did you mean 'target'? *"])
