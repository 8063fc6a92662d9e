"""Which scenarios run through which lines: only those can notice that a line is broken.

Measured once on the healthy reference, with one line tracer in every thread. What runs only when
pytest collects or looks at the target beforehand belongs to every scenario.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.inner_session import InnerSession

Line = tuple[str, int]
BEFOREHAND = ""
"""In the place of a scenario: the look at the target before the first of them."""


class Lines:
    """A plugin, and a tracer: the lines that each scenario runs."""

    def __init__(self, files: Collection[str]) -> None:
        self.found: dict[str, set[Line]] = {BEFOREHAND: set()}
        self.seconds: dict[str, float] = {}
        self.verdicts: dict[str, str] = {}
        self._files = set(files)
        self._now = self.found[BEFOREHAND]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now = self.found.setdefault(item.nodeid, set())
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if result := getattr(report, "mcp_approval", None):
            self.seconds[report.nodeid] = report.duration
            self.verdicts[report.nodeid] = result["verdict"]

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._now.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


@contextlib.contextmanager
def _traced(lines: Lines) -> Iterator[None]:
    before = sys.gettrace()
    threading.settrace(lines.trace)
    sys.settrace(lines.trace)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(None)


def covering(session: InnerSession, files: Collection[Path], **options: Any) -> Lines:
    """One run of all scenarios that these options select."""
    lines = Lines({str(path) for path in files})
    with _traced(lines):
        session.judge(lines, **options)
    return lines


def scenarios_for(place: Line, lines: Mapping[str, set[Line]]) -> list[str]:
    """The scenarios that run through a line; all of them if it also runs beforehand only."""
    through = [name for name, found in lines.items() if name and place in found]
    if not through and place in lines[BEFOREHAND]:
        return [name for name in lines if name]
    return through
