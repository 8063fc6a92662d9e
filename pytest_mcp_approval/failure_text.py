"""How pytest shows a finding: all lines where the failures are told, one line in the summary.

On a CI machine pytest prints the whole message in its short summary, and JUnit's XML takes it as
the title of the failure: both want one line.
"""

from __future__ import annotations

from dataclasses import dataclass

from _pytest._code.code import TerminalRepr  # what pytest itself checks for; it has no public name
from _pytest._io import TerminalWriter


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
