"""Loads and checks `requirements.toml`: one file for each family, beside its scenarios.

Knows nothing about pytest or how a rule is tested; the registry knows where a family is. Full ids
are `family/section-slug`; they are used to select, baseline and replay, and never change.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..config.reader import Place, SettingsError, Sources, read, setting
from ..config.registry import RULES, FamilyError, families, registered

_STEP = re.compile(r"(?P<section>[0-9.]+)-(?P<step>[0-9]{2})-")
_SECTION = re.compile(r"(?P<section>[0-9][0-9.]*)-")
_ID = re.compile(r"[A-Za-z0-9._-]+")
_LINK = re.compile(r"https?://[^\s<>\"']+")


class UnknownRequirementError(LookupError):
    """No rule has this id."""


def _id(value: Any) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise ValueError("expected an id of letters, digits, dots, hyphens and underscores")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("expected text")
    return value


def _link(value: Any) -> str:
    if not isinstance(value, str) or not _LINK.fullmatch(value):
        raise ValueError("expected an address that begins with https://")
    return value


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One rule of one specification, as its file has it."""

    id: str = setting(parse=_id)
    """In the catalogue the full id, for example `sep2672/4.8-11-counter`."""
    level: str = setting(choices=("MUST", "SHOULD", "MAY"))
    party: str = setting("server", choices=("server", "client"))
    rule: str = setting("", parse=_text)
    """What the rule asks for, in one line; by default the same as `watch`."""
    watch: str = setting(parse=_text)
    """What a scenario does and sees."""
    needs: tuple[str, ...] = setting(())
    fault: str = setting(parse=_text)
    fix: str = setting("", parse=_text)
    """How most servers get it right, in a sentence; "" if the rule says it all."""
    family: str = setting("", internal=True)
    document: str = setting("", internal=True)
    link: str = setting("", internal=True)
    """Where its document can be read; "" if nobody said."""

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
        """Where the rule is in its document, for example `SEP-2672 §4.8 step 11`."""
        step = _STEP.match(self.name)
        if step:
            return f"{self.document} §{step['section']} step {int(step['step'])}"
        return f"{self.document} §{self.section}" if self.section else self.document


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """All rules of one family, and how the suite reads its document if that is unclear."""

    family: str = setting(parse=_text)
    document: str = setting(parse=_text)
    link: str = setting("", parse=_link)
    """Where the document can be read."""
    readings: tuple[str, ...] = setting(())
    requirement: tuple[Requirement, ...] = setting(expected="[[requirement]] tables")

    @cached_property
    def requirements(self) -> Mapping[str, Requirement]:
        return {rule.id: rule for rule in self.requirement}

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self.requirement)

    def __len__(self) -> int:
        return len(self.requirement)

    def __getitem__(self, full_id: str) -> Requirement:
        if full_id not in self.requirements:
            raise UnknownRequirementError(f"got {full_id!r}, expected an id of {self.family}")
        return self.requirements[full_id]


@cache
def catalogue(family: str) -> Catalogue:
    """The catalogue of one family; `FamilyError` if its file is wrong."""
    if family not in families():
        raise UnknownRequirementError(
            f"got family {family!r}, expected one of {', '.join(families())}"
        )
    return read_catalogue(family, registered(family).scenarios / RULES)


def read_catalogue(family: str, path: Path) -> Catalogue:
    """The rules in a file; `FamilyError` is one line with the file and the key."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        found = read(Catalogue, data, Place((), Sources(str(path))))
    except OSError as error:
        raise FamilyError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FamilyError(f"{path}: no TOML: {error}") from None
    except SettingsError as error:
        raise FamilyError(str(error)) from None
    if not found.requirement:
        raise FamilyError(f"{path} requirement: got [], expected [[requirement]] tables")
    if found.family != family:
        raise FamilyError(f"{path} family: got {found.family!r}, expected {family!r}")
    names = Counter(one.id for one in found.requirement)
    for name, count in names.items():
        if count > 1:
            raise FamilyError(f"{path}: got the id {name!r} {count} times, expected it once")
    rules = (
        replace(
            one,
            id=f"{family}/{one.id}",
            rule=one.rule or one.watch,
            family=family,
            document=found.document,
            link=found.link,
        )
        for one in found.requirement
    )
    return replace(found, requirement=tuple(rules))


def named_in(path: Path, family: str) -> frozenset[str]:
    """The rules that a file of scenarios names. The file is read, not imported: that is slow."""
    return frozenset(
        re.findall(rf"""["']({family}/[^"']+)["']""", path.read_text(encoding="utf-8"))
    )


@cache
def covered(family: str) -> frozenset[str]:
    """The rules of a family that some packaged scenario names."""
    files = registered(family).scenarios.glob("test_*.py")
    return frozenset().union(*(named_in(path, family) for path in files))


def selected(full_id: str, patterns: tuple[str, ...]) -> bool:
    """Whether an id matches patterns such as `sep2672/4.8*`; no patterns match everything."""
    return not patterns or any(
        fnmatchcase(full_id, pattern) or fnmatchcase(full_id.partition("/")[2], pattern)
        for pattern in patterns
    )
