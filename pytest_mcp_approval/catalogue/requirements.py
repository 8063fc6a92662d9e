"""Loads `requirements.toml`, one file a family, which stands beside the family's scenarios.

Knows nothing of pytest and of how a rule is tested. Full ids are `family/section-slug`; they
select, baseline and replay, and never change.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

_STEP = re.compile(r"(?P<section>[0-9.]+)-(?P<step>[0-9]{2})-")
_SECTION = re.compile(r"(?P<section>[0-9][0-9.]*)-")
_LEVELS = ("MUST", "SHOULD", "MAY")


class UnknownRequirementError(LookupError):
    """No rule has this id."""


@dataclass(frozen=True)
class Requirement:
    """One rule of one specification."""

    id: str
    """The full id, for example `sep2672/4.8-11-counter`."""
    family: str
    level: str
    party: str
    rule: str
    """What is asked, in a line."""
    watch: str
    """What a scenario does and sees."""
    needs: tuple[str, ...]
    fault: str
    document: str

    @property
    def name(self) -> str:
        """The id within its family."""
        return self.id.partition("/")[2]

    @property
    def section(self) -> str:
        """The section alone, for example `4.8`."""
        found = _SECTION.match(self.name)
        return found["section"] if found else ""

    @property
    def place(self) -> str:
        """Where the rule stands, for example `SEP-2672 §4.8 step 11`."""
        step = _STEP.match(self.name)
        if step:
            return f"{self.document} §{step['section']} step {int(step['step'])}"
        return f"{self.document} §{self.section}" if self.section else self.document


@dataclass(frozen=True)
class Catalogue:
    """All rules of one family, and how the suite reads its document where that is unclear."""

    family: str
    document: str
    readings: tuple[str, ...]
    requirements: Mapping[str, Requirement]

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirements.values())

    def __len__(self) -> int:
        return len(self.requirements)

    def __getitem__(self, full_id: str) -> Requirement:
        if full_id not in self.requirements:
            raise UnknownRequirementError(f"got {full_id!r}, expected an id of {self.family}")
        return self.requirements[full_id]


def scenarios_folder() -> Path:
    """Where the scenarios are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


@cache
def families() -> tuple[str, ...]:
    """The families that have scenarios here."""
    return tuple(
        sorted(found.parent.name for found in scenarios_folder().glob("*/requirements.toml"))
    )


@cache
def catalogue(family: str) -> Catalogue:
    """The catalogue of one family."""
    path = scenarios_folder() / family / "requirements.toml"
    if not path.is_file():
        raise UnknownRequirementError(
            f"got family {family!r}, expected one of {', '.join(families())}"
        )
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    document = data["document"]
    rules = [_requirement(family, document, row) for row in data["requirement"]]
    known = {rule.id: rule for rule in rules}
    if len(known) != len(rules):
        raise ValueError(f"{path.name} of {family}: an id stands twice")
    return Catalogue(family, document, tuple(data["readings"]), known)


@cache
def covered(family: str) -> frozenset[str]:
    """The rules of a family that some packaged scenario names."""
    found: set[str] = set()
    for path in (scenarios_folder() / family).glob("test_*.py"):
        found.update(re.findall(rf'"({family}/[^"]+)"', path.read_text(encoding="utf-8")))
    return frozenset(found)


def _requirement(family: str, document: str, row: Mapping[str, Any]) -> Requirement:
    if row["level"] not in _LEVELS:
        raise ValueError(f"{row['id']}: got level {row['level']!r}, expected {', '.join(_LEVELS)}")
    return Requirement(
        id=f"{family}/{row['id']}",
        family=family,
        level=row["level"],
        party=row.get("party", "server"),
        rule=row.get("rule", row["watch"]),
        watch=row["watch"],
        needs=tuple(row.get("needs", ())),
        fault=row["fault"],
        document=document,
    )


def selected(full_id: str, patterns: tuple[str, ...]) -> bool:
    """Whether an id is chosen by patterns such as `sep2672/4.8*`; none chooses everything."""
    return not patterns or any(
        fnmatchcase(full_id, pattern) or fnmatchcase(full_id.partition("/")[2], pattern)
        for pattern in patterns
    )
