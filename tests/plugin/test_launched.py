"""Whole runs against a server that the suite launches, and whose effects it serves itself."""

from __future__ import annotations

import shlex
import sys

from tests.inner_runs import Verdicts

REFERENCE = f"{shlex.quote(sys.executable)} -m pytest_mcp_approval.reference_server"
OPTIONS = [
    f"--mcp-approval-launch={REFERENCE} --http localhost:{{port}} --store sqlite:{{state}}/db",
    "--mcp-approval-effects=http://localhost:{port}/effects",
    "--mcp-approval-family=sep2672",
    "--mcp-approval-generate-arguments",
    "--mcp-approval-origin=http://localhost",
    "--mcp-approval-timeout=30",
    "--mcp-approval-browser=none",
    "--mcp-approval-clock=none",
]


def test_effects_are_not_read_before_a_restarted_server_is_up(suite):
    listening = Verdicts()
    result = suite.run(
        *OPTIONS,
        "--mcp-approval-select=sep2672/8.2.3-exactly-once",
        *("-k", "restart"),
        target="http://localhost:{port}/mcp",
        plugins=[listening],
    )
    told = [one["verdict"] for one in listening.found if not one["minor"]]
    assert told.count("passed") == len(told) >= 2, result.stdout.str()
    assert result.ret == 0
    assert "broke off during the run" not in result.stdout.str()
