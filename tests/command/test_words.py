"""The words of the command: which there are, what is said about others, and what is loaded."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from pytest_mcp_approval.command.main import WORDS
from tests.command.conftest import Command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("word", WORDS)
def test_each_word_has_a_module_and_a_page_of_help(command: Command, word: str):
    assert callable(import_module(f"pytest_mcp_approval.command.{word}").run)
    if word == "report":
        assert "merge" in command(word, "--help").out
        return
    with pytest.raises(SystemExit) as ended:
        command(word, "--help")
    assert ended.value.code == 0


@pytest.mark.parametrize("words", [(), ("--help",), ("help",)])
def test_without_a_word_all_are_listed(command: Command, words: tuple[str, ...]):
    said = command(*words)
    assert said.code == 0
    assert all(f"  {word}" in said.out for word in WORDS)


def test_the_version_is_that_of_the_project(command: Command):
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert command("--version").out.strip() == f"mcp-approval {stated['version']}"


WRONG = {
    ("chek",): "did you mean 'check'?",
    ("http://localhost:3000/mcp",): "did you mean mcp-approval check http://localhost:3000/mcp?",
    ("check", "--tol", "x"): "did you mean '--tool'?",
    ("check", "--mcp-approval-effect=x"): "did you mean '--effects'?",
    ("check", "localhost:3000/mcp"): "did you mean 'http://localhost:3000/mcp'?",
    ("check", "shop"): "expected a URL",
    ("check", "nowhere.json"): "nowhere.json: cannot be read",
    ("check", "http://a/", "--server", "x"): "without a JSON file",
    ("check",): "mcp-approval init SERVER writes one",
    ("explain", "4.8-11-conter"): "did you mean 'sep2672/4.8-11-counter'?",
    ("explain", "a", "b"): "one word too many",
    ("report", "merg"): "did you mean 'merge'?",
    ("demo", "--family", "sep2627"): "did you mean 'sep2672'?",
    ("init",): "SERVER",
    ("lint", "nowhere.toml"): "there is no file 'nowhere.toml'",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_word_gets_one_line_and_exit_code_4(command: Command, words: tuple[str, ...]):
    said = command(*words)
    assert said.code == 4
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("mcp-approval")
    assert WRONG[words] in said.err


def test_text_of_others_cannot_do_anything_to_the_terminal(command: Command):
    assert "\x1b" not in command("\x1b[31mcheck").err


def test_loading_it_loads_nothing_heavy(command_apart: Command):
    heavy = ("pytest", "mcp", "cryptography", "fido2", "playwright", "hypothesis", "sqlalchemy")
    lines = f"import atexit\natexit.register(lambda: print({heavy!r} & sys.modules.keys()))"
    lines = lines.replace(repr(heavy), repr(set(heavy)))
    assert command_apart("--version", lines=lines).out.splitlines()[-1] == "set()"


def test_a_reader_who_has_seen_enough_is_no_error(command_apart: Command):
    lines = "import os\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)"
    said = command_apart("explain", "sep2672", lines=lines)
    assert (said.code, said.err) == (0, "")
