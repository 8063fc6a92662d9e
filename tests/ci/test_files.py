"""What others copy into their CI, and our own workflows: well-formed, pinned, with few rights, and
true to the command."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcp_approval.command.check import parser
from pytest_mcp_approval.command.main import WORDS, main

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "templates" / "gitlab.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
# Not imported: a module named "tools" would stay, and examples have their own of that name.
problem_with = runpy.run_path(str(ROOT / "tools" / "check_tag.py"))["problem_with"]
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(path: Path) -> Iterator[dict[str, Any]]:
    found = load(path)
    if path == ACTION:
        yield from found["runs"]["steps"]
        return
    for job in found["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_steps_are_pinned_and_no_value_is_part_of_a_script(path: Path):
    for step in steps_of(path):
        uses = step.get("uses")
        assert uses is None or uses == "./" or PINNED.fullmatch(uses), uses
        assert "${{" not in step.get("run", ""), "pass it as an environment variable"
        if uses and uses.startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_few_rights_and_an_end(path: Path):
    found = load(path)
    assert found["permissions"] == {}
    for name, job in found["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        given = {right for right, level in job["permissions"].items() if level == "write"}
        assert given <= {"id-token", "attestations", "contents"}, name
        if given:
            assert path.name == "release.yml"
        # Whoever can write here runs none of our code, and nobody else's packages.
        if "contents" in given:
            assert given == {"contents"}
            assert not any("checkout" in step.get("uses", "") for step in job["steps"])


def test_targets_of_make_that_workflows_name_are_there():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = [
        word
        for path in WORKFLOWS
        for step in steps_of(path)
        for word in re.findall(r"^make ([a-z]+)", step.get("run", ""), re.MULTILINE)
    ]
    assert named
    assert set(named) <= set(targets)


def test_we_test_every_python_that_we_promise():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    promised = [
        one.rpartition(" ")[2]
        for one in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", one)
    ]
    tested = load(ROOT / ".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert tested["python"] == promised
    package = load(ROOT / ".github/workflows/tests.yml")["jobs"]["package"]["steps"]
    (installed,) = (
        step["with"]["python-version"] for step in package if "python" in step.get("uses", "")
    )
    assert sorted(installed.split(), key=float) == promised
    assert project["requires-python"] == f">={promised[0]}"


def test_every_input_of_the_action_is_used_and_reaches_the_script_as_a_variable():
    found = load(ACTION)
    text = ACTION.read_text()
    for name in found["inputs"]:
        assert f"inputs.{name}" in text.partition("runs:")[2], name
    (check,) = (step for step in steps_of(ACTION) if step.get("id") == "check")
    script = (ROOT / "tools" / "ci" / "github_action.sh").read_text()
    for variable in check["env"]:
        assert variable in script, variable


def test_scripts_can_be_run():
    listed = subprocess.run(
        ["git", "ls-files", "--stage", "tools/ci"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if listed.returncode:
        pytest.skip("needs a checkout")
    for line in listed.stdout.splitlines():
        assert line.startswith("100755"), line


def test_the_gitlab_template_uses_words_that_exist():
    found = load(GITLAB)[".mcp-approval"]
    (line,) = (one for one in found["script"] if "mcp-approval check" in one)
    words = shlex.split(line.partition("mcp-approval check")[2])
    parser().read([word for word in words if not word.startswith("$")])
    folder = found["artifacts"]["paths"][0]
    assert all(word.partition("=")[2].startswith(f"{folder}/") for word in words if "=" in word)
    assert found["artifacts"]["reports"]["junit"] in line


@pytest.mark.parametrize(
    ("hook", "name", "text", "code"),
    [
        ("mcp-approval-settings", "mcp-approval.toml", 'target = "reference"', 0),
        ("mcp-approval-settings", "server/mcp-approval.toml", 'targt = "reference"', 1),
        ("mcp-approval-baseline", "known.toml", "", 0),
        ("mcp-approval-baseline", "mcp-approval-baseline.toml", "[[known]]", 1),
    ],
)
def test_hooks_find_their_files_and_what_is_wrong(
    tmp_path: Path, hook: str, name: str, text: str, code: int
):
    (found,) = (one for one in load(HOOKS) if one["id"] == hook)
    assert re.search(found["files"], name)
    assert not re.search(found["files"], "pyproject.toml")
    program, word = found["entry"].split()
    assert program == "mcp-approval"
    assert word in WORDS
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert main([word, str(path)]) == code


def test_our_own_hooks_need_no_network_and_what_they_run_is_there():
    (repository,) = load(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        if (ROOT / ".venv").is_dir():
            assert (ROOT / program).exists(), program


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.name
)
def test_issue_forms_are_well_formed(path: Path):
    found = load(path)
    if path.name == "config.yml":
        return
    assert {"name", "description", "body"} <= set(found)
    ids = [one["id"] for one in found["body"] if "id" in one]
    assert len(set(ids)) == len(ids)


def test_a_release_is_stopped_if_tag_version_and_changelog_differ(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text("## [Unreleased]\n")
    assert "expected 'v1.2.3'" in str(problem_with("v1.2.4", tmp_path))
    assert "no section [1.2.3]" in str(problem_with("v1.2.3", tmp_path))
    changes.write_text("## [1.2.3] - 2027-01-31\n")
    assert problem_with("v1.2.3", tmp_path) is None
