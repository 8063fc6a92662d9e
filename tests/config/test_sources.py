"""Where settings come from: files in today's spelling and in older ones, and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.config.options import OPTIONS, Settings
from pytest_mcp_approval.config.settings import SettingsError, read_settings


@pytest.fixture
def told(tmp_path: Path):
    def read(text: str = "", **given: Any) -> Settings:
        (tmp_path / "mcp-approval.toml").write_text(text)
        named = {name.replace("_", "-"): value for name, value in given.items()}
        return read_settings(named, tmp_path, tmp_path)

    return read


@pytest.mark.parametrize(
    ("text", "place", "value", "now"),
    [
        ('server-id = "a"', ("sep2672", "server-id"), "a", "[sep2672] server-id for server-id"),
        ('server_id = "a"', ("sep2672", "server-id"), "a", "[sep2672] server-id for server_id"),
        ('origin = "a"', ("sep2672", "origin"), "a", "[sep2672] origin for origin"),
    ],
)
def test_a_key_that_has_moved_is_found_and_told(told, text, place, value, now):
    settings = told(text)
    family, key = place
    assert settings.family_settings == {family: {key: value}}
    assert settings.sources.old == [f"mcp-approval.toml {now}"]


@pytest.mark.parametrize(
    "text",
    [
        'server-id = "a"\n[sep2672]\nserver-id = "b"\n',
        'page = "http://a.example"\n[sep2672.page]\nurl = "http://b.example"\n',
        "launch-timeout = 5\n[launch]\ntimeout = 6\n",
    ],
)
def test_both_spellings_at_once_are_an_error_with_the_new_one(told, text):
    with pytest.raises(SettingsError, match=r"^mcp-approval\.toml: got '.*' twice, expected .*\["):
        told(text)


def test_a_page_and_its_description_go_together(told):
    text = 'page = "http://a.example"\n[sep2672.page]\napprove = "#yes"\n'
    page = {"approve": "#yes", "url": "http://a.example"}
    assert told(text).family_settings == {"sep2672": {"page": page}}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[launch]\ntimout = 5\n", "[launch]: got 'timout', did you mean 'timeout'? expected "),
        ("[launch]\ntimeout = 'soon'\n", "[launch] timeout: got 'soon', expected seconds, "),
        ("launch-timeout = 'soon'\n", "[launch] timeout: got 'soon', expected seconds, up to"),
        ("timeout = 'soon'\n", "timeout: got 'soon', expected seconds, up to 3600"),
        ("launch = 5\n", "launch: got 5, expected a table [launch]"),
        ("sep2672 = 5\n", "sep2672: got 5, expected a table [sep2672]"),
        ("[tool]\nx = 5\n", "[tool] x: got 5, expected a table"),
        ("header = 5\n", "header: got 5, expected a table"),
        ("family = 5\n", "family: got 5, expected text"),
        ("strict = 'yes'\n", "strict: got 'yes', expected true or false"),
        ("[lanch]\ncommand = 'x'\n", "got 'lanch', did you mean 'launch'?"),
        ("report = 'a.doc'\n", "report: got 'a.doc', expected a file that ends in one of"),
        ("[launch.environment]\nA = true\n", "[launch.environment] A: expected text"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_place(told, text, line):
    with pytest.raises(SettingsError) as error:
        told(text)
    assert str(error.value).removeprefix("mcp-approval.toml").lstrip(": ").startswith(line)


def test_every_table_can_be_reached_from_the_command_line(told):
    settings = told(
        "[launch]\ntimeout = 5\n",
        set=["launch.timeout=6", "launch.environment.A=1", "sep2672.server-id=mine"],
        target=["stdio:x"],
    )
    assert settings.launch_timeout == 6.0
    assert settings.environment == {"A": "1"}
    assert settings.family_settings == {"sep2672": {"server-id": "mine"}}
    with pytest.raises(SettingsError, match=r"^--mcp-approval-set launch\.timeout: got 'soon'"):
        told(set=["launch.timeout=soon"])


def test_the_well_known_options_are_aliases(told):
    settings = told(launch="a b", directory=".", origin="http://a.example", server_id="i")
    assert settings.launch == "a b"
    assert settings.family_settings == {"sep2672": {"origin": "http://a.example", "server-id": "i"}}
    assert settings.sources.old == []


def test_an_alias_on_the_command_line_comes_first(told):
    settings = told("[sep2672]\nserver-id = 'file'\n", server_id="line")
    assert settings.family_settings == {"sep2672": {"server-id": "line"}}


FILE = """
[tool]
pay = { cents = 1 }
close = {}
[header]
A = "file"
[launch.environment]
B = "file"
C = "file"
"""


def test_a_table_on_the_command_line_adds_to_the_files_and_says_so(told):
    settings = told(
        FILE, tool=['pay={"cents": 2}', "open={}"], header=["a: line"], environment=["D=line"]
    )
    assert settings.tools == {"pay": {"cents": 2}, "close": {}, "open": {}}
    assert settings.headers == {"a": "line"}
    assert settings.environment == {"B": "file", "C": "file", "D": "line"}
    assert settings.additions == (
        ("tool", "pay, open from the command line, 1 more from mcp-approval.toml"),
        ("environment", "D from the command line, 2 more from mcp-approval.toml"),
    )
    assert told(FILE).additions == ()


def test_a_list_on_the_command_line_takes_the_place_of_the_files(told):
    assert told('family = "sep2672"', family=["gateway_consent"]).families == ("gateway_consent",)


def test_every_option_is_found_on_one_place_in_the_files():
    places = [option.place for option in OPTIONS if option.place]
    assert len(set(places)) == len(places)
