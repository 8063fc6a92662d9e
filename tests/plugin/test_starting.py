"""A settings file configures and starts nothing: what plain pytest runs is up to the user."""

from __future__ import annotations

import pytest

RULE = "sep2672/4.8-03-method"
FILE = f'target = "reference"\nselect = "{RULE}"\nbrowser = "none"\n'
NOBODY = 'target = "http://127.0.0.1:9/mcp"\n'
START = "--mcp-approval"
SCENARIO = "mcp-approval/sep2672/test_4_8_verification.py::test_only_webauthn_is_a_method"
OWN = """
    def test_mine(): pass
    def test_other(): pass
"""


@pytest.fixture
def project(suite):
    """A project with a test and a settings file."""
    suite.pytester.makepyfile(test_own=OWN)
    (suite.pytester.path / "mcp-approval.toml").write_text(FILE)
    return suite


def ran(result: pytest.RunResult) -> set[str]:
    """Whose tests: "own", "scenarios"."""
    ids = [line for line in result.outlines if "::" in line]
    return {"scenarios" if line.startswith("mcp-approval/") else "own" for line in ids}


def test_plain_pytest_runs_the_projects_tests_alone(project):
    result = project.run("-v", target=None)
    result.assert_outcomes(passed=2)
    assert ran(result) == {"own"}


def test_a_broken_test_of_the_project_is_seen(project):
    project.pytester.makepyfile(test_broken="def test_it(): assert False")
    assert project.run(target=None).ret == 1


def test_a_server_that_is_down_is_no_matter_of_unit_tests(project):
    (project.pytester.path / "mcp-approval.toml").write_text(NOBODY)
    assert project.run(target=None).ret == 0


def test_nor_is_a_file_that_cannot_be_read(project):
    (project.pytester.path / "mcp-approval.toml").write_text("targets = [")
    assert project.run(target=None).ret == 0


def test_a_named_test_brings_no_scenarios_along(project):
    result = project.run("-v", "test_own.py::test_mine", target=None)
    result.assert_outcomes(passed=1)


def test_the_flag_takes_the_files_target(project):
    result = project.run(START, "-v", target=None)
    assert result.ret == 0
    assert ran(result) == {"scenarios"}, "no path and no testpaths: the scenarios are all there is"


def test_the_flag_with_a_path_runs_both(project):
    result = project.run(START, "-v", "test_own.py::test_mine", target=None)
    assert ran(result) == {"own", "scenarios"}
    assert "test_other" not in result.stdout.str()


@pytest.mark.parametrize("start", [START, "--mcp-approval-target=reference"])
def test_testpaths_are_run_as_ever(project, start):
    project.pytester.makeini("[pytest]\ntestpaths = test_own.py\n")
    assert ran(project.run(start, "-v", target=None)) == {"own", "scenarios"}
    assert ran(project.run("-v", target=None)) == {"own"}


def test_scenarios_alone_have_a_name(project):
    project.pytester.makeini("[pytest]\ntestpaths = test_own.py\n")
    assert ran(project.run("mcp-approval/", "-v", target=None)) == {"scenarios"}


def test_a_scenarios_id_asks_for_it(project):
    result = project.run(f"{SCENARIO}[totp]", target=None)
    result.assert_outcomes(passed=1)


def test_a_folder_of_the_users_may_have_the_name_of_ours(project):
    folder = project.pytester.mkdir("mcp-approval")
    (folder / "test_there.py").write_text("def test_there(): pass")
    result = project.run("-v", "mcp-approval/test_there.py", target=None)
    result.assert_outcomes(passed=1)


def test_addopts_start_scenarios_beside_the_projects_tests(project):
    project.pytester.makeini(f"[pytest]\naddopts = {START}\n")
    assert ran(project.run("-v", target=None)) == {"own", "scenarios"}
    named = project.run("-v", "test_own.py::test_mine", target=None)
    assert ran(named) == {"own"}, "a named test is what is wanted"
    assert ran(project.run("-v", START, "test_own.py", target=None)) == {"own", "scenarios"}


def test_the_flag_without_a_target_is_one_line(project):
    (project.pytester.path / "mcp-approval.toml").write_text('family = "sep2672"\n')
    result = project.run(START, target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*mcp-approval.toml names no target: *--mcp-approval-target=*"])
    (project.pytester.path / "mcp-approval.toml").unlink()
    result = project.run(START, target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--mcp-approval takes the target of mcp-approval.toml*"])


def test_an_option_that_would_have_no_effect_is_told(project):
    result = project.run(f"--mcp-approval-select={RULE}", target=None)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--mcp-approval-select needs --mcp-approval-target=*"])


USING = """
    def test_it_lists_its_tools(approval_session):
        assert approval_session.call("tools/list").result["tools"]
"""


def test_fixtures_take_the_files_target_in_any_test(project):
    project.pytester.makepyfile(test_using=USING)
    result = project.run("-v", target=None)
    result.assert_outcomes(passed=3)
    assert ran(result) == {"own"}


def test_a_fixture_says_what_is_wrong_with_the_file(project):
    project.pytester.makepyfile(test_using=USING)
    (project.pytester.path / "mcp-approval.toml").write_text('targget = "reference"\n')
    result = project.run(target=None)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*mcp-approval.toml: got 'targget', *did you mean 'target'?*"])
    assert "Traceback" not in result.stdout.str()
