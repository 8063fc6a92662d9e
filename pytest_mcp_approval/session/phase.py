"""One phase of a scenario: what pytest says of it once it has run, and what was recorded in it.

This is what every verdict step looks at. Knows no settings and makes no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..catalogue import Requirement
from ..config.markers import MARKER
from ..report.results import ScenarioResult
from ..support import recording
from ..target import Target

KEPT_FILES: pytest.StashKey[list[Path]] = pytest.StashKey()
"""Of a test that failed: what was kept of its page (`browser_use`)."""
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
        """The server, if the scenario came so far as to have it."""
        found = getattr(self.item, "funcargs", {}).get("approval_turn")
        return found if isinstance(found, Target) else None

    @property
    def record(self) -> recording.Recording | None:
        """What happened in the scenario so far."""
        return self.item.stash.get(_RECORD, None)

    def drop_record(self) -> None:
        """When it has been told: items live as long as the run."""
        if _RECORD in self.item.stash:
            del self.item.stash[_RECORD]

    def skip(self, why: str) -> None:
        """What is not verified is to pytest what a skipped test is."""
        self.report.outcome = "skipped"
        self.report.longrepr = (str(self.item.path), 0, f"Skipped: {why}")


Step = Callable[[ScenarioResult, Phase], ScenarioResult]
"""A verdict step: the same result, or another one, with the report put right."""


def recorded(item: pytest.Item) -> Generator[None, Any, Any]:
    """Around one phase: everything that happens goes into the scenario's record."""
    if item.get_closest_marker(MARKER) is None:
        return (yield)
    recording.resume(item.stash.setdefault(_RECORD, recording.Recording()))
    try:
        return (yield)
    finally:
        recording.end()
