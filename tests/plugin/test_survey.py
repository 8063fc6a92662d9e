"""Tools that look destructive and ask nobody are in the header and in every report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.families.least_server import Application, serve

TOOLS = (
    *("prepare_close", "confirm_close", "purge_cache", "list_closed", "delete_<b>`|"),
    *("files:delete", "wipe_disk"),
)
TARGET = "python:tests.plugin.test_survey:factory"


def factory() -> Application:
    """Two-step tools that nobody may run, and others."""

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{name} was called with {arguments}")

    return serve("desk", TOOLS, call)


def only_silent() -> Application:
    """A server of which nothing shows how it asks."""

    def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError(f"{name} was called with {arguments}")

    return serve("desk", ("purge_cache", "list_closed"), call)


def test_a_server_that_shows_nothing_is_told_what_to_try(suite):
    result = suite.run("mcp-approval/", target="python:tests.plugin.test_survey:only_silent")
    assert result.ret == 10, result.stdout.str()
    said = result.stdout.str() + result.stderr.str()
    assert "Does purge_cache ask by elicitation?" in said
    assert "--mcp-approval-tool 'purge_cache={...}'" in said


def test_they_are_told_everywhere_and_never_called(suite, tmp_path: Path):
    reports = [f"--mcp-approval-report={tmp_path / name}" for name in ("r.json", "r.html", "r.md")]
    select = "--mcp-approval-select=prepare_confirm/preview"
    asks = "--mcp-approval-set=elicitation.tools.wipe_disk.approves='confirm'"
    result = suite.run("mcp-approval/", select, asks, *reports, target=TARGET)
    assert result.ret == 10, result.stdout.str()  # nothing was approved; that is all
    [line] = [one for one in result.outlines if " silent " in one]
    assert "purge_cache, delete_<b>`|" in line
    assert line.endswith("nothing shows that anybody is asked (looked for: prepare_confirm)")
    # Neither what was found gated, nor what other families know by its name or by the settings.
    assert not [one for one in ("prepare_close", "files:delete", "wipe_disk") if one in line]
    told = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["run"]["silentTools"]
    assert [one["name"] for one in told] == ["purge_cache", "delete_<b>`|"]
    assert "purge_cache, delete_&lt;b&gt;`|" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "purge_cache, delete_<b>`¦" in (tmp_path / "r.md").read_text(encoding="utf-8")
