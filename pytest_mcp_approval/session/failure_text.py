"""How pytest shows a finding: all lines in the failures section, one line in the summary.

On a CI machine pytest prints the whole message in its short summary, and JUnit's XML uses it as the
title of the failure: both need a single line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from _pytest._code.code import TerminalRepr  # pytest checks for this class; it has no public name
from _pytest._io import TerminalWriter

from .start import ROOT


@dataclass(frozen=True)
class Headline:
    """The object from which pytest takes the one line of a failure."""

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
    """Report a failure that belongs to no test, so that counts, XML and exit code agree."""
    report = pytest.TestReport(
        nodeid=f"{ROOT}/{kind}::{name}",
        location=(f"{ROOT}/{kind}", None, name),
        keywords={},
        outcome="failed",
        longrepr=FailureText(line, line),
        when="call",
    )
    session.testscollected += 1
    _tell(session.config, report)


def tell_report(config: pytest.Config, told: Mapping[str, Any]) -> None:
    """Report a test that was made out of another one's report, by its attributes."""
    nodeid = told["nodeid"]
    place, _, name = nodeid.partition("::")
    report = pytest.TestReport(
        nodeid=nodeid,
        location=(place, None, name),
        keywords={},
        outcome=told["outcome"],
        longrepr=told["longrepr"],
        when="call",
    )
    for attribute, value in told.items():
        if value is not None and attribute not in ("nodeid", "outcome", "longrepr"):
            setattr(report, attribute, value)
    _tell(config, report)


def _tell(config: pytest.Config, report: pytest.TestReport) -> None:
    # No such test can be run again, so plugins that remember failures are not told.
    manager = config.pluginmanager
    deaf = [manager.getplugin(name) for name in ("lfplugin", "stepwiseplugin")]
    tell = manager.subset_hook_caller(
        "pytest_runtest_logreport", remove_plugins=[one for one in deaf if one is not None]
    )
    tell(report=report)
