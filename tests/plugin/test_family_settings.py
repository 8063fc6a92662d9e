"""Settings of one family: a table in a file, or FAMILY.KEY=VALUE on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import SettingsError, read_settings

FILE = """
target = "reference"
[sep2672]
colour = "red"
[sep2672.deep]
number = 1
"""


def test_a_table_of_a_file_reaches_the_family(tmp_path: Path):
    (tmp_path / "mcp-approval.toml").write_text(FILE)
    settings = read_settings({}, tmp_path, tmp_path)
    assert settings.family_settings == {"sep2672": {"colour": "red", "deep": {"number": 1}}}


def test_the_command_line_adds_to_it_and_comes_first(tmp_path: Path):
    (tmp_path / "mcp-approval.toml").write_text(FILE)
    given = {"set": ["sep2672.colour=[1, true]", "sep2672.deep.text=plain words"]}
    settings = read_settings(given, tmp_path, tmp_path)
    assert settings.family_settings["sep2672"] == {
        "colour": [1, True],
        "deep": {"number": 1, "text": "plain words"},
    }


@pytest.mark.parametrize("text", ["sep2672.x", "sep2672=1", "nobody.x=1", "sep2672..x=1", "=", ""])
def test_what_names_no_setting_is_one_clear_line(tmp_path: Path, text: str):
    with pytest.raises(SettingsError, match=r"--mcp-approval-set: got .*expected FAMILY\.KEY="):
        read_settings({"set": [text]}, tmp_path, tmp_path)


def test_a_table_of_no_family_is_refused(tmp_path: Path):
    (tmp_path / "mcp-approval.toml").write_text("[nobody]\nx = 1\n")
    with pytest.raises(SettingsError, match=r"mcp-approval\.toml: got 'nobody'"):
        read_settings({}, tmp_path, tmp_path)


def test_the_file_where_the_user_started_comes_before_the_roots(tmp_path: Path):
    inner = tmp_path / "server"
    inner.mkdir()
    (tmp_path / "mcp-approval.toml").write_text('target = "reference"')
    assert read_settings({}, tmp_path, inner).targets == ("reference",)
    (inner / "mcp-approval.toml").write_text('target = "stdio:serve"')
    assert read_settings({}, tmp_path, inner).targets == ("stdio:serve",)
