"""Compares two runs: what got better, what got worse, what is new.

Rules are compared by their ids, which never change. The JSON report of the earlier run may come
from somebody else, so it is checked. Knows no pytest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..catalogue import Verdict
from ..config.options import PREFIX
from ..config.report_files import read_own
from .shown import phrase

FORMAT = "mcp-approval-report"
VERSION = 2
_READABLE = (1, VERSION)
"""The parts that are read are the same in both versions."""

_GOODNESS = {
    Verdict.PASSED: 5,
    Verdict.NOT_APPLICABLE: 5,
    Verdict.WARNING: 4,
    Verdict.NOT_VERIFIED: 3,
    Verdict.HARNESS_ERROR: 2,
    Verdict.KNOWN: 1,
    Verdict.FAILED: 0,
}


@dataclass(frozen=True)
class Earlier:
    """What is needed of an earlier run."""

    name: str
    started: str
    target: str
    rules: Mapping[str, tuple[Verdict, int]]
    """Each rule's verdict, and how many of its scenarios failed."""


@dataclass(frozen=True)
class Change:
    """A rule with another verdict or count than before."""

    rule: str
    before: Verdict | None
    after: Verdict | None
    note: str = ""

    @property
    def what(self) -> str:
        return self.note or f"{self.before or 'not there'} → {self.after or 'not there'}"

    def __str__(self) -> str:
        return f"{self.rule}: {self.what}"


@dataclass
class Comparison:
    """What has changed since the earlier run."""

    earlier: Earlier
    better: list[Change] = field(default_factory=list)
    worse: list[Change] = field(default_factory=list)
    other: list[Change] = field(default_factory=list)
    """Neither: a failure that is no longer checked, a rule that is new or gone."""
    unchanged: int = 0

    @property
    def sentence(self) -> str:
        counts = ((self.better, "better"), (self.worse, "worse"), (self.other, "otherwise changed"))
        told = [f"{len(changes)} {word}" for changes, word in counts if changes]
        return " · ".join([*told, f"{self.unchanged} unchanged"])


def read_earlier(path: Path, name: str, asked_by: str = f"{PREFIX}compare") -> Earlier:
    """The JSON report of an earlier run; `SettingsError` if the file is none."""

    def earlier(data: dict[str, Any]) -> Earlier:
        run = data["run"]
        rules = {str(rule["id"]): _judged(rule) for rule in data["rules"]}
        return Earlier(name, str(run["started"]), str(run["target"]), rules)

    wanted = "a report that ends in .json of an earlier run"
    return read_own(asked_by, path, name, wanted, FORMAT, _READABLE, earlier)


def _judged(rule: Mapping[str, Any]) -> tuple[Verdict, int]:
    checks = rule["checks"]
    failed = sum(int(checks.get(verdict, 0)) for verdict in (Verdict.FAILED, Verdict.KNOWN))
    return Verdict(rule["verdict"]), failed


def compare(earlier: Earlier, now: Mapping[str, tuple[Verdict, int]]) -> Comparison:
    """What became of each rule that either run has checked."""
    found = Comparison(earlier)
    for rule in dict.fromkeys((*now, *earlier.rules)):
        before, failed_before = earlier.rules.get(rule, (None, 0))
        after, failed_after = now.get(rule, (None, 0))
        if before is None or after is None:
            found.other.append(Change(rule, before, after))
        elif before is not after:
            _side(found, before, after).append(Change(rule, before, after))
        elif failed_before != failed_after and before in (Verdict.FAILED, Verdict.KNOWN):
            told = f"{failed_before} → {phrase(failed_after, after)} of its checks"
            side = found.better if failed_after < failed_before else found.worse
            side.append(Change(rule, before, after, told))
        else:
            found.unchanged += 1
    return found


def _side(found: Comparison, before: Verdict, after: Verdict) -> list[Change]:
    if _GOODNESS[after] < _GOODNESS[before]:
        return found.worse
    # A failure that can no longer be checked is not fixed, nor is one that was excused.
    settled = (Verdict.PASSED, Verdict.NOT_APPLICABLE, Verdict.WARNING)
    better = _GOODNESS[after] > _GOODNESS[before] and after in settled
    return found.better if better else found.other
