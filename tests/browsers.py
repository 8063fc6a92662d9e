"""Which browser our own tests drive: what `pytest_mcp_approval.browser` finds and starts.

Without a browser they are skipped, except in CI, where they must run.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_mcp_approval.browser import NoBrowserError
from pytest_mcp_approval.browser import finding as _finding
from pytest_mcp_approval.browser.starting import started_browser

__all__ = ["HINT", "find_browser", "must_run", "started_browser"]

HINT = f"no browser found: {_finding.INSTALL_HINT}"
_MISSING = (_finding.INSTALL_HINT, _finding.PLAYWRIGHT_HINT, _finding.OPTION)


def find_browser() -> str | None:
    """The path of a browser; None if there is none."""
    try:
        return _finding.find_browser()
    except NoBrowserError:
        return None


def must_run(report: pytest.TestReport, call: pytest.CallInfo[Any]) -> None:
    """In CI a test that was skipped because there is no browser has failed."""
    if not (os.environ.get("CI") and report.skipped and call.excinfo is not None):
        return
    said = str(call.excinfo.value)
    if any(word in said for word in _MISSING):
        report.outcome = "failed"
        report.longrepr = f"in CI the tests with a browser have to run: {said}"
