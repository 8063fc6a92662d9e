"""Shows how far a run is: rules checked of all, by family, and how many have failed so far.

On a terminal it is one line, written again and again; elsewhere (CI, a file) a plain line when a
family is done, and now and then. It takes the place of pytest's letters if all tests of the run are
packaged checks. With -q and -v, and beside the user's own tests, pytest shows what it always does.
Makes no verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import pytest

from ..catalogue import Verdict
from ..catalogue.marking import rules_of
from ..report.results import ScenarioResult
from ..support.deadline import now
from .phase import Phase
from .start import ROOT

BETWEEN_LINES = 15.0
"""Seconds between two plain lines."""
_BETWEEN_REDRAWS = 0.1
_BAD = (Verdict.FAILED, Verdict.HARNESS_ERROR)


class Progress:
    """The hooks that count, and write."""

    def __init__(
        self,
        config: pytest.Config,
        noted: Sequence[Mapping[str, int]],
        clock: Callable[[], float] = now,
    ) -> None:
        self._config = config
        self._noted = noted
        """How many checks each rule has, as noted on reports: xdist's controller collects none."""
        self._now = clock
        self._collected: Counter[str] = Counter()
        self._checks: dict[str, set[str]] = {}
        """Of each rule, those that have ended."""
        self._done: set[str] = set()
        self._failed: set[str] = set()
        self._reporter: Any = None
        """pytest's, if it is to be written to."""
        self._is_drawn = False
        self._written = clock()

    # ---- what there is to do

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self._collected.update(rule.id for rule in rules_of(item))
        self._begin(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Iterable[str]) -> None:
        self._begin(ids)

    def _begin(self, ids: Iterable[str]) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        option = self._config.option
        alone = all(one.startswith(f"{ROOT}/") for one in ids)
        if alone and reporter is not None and option.verbose == 0 and not option.collectonly:
            # Paths and percentages belong to the letters.
            reporter.showfspath = reporter._show_progress_info = False
            self._reporter = reporter

    def note_checks(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """A verdict step: tell the controller once how many checks there are."""
        if self._collected:
            phase.note("checks", dict(self._collected))
            self._collected.clear()
        return result

    # ---- what is done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Generator[None, Any, Any]:
        status = yield
        if self._reporter is not None and hasattr(report, "mcp_approval"):
            category, _, word = status
            return category, "", word
        return status

    def hear(self, result: ScenarioResult) -> None:
        """One more check has ended."""
        if self._reporter is None or not self._noted:
            return
        finished = False
        for rule in result.rules:
            seen = self._checks.setdefault(rule, set())
            seen.add(result.scenario)
            if result.verdict in _BAD:
                self._failed.add(rule)
            if rule not in self._done and len(seen) >= self._noted[0].get(rule, 0):
                self._done.add(rule)
                finished = True
        family = result.rules[0].partition("/")[0]
        part, whole = self._of(family)
        self._show(family, over=finished and part == whole)

    def _of(self, family: str) -> tuple[int, int]:
        inside = f"{family}/"
        return tuple(  # type: ignore[return-value]
            sum(rule.startswith(inside) for rule in rules) for rules in (self._done, self._noted[0])
        )

    def _show(self, family: str, *, over: bool) -> None:
        waited = self._now() - self._written
        if self._reporter.isatty:
            if over or waited >= _BETWEEN_REDRAWS or not self._is_drawn:
                width = self._reporter._tw.fullwidth - 1
                self._reporter.rewrite(self._line(family)[:width], erase=True)
                self._reporter.flush()
                self._is_drawn, self._written = True, self._now()
        elif over or waited >= BETWEEN_LINES:
            self._reporter.write_line(self._line(family))
            self._reporter.flush()
            self._written = self._now()

    def _line(self, family: str) -> str:
        """The most important first, and all within 80 columns."""
        part, whole = self._of(family)
        rules = len(self._noted[0])
        bad = f"{len(self._failed)} failed" if self._failed else "none failed"
        return (
            f"mcp-approval  {len(self._done)} of {rules} rule{'' if rules == 1 else 's'} checked, "
            f"{bad}; {family} {part} of {whole}"
        )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            if self._is_drawn:
                self._reporter.rewrite("", erase=True)
                self._reporter.write("\r", flush=True)
                self._is_drawn = False
