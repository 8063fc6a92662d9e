"""`mcp-approval lint`: what is wrong with a file, before any server is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command.conftest import Command

ROOT = Path(__file__).parents[2]
SETTINGS = {
    'target = "http://localhost/mcp"': "",
    'targt = "x"': "did you mean 'target'?",
    "target = ": "no TOML",
    'target = "http://localhost:{port}/mcp"': "needs --mcp-approval-launch",
    'target = "localhost"': "expected reference, http",
    'family = "sep2627"': "did you mean 'sep2672'?",
    'select = "sep2672/4.8-11-conter"': "did you mean 'sep2672/4.8-11-counter'?",
    'select = ["sep2672/4.8*", "4.2*"]': "",
    "require-verified = true": "",
    'header = ["A: b"]': "",
    'header = ["A"]': "NAME: VALUE",
    'header-from = { A = "{env:NOT_THERE_AT_ALL}" }': "",  # a secret is needed only in a run
    "timeout = 0": "expected seconds",
    'baseline = "nowhere.toml"': "there is no file 'nowhere.toml'",
    '[sep2672]\norign = "x"': "did you mean 'origin'?",
    '[sep2672]\norigin = "x"': "expected https://host",
    "[launch]\ncommand = 7": "expected text",
    '[tool]\nx = "y"': "expected a table",
}


@pytest.mark.parametrize("text", SETTINGS)
def test_settings(command: Command, folder: Path, text: str):
    (folder / "mcp-approval.toml").write_text(text)
    said = command("lint")
    if SETTINGS[text]:
        assert said.code == 1
        assert SETTINGS[text] in said.err
        assert said.err.startswith(("mcp-approval.toml", "--mcp-approval-"))
    else:
        assert (said.code, said.out) == (0, "mcp-approval.toml: in order\n"), said.err


KNOWN = '[[known]]\nrule = "sep2672/4.8-11-counter"\ncomment = "until 3.0"\n'
BASELINES = {
    KNOWN: "",
    KNOWN + "expires = 2001-01-31": "expired on 2001-01-31",
    KNOWN.replace("counter", "conter"): "expected a rule's id",
    KNOWN + KNOWN: "a second time",
}


@pytest.mark.parametrize("text", BASELINES)
def test_baselines(command: Command, folder: Path, text: str):
    (folder / "known.toml").write_text(text)
    said = command("lint", "known.toml")
    assert said.code == (1 if BASELINES[text] else 0)
    assert BASELINES[text] in said.err


def test_a_table_that_nobody_reads(command: Command, folder: Path):
    (folder / "pyproject.toml").write_text('[tool.mcp-approval]\ntarget = "reference"\n')
    assert command("lint", "pyproject.toml").code == 0
    (folder / "mcp-approval.toml").write_text('target = "reference"\n')
    assert "is not read" in command("lint", "pyproject.toml").err


def test_a_problem_names_the_folder_of_its_file(command: Command, folder: Path):
    (folder / "server").mkdir()
    (folder / "server" / "mcp-approval.toml").write_text('targt = "x"')
    assert command("lint", "server/mcp-approval.toml").err.startswith("server/mcp-approval.toml: ")


@pytest.mark.parametrize("example", ["mcp1-server", "node-server", "python-server"])
def test_the_examples_are_in_order(command: Command, example: str):
    assert command("lint", str(ROOT / "examples" / example / "mcp-approval.toml")).code == 0
