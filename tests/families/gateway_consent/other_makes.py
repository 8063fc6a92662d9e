"""Runs the suite on a gateway that is not ours, which is a program and a table; no tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inner_runs import Verdicts, plugin_options


def judge_program(
    pytester: pytest.Pytester, command: str, table: str, *options: str, flags: str = ""
) -> tuple[pytest.RunResult, list[dict[str, Any]]]:
    """How the run ended, and what it says about each check; `flags` are options of the program."""
    table = table.replace("COMMAND", command).replace("{state}", f"{{state}} {flags}".strip(), 1)
    (pytester.path / "mcp-approval.toml").write_text(table, encoding="utf-8")
    listener = Verdicts()
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval",
        "--mcp-approval-family=gateway_consent",
        "--mcp-approval-browser=none",
        *options,
        plugins=[listener],
    )
    return result, listener.found
