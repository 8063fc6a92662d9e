"""An unknown name is never ignored: one line says so, with the nearest known name."""

from __future__ import annotations

import pytest

RULE = "sep2672/4.8-03-method"
QUICK = (f"--mcp-approval-select={RULE}", "--mcp-approval-timeout=5")


def line_about(result: pytest.RunResult, word: str) -> str:
    """The one line that has this word in it."""
    text = result.stdout.str() + result.stderr.str()
    assert result.ret in (4, 10), text
    assert "Traceback" not in text
    found = [line for line in text.splitlines() if word in line]
    assert found, text
    return found[0]


def test_each_pattern_must_be_like_some_rule(suite):
    result = suite.run(
        f"--mcp-approval-select={RULE}", "--mcp-approval-select=sep2672/4.8-11-count"
    )
    assert result.ret == 4
    assert "did you mean 'sep2672/4.8-11-counter'?" in line_about(result, "4.8-11-count")


def test_a_pattern_of_a_family_that_is_left_out_is_told(suite):
    result = suite.run(
        f"--mcp-approval-select={RULE}",
        "--mcp-approval-select=prepare_confirm/*",
        "--mcp-approval-family=sep2672",
    )
    assert "prepare_confirm/*" in line_about(result, "is no rule's id")


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [
        ("--mcp-approval-family=sep2627", "sep2627", "sep2672"),
        ("--mcp-approval-effects=tool:list_efects", "tool:list_efects", "list_effects"),
        ("--mcp-approval-tool=wipe_cash={}", "wipe_cash", "wipe_cache"),
        ("--mcp-approval-browser=chromum", "chromum", "chromium"),
        ("--mcp-approval-set=sep2672.pge.enrol=button", "pge", "page"),
        ("--mcp-approval-set=sep2672.page.enroll=button", "enroll", "enrol"),
    ],
)
def test_a_name_on_the_command_line(suite, option, name, meant):
    line = line_about(suite.run(*QUICK, option), f"got {name!r}")
    assert f"did you mean {meant!r}?" in line


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("[sep2672.pge]\nenrol = 'button'\n", "pge", "page"),
        ("[sep267]\nx = 1\n", "sep267", "sep2672"),
        ("[prepare_confirm]\nhelt = 'x'\n", "helt", "held"),
        ("[execution_tokens]\ntol = 'x'\n", "tol", "tool"),
        ("[gateway_consent]\npersn = 'x'\n", "persn", "person"),
        ("efects = 'tool:list_effects'\n", "efects", "effects"),
    ],
)
def test_a_name_in_the_file(suite, text, name, meant):
    (suite.pytester.path / "mcp-approval.toml").write_text(text)
    family = text[1:].partition("]")[0].partition(".")[0]
    rule = RULE if family.startswith(("sep", "fects")) else f"{family}/*"
    line = line_about(suite.run(f"--mcp-approval-select={rule}"), f"got {name!r}")
    assert f"did you mean {meant!r}?" in line


def test_a_table_of_confirmation_tokens(suite):
    (suite.pytester.path / "mcp-approval.toml").write_text("[confirmation_tokens]\npatince = 1\n")
    line = line_about(suite.run("--mcp-approval-select=confirmation_tokens/*"), "patince")
    assert "did you mean 'patience'?" in line


@pytest.mark.parametrize("table", ["mcp-aproval", "mcp_approval", "pytest-mcp-approval"])
def test_a_misspelt_table_of_pyproject(suite, table):
    suite.pytester.makepyprojecttoml(f'[tool.{table}]\nstrict = true\n[tool.other]\nx = "y"\n')
    line = line_about(suite.run(*QUICK), f"[tool.{table}]")
    assert "expected [tool.mcp-approval]" in line


def test_a_command_that_repeats_what_it_reads_is_no_server(suite):
    result = suite.run(*QUICK, target="stdio:cat")
    assert result.ret == 10
    assert "not an MCP server" in line_about(result, "repeats what it reads")


def test_known_names_are_left_alone(suite):
    suite.pytester.makepyprojecttoml("[tool.approvals]\nx = 1\n[tool.mcp]\ny = 1\n")
    options = ("--mcp-approval-effects=tool:list_effects", "--mcp-approval-tool=wipe_cache={}")
    assert suite.run(*QUICK, *options).ret == 0
