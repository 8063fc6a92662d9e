"""`mcp-approval check`, in processes of its own: a clean run in whatever folder, and its lines."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.command.conftest import Command, small_server

FEW = ("--select", "sep2672/4.2*", "--browser", "none")
BROKEN = "python:tests.mutants.sep2672.signature:NeverComparesCounters"


def test_a_run_is_clean_whatever_the_folder_holds(command_apart: Command, folder: Path):
    """Somebody's own tests, configuration and variables are for their own pytest."""
    (folder / "conftest.py").write_text("raise SystemExit('somebody else')")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (folder / "test_own.py").write_text("def test_own():\n    assert False\n")
    before = {one.name for one in folder.iterdir()}
    said = command_apart(
        *("check", "reference", *FEW),
        variables={"PYTEST_ADDOPTS": "--more-nonsense"},
        warm=False,
    )
    assert said.code == 0, said.out + said.err
    assert said.err == ""
    assert said.out.startswith("mcp-approval  target   reference")
    for word in ("rootdir", "session starts", "collected", "plugins:", "test_own"):
        assert word not in said.out
    assert {one.name for one in folder.iterdir()} == {*before, ".mcp-approval"}
    assert (folder / ".mcp-approval" / "report.html").is_file()
    assert (folder / ".mcp-approval" / ".gitignore").read_text() == "*\n"


def test_a_finding_says_how_to_see_it_again_and_that_works(command_apart: Command):
    said = command_apart(
        "check", BROKEN, "--select", "sep2672/4.8-11*", "--browser=none", "--report", "a.json"
    )
    assert said.code == 1, said.out + said.err
    again = re.search(r"again +mcp-approval (.*)", said.out)
    assert again is not None, said.out
    words = shlex.split(again[1])
    assert words[:2] == ["check", BROKEN]
    assert "pytest" not in again[1]
    replayed = command_apart(*words)
    assert replayed.code == 1
    assert "replay    still failing" in replayed.out
    assert "why       mcp-approval explain sep2672/4.8-11-counter" in said.out
    assert Path("a.json").is_file()
    assert not Path(".mcp-approval", "report.html").exists()


def test_one_scenario_runs_alone_by_its_id(command_apart: Command):
    name = "mcp-approval/sep2672/test_4_2_annotation.py"
    said = command_apart("check", "reference", name, "--browser", "none", "--report", "a.json")
    assert said.code == 0, said.out + said.err
    told = json.loads(Path("a.json").read_text())
    assert {one["id"].partition("::")[0] for one in told["scenarios"]} == {name}
    assert told["scenarios"][0]["command"].startswith("mcp-approval check reference --browser=none")


def test_nobody_there(command_apart: Command):
    said = command_apart("check", "http://localhost:1/mcp")
    assert said.code == 10
    first, second = said.out.splitlines()
    assert "connection refused" in first
    assert "Is the server running" in second


def test_a_server_of_a_json_file(command_apart: Command, folder: Path):
    server = {
        "command": sys.executable,
        "args": ["-m", "pytest_mcp_approval.reference_server", "--stdio"],
        "env": {"SHOP_TOKEN": "${SHOP_SECRET}"},
    }
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"shop": server}}))
    said = command_apart(
        *("check", "servers.json", *FEW, "--report", "a.json"),
        variables={"SHOP_SECRET": "opensesame-opensesame"},
    )
    assert said.code == 10, said.out + said.err  # no tool may be run, so nothing is proved
    assert "reference-server" in said.out
    told = Path("a.json").read_text()
    assert "opensesame" not in told + said.out + said.err
    assert json.loads(told)["run"]["command"].startswith(
        "mcp-approval check servers.json --browser"
    )


def test_the_settings_file_of_the_folder_is_used(command_apart: Command, folder: Path):
    (folder / "mcp-approval.toml").write_text(
        'target = "reference"\nselect = "sep2672/4.2*"\nbrowser = "none"\nreport = "own.md"\n'
    )
    said = command_apart("check")
    assert said.code == 0, said.out + said.err
    assert (folder / "own.md").is_file()
    assert not (folder / ".mcp-approval" / "report.html").exists()


def test_wrong_settings_are_one_line(command_apart: Command, folder: Path):
    (folder / "mcp-approval.toml").write_text('target = "reference"\nefects = "x"\n')
    said = command_apart("check")
    assert said.code == 4
    assert "did you mean 'effects'?" in said.err


def test_a_server_that_asks_nobody(command_apart: Command):
    said = command_apart("check", small_server("silent"))
    assert said.code == 10
    assert "nothing to check: this server asks for no approval" in said.out


def test_workers_say_the_same(command_apart: Command):
    said = command_apart(
        "check", BROKEN, "--select", "sep2672/4.8-11*", "--browser=none", "-n", "2"
    )
    assert said.code == 1, said.out + said.err
    assert re.search(rf"again +mcp-approval check {BROKEN} --replay=", said.out)


def test_what_is_missing_is_told_in_one_line(command_apart: Command):
    absent = "sys.modules.update(dict.fromkeys(['xdist', 'mcp', 'playwright', 'webauthn']))"
    workers = command_apart("check", "reference", "-n", "2", lines=absent)
    assert workers.code == 4
    assert workers.err == (
        "mcp-approval check: -n needs pytest-xdist: pip install pytest-xdist "
        "(uvx --with pytest-xdist)\n"
    )
    demo = command_apart("demo", lines=absent)
    assert demo.code == 4
    assert "pip install 'pytest-mcp-approval[reference]'" in demo.err
    assert demo.err.count("\n") == 1
    served = command_apart("serve", "--stdio", lines=absent)
    assert served.code == 2
    assert "pip install 'pytest-mcp-approval[reference]'" in served.err
    assert served.err.count("\n") == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_old_terminal_gets_plain_marks(command_apart: Command, encoding: str):
    plain = {"PYTHONIOENCODING": encoding, "COLUMNS": "50"}
    said = command_apart("check", "reference", *FEW, variables=plain)
    assert said.code == 0, said.out + said.err
    assert "+++" in said.out  # a mark for each rule that passed
    assert "\\u" not in said.out
    assert "\x1b" not in said.out
