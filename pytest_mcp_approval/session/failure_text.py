"""How pytest shows a finding: all lines where the failures are told, one line in the summary.

On a CI machine pytest prints the whole message in its short summary, and JUnit's XML takes it as
the title of the failure: both want one line.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from _pytest._code.code import TerminalRepr  # what pytest itself checks for; it has no public name
from _pytest._io import TerminalWriter

from .start import ROOT


@dataclass(frozen=True)
class Headline:
    """Where pytest looks for the one line of a failure."""

    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(eq=False)
class FailureText(TerminalRepr):
    """A finding, as the `longrepr` of a report."""

    text: str
    headline: str

    @property
    def reprcrash(self) -> Headline:
        return Headline(self.headline)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: TerminalWriter) -> None:
        tw.line(self.text)


def tell_failure(session: pytest.Session, kind: str, name: str, line: str) -> None:
    """A failed test for what no test can show, so that counts, XML and exit code say the same."""
    report = pytest.TestReport(
        nodeid=f"{ROOT}/{kind}::{name}",
        location=(f"{ROOT}/{kind}", None, name),
        keywords={},
        outcome="failed",
        longrepr=FailureText(line, line),
        when="call",
    )
    session.testscollected += 1
    # There is no such test to run again, so those who remember failures are not told.
    manager = session.config.pluginmanager
    deaf = [manager.getplugin(name) for name in ("lfplugin", "stepwiseplugin")]
    tell = manager.subset_hook_caller(
        "pytest_runtest_logreport", remove_plugins=[one for one in deaf if one is not None]
    )
    tell(report=report)
