"""Keeps secrets out of pytest's own output: its reports, from which the terminal, JUnit's XML and
other plugins take what they show, and every line that it writes to the terminal.

Hiding secrets in the reports is what matters most; the terminal's writer is a safety net.
`support.secrets` knows what secrets are and how to find them.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from ..support.secrets import Secrets, forget, hide, keep


def be_discreet(config: pytest.Config, secrets: Secrets) -> None:
    """Hide these secrets from now on, until this session ends."""
    keep(secrets)
    config.add_cleanup(lambda: forget(secrets))
    config.pluginmanager.register(Discretion(config), "mcp-approval-discretion")


class Discretion:
    """The hooks of a session with secrets."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._watched = False
        self._watch_terminal()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self._watch_terminal()

    def _watch_terminal(self) -> None:
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        if reporter is None or self._watched:  # not there yet; in a worker, never
            return
        self._watched = True
        writer = reporter._tw
        write = writer.write

        def write_hidden(msg: str, **markup: Any) -> None:
            write(hide(msg), **markup)

        writer.write = write_hidden
        self.config.add_cleanup(lambda: setattr(writer, "write", write))

    # Outermost, so that all other plugins are done with the report.

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        hide_in_report(report)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        hide_in_report(report)
        return report


def hide_in_report(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Hides secrets in its text, its captured output and its xfail reason."""
    report.sections = [(name, hide(text)) for name, text in report.sections]
    known = getattr(report, "wasxfail", None)
    if known:
        report.wasxfail = hide(known)  # type: ignore[union-attr]
    shown = report.longrepr
    if shown is None:
        return
    if isinstance(shown, tuple):
        path, line, reason = shown
        report.longrepr = (path, line, hide(reason))
        return
    text = str(shown)
    hidden = hide(text)
    if hidden == text:
        return
    if is_dataclass(shown):
        # Part by part, so that it keeps its layout and its line in the summary.
        _hide_inside(shown)
        if hide(str(shown)) == str(shown):
            return
    report.longrepr = hidden


def _hide_inside(value: Any) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_hide_inside, value))
    if is_dataclass(value) and not isinstance(value, type):
        for member in fields(value):
            object.__setattr__(value, member.name, _hide_inside(getattr(value, member.name)))
    return value
