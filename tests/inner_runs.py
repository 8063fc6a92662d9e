"""pytest runs inside a test: which plugin, and what must be loaded before.

An inner run in this process drops the modules that it was first to load, and a second copy of a
compiled module is a stranger to the first: what is heavy is loaded here, once.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import pytest

HEAVY = (
    "pytest_mcp_approval.families.confirmation_tokens.fixtures",
    "pytest_mcp_approval.families.confirmation_tokens.preflight",
    "pytest_mcp_approval.families.execution_tokens.fixtures",
    "pytest_mcp_approval.families.execution_tokens.preflight",
    "pytest_mcp_approval.families.prepare_confirm.fixtures",
    "pytest_mcp_approval.families.sep2672.fixtures",
    "pytest_mcp_approval.preflight",
    "pytest_mcp_approval.reference_server.prepare_confirm.sql_state",
    "pytest_mcp_approval.reference_server.confirmation_tokens.sql",
    "pytest_mcp_approval.reference_server.execution_tokens.nonce_store",
    "pytest_mcp_approval.reference_server.stores.sql",
    "pytest_mcp_approval.report.html",
    "pytest_mcp_approval.run",
    "pytest_mcp_approval.target.reference",
    "virtual_authenticator.cdp",
    "virtual_authenticator.certificates",
    "virtual_authenticator.client_extensions",
    "virtual_authenticator.faults",
)
for name in HEAVY:
    import_module(name)


def plugin_options() -> list[str]:
    """Our plugin and no other that loads slowly. In a bare checkout ours has to be named."""
    others = ["-p", "no:hypothesispytest", "-p", "no:anyio"]
    # These collect garbage around every run, which in a process this large takes half a second.
    others += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
    known = {one.value for one in entry_points(group="pytest11")}
    if "pytest_mcp_approval.plugin" in known:
        return others
    return [*others, "-p", "pytest_mcp_approval.plugin"]


class Verdicts:
    """Sits in an inner run and listens."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        result = getattr(report, "mcp_approval", None)
        if result is not None:
            self.found.append(result)
