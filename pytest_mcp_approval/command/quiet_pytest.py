"""Keeps what pytest says about itself out of the command's output: its banner, its versions and
folders, how many items it collected, and its own last lines, which count checks where the suite
counts rules. What the suite says stays. A plugin, only for runs that the command starts."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_RUN = "mcp-approval-run"
"""The name of the plugin that runs the scenarios."""


class QuietPytest:
    """The hooks. With -v pytest says everything."""

    def __init__(self) -> None:
        self._wanted = False
        self._reporter: Any = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, None, None]:
        config = session.config
        self._reporter = config.pluginmanager.getplugin("terminalreporter")
        self._wanted = self._reporter is not None and config.option.verbose == 0
        if not self._wanted:
            return (yield)
        config.option.verbose = -1  # pytest leaves out its banner and its header
        try:
            yield
        finally:
            config.option.verbose = 0
        self._hush()
        run = config.pluginmanager.getplugin(_RUN)
        for line in run.pytest_report_header() if run is not None else ():
            self._reporter.write_line(line)
        self._reporter.flush()

    def _hush(self) -> None:
        self._reporter.report_collect = self._forget_collection
        self._reporter.summary_stats = lambda: None

    def _forget_collection(self, final: bool = False) -> None:
        if final and self._reporter.isatty:  # over "collecting ..."
            self._reporter.rewrite("", erase=True)
            self._reporter.write("\r", flush=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: Any) -> Generator[None, Any, Any]:
        found = yield
        if isinstance(excinfo.value, pytest.exit.Exception) and self._reporter is not None:
            # Its message has been written; pytest would repeat it between exclamation marks.
            self._reporter._keyboardinterrupt_memo = None
        return found
