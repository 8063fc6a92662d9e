"""Settings of one family: a table in a file, or FAMILY.KEY=VALUE on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcp_approval.config.options import OPTIONS
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
    with pytest.raises(SettingsError, match=r"--mcp-approval-set: got .*expected TABLE\.KEY="):
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


# ---- in a run


def test_what_help_shows_of_ours_fits_one_screen(suite, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = suite.run("--help", target=None).stdout.str()
    _, _, ours = text.partition("conformance of human approval")
    shown = ours.partition("\n\n")[0]
    assert len(shown.splitlines()) <= 44
    assert "--mcp-approval-set=TABLE.KEY=VALUE" in shown
    for option in OPTIONS:
        assert (f"--mcp-approval-{option.name}" in shown) or option.hidden, option.name
    for alias in ("origin", "page", "server-id", "launch", "environment", "directory"):
        assert f"--mcp-approval-{alias}=" not in shown


OLD = """
origin = "http://localhost"
[tool]
wipe_cache = {}
[confirmation_tokens]
other_adapter = { tool = "mcp_aql_archive" }
"""


def test_the_header_tells_old_spellings_and_what_was_added(suite):
    (suite.pytester.path / "mcp-approval.toml").write_text(OLD)
    result = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method",
        '--mcp-approval-tool=delete_resource={"resourceId": "test-1"}',
    )
    assert result.ret == 0
    text = result.stdout.str()
    lines = [line for line in text.splitlines() if " for origin" in line]
    assert len(lines) == 1, text
    assert "write mcp-approval.toml [sep2672] origin for origin" in lines[0]
    assert "[confirmation_tokens] other-adapter for other_adapter" in lines[0]
    assert "delete_resource from the command line, 1 more from mcp-approval.toml" in text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[tool]\nwipe_cash = {}\n", r"[tool]: got 'wipe_cash', which the server does not list"),
        # Of a family that is not looked for.
        ("[gateway_consent]\nperson = 5\n", "[gateway_consent] person: got 5, expected page, "),
        ("[sep2672]\nserver_idd = 'x'\n", "[sep2672]: got 'server_idd', did you mean 'server-id'?"),
        ("[sep2672]\npage = '127.0.0.1'\n", "[sep2672.page] url: got '127.0.0.1', expected a URL"),
    ],
)
def test_what_is_wrong_in_a_table_stops_the_run(suite, text: str, line: str):
    (suite.pytester.path / "mcp-approval.toml").write_text(text)
    result = suite.run("--mcp-approval-select=sep2672/4.8-03-method")
    assert result.ret == 10
    assert f"mcp-approval.toml {line}" in result.stdout.str()
