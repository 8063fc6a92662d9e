"""Servers as hosts have them configured."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.command.parsing import WrongWordsError
from pytest_mcp_approval.command.server_files import read_server
from pytest_mcp_approval.target import parse_target


def written(folder: Path, text: Any) -> Path:
    path = folder / "servers.json"
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def one(folder: Path, server: Any) -> dict[str, Any]:
    return read_server(written(folder, {"mcpServers": {"shop": server}})).options


def test_a_command_with_odd_words_arrives_whole(tmp_path: Path):
    words = ["a b", "it's", '"', "$HOME", "\\", ""]
    options = one(tmp_path, {"command": "node", "args": words})
    (target,) = options["target"]
    assert shlex.split(target.removeprefix("stdio:")) == ["node", *words]
    assert list(parse_target(target).command) == ["node", *words]


def test_all_that_a_server_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHOP_TOKEN", "s3cret")
    found = one(
        tmp_path,
        {
            "type": "stdio",
            "command": "node",
            "env": {
                "A": "${SHOP_TOKEN}",
                "B": "${NOT_THERE:-b}",
                "C": 7,
                "D": "${env:SHOP_TOKEN}x",
            },
            "cwd": "server",
        },
    )
    assert found == {
        "target": ["stdio:node"],
        "environment": ["A=s3cret", "B=b", "C=7", "D=s3cretx"],
        "directory": "server",
    }
    found = one(
        tmp_path,
        {"url": "http://localhost/mcp", "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"}},
    )
    assert found == {
        "target": ["http://localhost/mcp"],
        "header": ["Authorization: Bearer s3cret"],
    }


@pytest.mark.parametrize("form", ["mcpServers", "servers", "mcp"])
def test_the_forms_that_hosts_have(tmp_path: Path, form: str):
    servers: Any = {"a": {"command": "node"}, "b": {"type": "http", "url": "http://localhost/mcp"}}
    if form == "mcp":
        servers = {"servers": servers}
    path = written(tmp_path, f"// of an editor\n{json.dumps({form: servers})}")
    assert read_server(path, "b").target == "http://localhost/mcp"
    with pytest.raises(WrongWordsError, match="has 2 servers: say --server NAME, of a, b"):
        read_server(path)
    with pytest.raises(WrongWordsError, match="got 'c'"):
        read_server(path, "c")


WRONG = {
    "[]": "got no servers",
    "{": "no JSON",
    '{"mcpServers": {}}': "got no servers",
    '{"mcpServers": {"a": 7}}': "a: got int",
    '{"mcpServers": {"a": {}}}': "neither a command nor a url",
    '{"mcpServers": {"a": {"command": "x", "args": "y"}}}': "a args: expected a list",
    '{"mcpServers": {"a": {"command": "x", "env": {"A": null}}}}': "a env.A: expected a text",
    '{"mcpServers": {"a": {"type": "sse", "url": "http://x/"}}}': "Streamable HTTP",
    '{"mcpServers": {"a": {"type": "ws", "url": "http://x/"}}}': "got type 'ws'",
    '{"mcpServers": {"a": {"url": "http://${NOT_THERE_AT_ALL}/"}}}': "'NOT_THERE_AT_ALL'",
    '{"mcpServers": {"a": {"url": "http://x/${input:key}"}}}': "only your editor can fill in",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, text: str):
    with pytest.raises(WrongWordsError) as error:
        read_server(written(tmp_path, text))
    assert WRONG[text] in str(error.value)
    assert "\n" not in str(error.value)


def test_a_hostile_name_is_made_safe(tmp_path: Path):
    path = written(tmp_path, {"mcpServers": {"\x1b[31m\nx": {}, "b": {}}})
    with pytest.raises(WrongWordsError) as error:
        read_server(path)
    assert "\x1b" not in str(error.value)
    assert "\n" not in str(error.value)
