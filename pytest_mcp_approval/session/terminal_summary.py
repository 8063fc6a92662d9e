"""Keeps pytest's own failures section from repeating what the summary shows by cause.

pytest still counts the failed checks, and its short summary still has a line for each. Knows
neither results nor files.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from .failure_text import FailureText

_EVERY_CHECK = 2
"""With -vv pytest shows each failed check in full."""


class FailuresByCause:
    """Hides the failed checks while pytest shows failures, unless details were asked for."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self._wanted = option.tbstyle in ("auto", "no") and option.verbose < _EVERY_CHECK
        self._stats: dict[str, list[Any]] = {}
        self._failed: list[Any] = []
        """All that pytest counts as failed, to be put back."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        self._stats = terminalreporter.stats
        self._failed = self._stats.get("failed", [])
        others = [one for one in self._failed if not _is_finding(one)]
        if self._wanted and len(others) < len(self._failed):
            self._stats["failed"] = others
        try:
            return (yield)
        finally:
            self.hand_back()

    def hand_back(self) -> None:
        """Put them back for what follows the failures section: the short summary and the counts."""
        if self._failed:
            self._stats["failed"] = self._failed


def _is_finding(report: Any) -> bool:
    """Whether it is a check with a finding, and not a test that failed otherwise."""
    return hasattr(report, "mcp_approval") and isinstance(report.longrepr, FailureText)
