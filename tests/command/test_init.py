"""`mcp-approval init`: what it sees, what it asks, and a file that can be read whatever the server
is called."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mcp_approval.command.asking import ask_all, ask_to_try
from pytest_mcp_approval.command.looking import NothingSeenError, Seen, look_at
from pytest_mcp_approval.command.settings_text import Answers, missing_in, settings_text
from pytest_mcp_approval.config.settings import check_file, settings_of_line
from tests.command.conftest import Command, small_server


def seen(*words: str, tool: Iterable[str] = ()) -> Seen:
    options = {"target": [small_server(*words)], "clock": "none", "tool": list(tool)}
    return look_at(settings_of_line(options, Path.cwd()))


def read_back(text: str, folder: Path) -> dict:
    (folder / "mcp-approval.toml").write_text(text, encoding="utf-8")
    check_file(folder)
    return tomllib.loads(text)


def test_what_a_server_lists_shows_its_families():
    found = seen("pairs", "gated", "silent", "tokens", "apps")
    assert found.server == "shop 1.4"
    assert (found.era, found.revision) == ("handshake", "2025-06-18")
    assert set(found.proposals) == {
        *("confirmation_tokens", "execution_tokens", "gateway_consent"),
        *("prepare_confirm", "sep2672"),
    }
    assert [one.name for one in found.silent] == ["purge_cache"]
    assert found.showing == ["list_users"]
    assert found.proposals["sep2672"].wanted[0].usual == "https://shop.example"


def test_a_server_that_shows_nothing(tmp_path: Path):
    found = seen()
    assert found.proposals == {}
    text = settings_text(found, Answers("stdio:x"))
    assert "family" not in read_back(text, tmp_path)
    assert "nothing that the server lists shows" in text


@pytest.mark.parametrize("target", ["stdio:node server.js", "http://localhost:3000/mcp"])
def test_without_answers_the_file_says_what_is_missing(tmp_path: Path, target: str):
    found = seen("pairs", "gated", "tokens", "apps")
    text = settings_text(found, Answers(target))
    told = read_back(text, tmp_path)
    assert told["target"] == target
    assert told["family"] == sorted(found.proposals)
    assert told["tool"] == {}  # nothing runs that nobody has named
    assert missing_in(text) == 5  # effects, clock or launch, arguments, contents, operations
    assert '# prepare_delete_user = { id = "test" }' in text
    assert "{port}" in text or target.startswith("stdio:")


def uncommented(text: str) -> str:
    """What a user does with the examples."""
    return "\n".join(
        line.removeprefix("# ") if re.match(r"# \S+ = ", line) else line
        for line in text.splitlines()
    )


def test_the_examples_can_be_used_as_they_stand(tmp_path: Path):
    text = settings_text(seen("pairs", "gated", "tokens", "apps"), Answers("stdio:x"))
    told = read_back(uncommented(text), tmp_path)
    assert set(told["tool"]) == {"prepare_delete_user", "refund", "files:delete"}
    assert told["effects"] == "tool:list_users"
    assert told["confirmation_tokens"]["operations"][0]["danger"] == 2
    assert len(told["execution_tokens"]["contents"]) == 2


def test_names_of_a_hostile_server_stay_names(tmp_path: Path):
    found = seen("hostile")
    text = settings_text(found, Answers("stdio:x"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    told = read_back(text, tmp_path)
    assert told["tool"] == {}
    odd = next(tool.name for one in found.proposals.values() for tool in one.tools)
    answers = Answers("stdio:x", tools={odd: {"a\nb": 'c"\n[x]'}})
    again = read_back(settings_text(found, answers), tmp_path)
    assert again["tool"] == {odd: {"a\nb": 'c"\n[x]'}}
    assert "evil" not in again["tool"]


def scripted(answers: Iterable[str]):
    left = iter(answers)
    asked: list[str] = []

    def read(prompt: str) -> str:
        asked.append(prompt)
        return next(left)

    return read, asked


def test_a_person_is_asked_what_cannot_be_found_out(tmp_path: Path, capsys):
    found, given = seen("pairs", "gated"), Answers("stdio:x")
    said = ["{", '["x"]', '{"id": "test-1"}', '{"id": null}', "", "http://localhost:5173", "users"]
    read, asked = scripted([*said, "tool:list_users"])
    ask_all(found, given, read)
    assert given.tools == {"prepare_delete_user": {"id": "test-1"}}
    assert given.effects == "tool:list_users"
    told = read_back(settings_text(found, given), tmp_path)
    assert told["sep2672"]["origin"] == "http://localhost:5173"
    assert "safe to run prepare_delete_user" in asked[0]
    assert "(Enter: https://shop.example)" in asked[5]
    complaints = capsys.readouterr().out
    for words in ("no JSON", "expected a JSON object", "TOML has no NoneType", "tool:NAME"):
        assert words in complaints


def test_whoever_answers_nothing_is_not_asked_for_ever(capsys):
    found, given = seen("pairs"), Answers("stdio:x")
    read, asked = scripted(["x", "x", "x", ""])
    ask_all(found, given, read)
    assert given.tools == {}
    assert len(asked) == 4


def test_a_question_by_elicitation_shows_when_its_tool_is_called(tmp_path: Path):
    """And only tools that were named are called: the server dies of any other call."""
    assert "elicitation" not in seen("asking", "silent").proposals
    found = seen("asking", "silent", tool=['wipe_disk={"id": "test"}'])
    assert found.proposals["elicitation"].asks == "wipe_disk (form: really = true)"
    assert [one.name for one in found.silent] == ["drop_table", "purge_cache"]
    both = seen("asking", tool=['wipe_disk={"id": "test"}', 'drop_table={"id": "test"}'])
    assert both.proposals["elicitation"].asks == "wipe_disk (form: really = true), drop_table (url)"
    given = Answers("stdio:x", tools={"wipe_disk": {"id": "test"}, "drop_table": {"id": "test"}})
    text = settings_text(both, given)
    told = read_back(text, tmp_path)
    assert told["family"] == ["elicitation"]
    assert told["tool"] == given.tools
    assert "docs/elicitation.md" in text


def test_tools_that_may_ask_are_proposed_in_the_file(tmp_path: Path):
    text = settings_text(seen("asking"), Answers("stdio:x"))
    assert read_back(text, tmp_path)["tool"] == {}
    assert "asks by elicitation" in text
    assert set(read_back(uncommented(text).replace('family = ["..."]', ""), tmp_path)["tool"]) == {
        *("wipe_disk", "drop_table")
    }


def test_a_person_says_which_tools_may_be_called_to_see(capsys):
    found, given = seen("asking"), Answers("stdio:x")
    read, asked = scripted(['{"id": "test"}', ""])
    assert ask_to_try(found, given, read)
    assert given.tools == {"wipe_disk": {"id": "test"}}
    assert "safe to run wipe_disk" in asked[0]
    assert not ask_to_try(seen("pairs"), Answers("stdio:x"), read)


def test_a_person_names_a_tool_that_does_not_look_as_if_it_asked(capsys):
    found, given = seen("apps"), Answers("stdio:x")
    found = replace(found, tools=[{"name": "ship", "inputSchema": {}}, *found.tools], proposals={})
    assert "ship" not in [one.name for one in found.silent]
    declined = [""] * len(found.silent)
    read, asked = scripted([*declined, "shap", "ship", '{"amount": 1}'])
    assert ask_to_try(found, given, read)
    assert given.tools == {"ship": {"amount": 1}}
    assert "list_users" not in asked[len(declined)]  # it says that it only reads
    assert "did you mean 'ship'?" in capsys.readouterr().out
    read, asked = scripted(["", ""])
    assert not ask_to_try(found, Answers("stdio:x"), read)


def test_a_tool_named_on_the_command_line_is_looked_at(command: Command, folder: Path):
    said = command("init", small_server("asking"), "--tool", 'wipe_disk={"id": "test"}')
    assert said.code == 0, said.err
    assert "asks       elicitation: wipe_disk (form: really = true)" in said.out
    assert "silent     drop_table (named like something destructive" in said.out
    told = tomllib.loads((folder / "mcp-approval.toml").read_text())
    assert told["tool"] == {"wipe_disk": {"id": "test"}}
    assert "first  " not in said.out


def test_a_tool_that_asks_in_the_older_era_only_is_found(command: Command, folder: Path):
    server = small_server("modern", "asking")
    said = command("init", server, "--tool", 'wipe_disk={"id": "test"}')
    assert said.code == 0, said.err
    assert "asks       elicitation: wipe_disk (form: really = true)" in said.out
    assert "note       it asks in MCP 2025-11-25, and not in the newer revision" in said.out
    assert tomllib.loads((folder / "mcp-approval.toml").read_text())["protocol"] == "2025-11-25"
    checked = command("check", server, "--tool", 'wipe_disk={"id": "test"}', "--protocol=auto")
    assert checked.code == 10
    assert "perhaps it asks in the older era: --mcp-approval-protocol=2025-11-25" in (
        checked.out + checked.err
    )


def test_a_tool_that_was_called_and_asked_nobody_is_told(command: Command, folder: Path):
    said = command("init", small_server("careless"), "--tool", 'delete_all={"id": "test"}')
    assert "called     delete_all: no question came" in said.out
    assert "nothing that it lists" not in said.out
    assert (folder / "mcp-approval.toml").exists()


def test_without_a_terminal_it_writes_what_it_found(command_apart: Command, folder: Path):
    said = command_apart("init", small_server("pairs", "silent"))
    assert said.code == 0, said.err
    assert "looking    shop 1.4, MCP 2025-06-18 (handshake era), 4 tools" in said.out
    assert "asks       prepare_confirm: prepare_delete_user / confirm_delete_user" in said.out
    assert "silent     purge_cache (annotated destructive): nothing shows that" in said.out
    assert "first      in mcp-approval.toml, name a tool that asks" in said.out
    written = (folder / "mcp-approval.toml").read_text()
    assert f"({len(written.splitlines())} lines)" in said.out
    assert [one.name for one in folder.iterdir()] == ["mcp-approval.toml"]


def test_a_file_that_is_there_is_never_lost(command: Command, folder: Path):
    own = folder / "mcp-approval.toml"
    own.write_text("mine")
    said = command("init", small_server("pairs"))
    assert said.code == 4
    assert "--force replaces it" in said.err
    assert own.read_text() == "mine"
    assert command("init", small_server("pairs"), "--output", "other.toml").code == 0
    assert own.read_text() == "mine"
    assert command("init", small_server("pairs"), "--force").code == 0
    assert own.read_text() == (folder / "other.toml").read_text()


def test_secrets_stay_outside_the_file(command: Command, folder: Path):
    server = small_server("pairs")
    said = command(
        *("init", server, "--environment", "API_KEY=opensesame-1", "--output", "-"),
        *("--header", "X-Api-Key: opensesame-2", "--environment-from", "OTHER={env:HOME}"),
    )
    assert said.code == 0, said.err
    assert "opensesame" not in said.out
    told = tomllib.loads(said.out)
    assert told["launch"]["environment-from"] == {"API_KEY": "{env:API_KEY}", "OTHER": "{env:HOME}"}
    assert told["header-from"] == {"X-Api-Key": "{env:X_API_KEY}"}


def test_nobody_there(command: Command, folder: Path):
    said = command("init", "http://localhost:1/mcp")
    assert said.code == 10
    assert "connection refused" in said.err
    assert list(folder.iterdir()) == []


def test_the_python_of_the_suite_is_told_from_the_users(
    command: Command, folder: Path, monkeypatch
):
    """As uvx does it: what it runs comes first on PATH."""
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    (folder / "server.py").write_text("import a_framework_of_somebody", encoding="utf-8")
    said = command("init", "stdio:python server.py")
    assert said.code == 10
    assert "No module named 'a_framework_of_somebody'" in said.err
    assert "Its python is the one that runs this suite" in said.err
    named = command("init", f"stdio:{own}/python server.py")
    assert "runs this suite" not in named.err


def test_a_verifier_has_nothing_to_list():
    settings = settings_of_line({"target": ["command:true"]}, Path.cwd())
    with pytest.raises(NothingSeenError, match="is no MCP server"):
        look_at(settings)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_on_a_terminal_it_asks(folder: Path):
    controller, terminal = os.openpty()
    try:
        # Not warm: what the tests have loaded brings readline, which shows half of a question where
        # there is no TERM.
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest_mcp_approval.command", "init", small_server("pairs")],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
        )
        try:
            os.write(controller, b'{"id": "test-1"}\ntool:list_users\n')
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
            process.wait()
        shown = os.read(controller, 65536).decode()
    finally:
        os.close(controller)
        os.close(terminal)
    assert "safe to run prepare_delete_user" in shown
    told = tomllib.loads((folder / "mcp-approval.toml").read_text())
    assert told["tool"] == {"prepare_delete_user": {"id": "test-1"}}
    assert told["effects"] == "tool:list_users"
