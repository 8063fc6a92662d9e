"""One phase of a scenario: what pytest says about it after it ran, and what was recorded in it.

Every verdict step looks at it. Knows no settings and makes no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ..catalogue import Requirement, Verdict
from ..config.markers import MARKER
from ..report.results import ScenarioResult
from ..support import recording
from ..target import Target

KEPT_FILES: pytest.StashKey[list[Path]] = pytest.StashKey()
"""What was kept of the page of a failed test (`browser_use`)."""
NOTES = "mcp_approval_notes"
"""The attribute of a report in which the verdict steps note what the end of the run says."""
_RECORD: pytest.StashKey[recording.Recording] = pytest.StashKey()


@dataclass(frozen=True)
class Phase:
    """Setup or call of a scenario, as it ended."""

    item: pytest.Item
    call: pytest.CallInfo[Any]
    report: pytest.TestReport
    rules: list[Requirement]

    @property
    def error(self) -> BaseException | None:
        return self.call.excinfo.value if self.call.excinfo is not None else None

    @property
    def target(self) -> Target | None:
        """The server, if the scenario got far enough to have it."""
        found = getattr(self.item, "funcargs", {}).get("approval_turn")
        return found if isinstance(found, Target) else None

    @property
    def record(self) -> recording.Recording | None:
        """What happened in the scenario so far."""
        return self.item.stash.get(_RECORD, None)

    def drop_record(self) -> None:
        """Drop it once it was reported, because items live as long as the run."""
        if _RECORD in self.item.stash:
            del self.item.stash[_RECORD]

    def not_verified(self, result: ScenarioResult, why: str) -> ScenarioResult:
        """The result without a verdict, for this reason. pytest shows it as a skipped test."""
        self.report.outcome = "skipped"
        self.report.longrepr = (str(self.item.path), 0, f"Skipped: {why}")
        return replace(result, verdict=Verdict.NOT_VERIFIED, why=why, evidence=None)

    def note(self, name: str, value: Any) -> None:
        """Attach plain data to the report. xdist ships it, and `RunHooks` collects it in the
        run's notes."""
        vars(self.report).setdefault(NOTES, {})[name] = value


def keep_record(item: pytest.Item, record: recording.Recording) -> None:
    """This is what happened in the scenario of an item."""
    item.stash[_RECORD] = record


Step = Callable[[ScenarioResult, Phase], ScenarioResult]
"""A verdict step: returns the same result or another one, and adjusts the report."""


def recorded(item: pytest.Item) -> Generator[None, Any, Any]:
    """Around one phase: put everything that happens into the scenario's recording."""
    if item.get_closest_marker(MARKER) is None:
        return (yield)
    recording.resume(item.stash.setdefault(_RECORD, recording.Recording()))
    try:
        return (yield)
    finally:
        recording.end()
