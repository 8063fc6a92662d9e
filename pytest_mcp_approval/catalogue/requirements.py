"""Loads and checks `requirements.toml`: one file for each family, beside its scenarios.

Knows nothing about pytest or how a rule is tested; the registry knows where a family is. Full ids
are `family/section-slug`; they are used to select, baseline and replay, and never change.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from ..config.registry import RULES, FamilyError, families, registered
from ..support.nearest import expected

_STEP = re.compile(r"(?P<section>[0-9.]+)-(?P<step>[0-9]{2})-")
_SECTION = re.compile(r"(?P<section>[0-9][0-9.]*)-")
_ID = re.compile(r"[A-Za-z0-9._-]+")
_LEVELS = ("MUST", "SHOULD", "MAY")
_PARTIES = ("server", "client")


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
    """What the rule asks for, in one line."""
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
        """Where the rule is in its document, for example `SEP-2672 §4.8 step 11`."""
        step = _STEP.match(self.name)
        if step:
            return f"{self.document} §{step['section']} step {int(step['step'])}"
        return f"{self.document} §{self.section}" if self.section else self.document


@dataclass(frozen=True)
class Catalogue:
    """All rules of one family, and how the suite reads its document if that is unclear."""

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
        _check(data, FILE_KEYS)
        if data["family"] != family:
            raise _wrong("family", data["family"], repr(family))
    except OSError as error:
        raise FamilyError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FamilyError(f"{path}: no TOML: {error}") from None
    except _WrongError as error:
        raise FamilyError(f"{path}: {error}") from None
    known: dict[str, Requirement] = {}
    for number, row in enumerate(data["requirement"], 1):
        try:
            rule = _requirement(family, data["document"], row)
            if rule.id in known:
                raise _wrong("id", row["id"], "an id that no other rule has")
        except _WrongError as error:
            raise FamilyError(f"{path}: requirement {number}: {error}") from None
        known[rule.id] = rule
    return Catalogue(family, data["document"], tuple(data.get("readings", ())), known)


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


class _WrongError(Exception):
    """An error in a file: the key, its value, and what was expected."""


def _wrong(key: str, got: Any, wanted: str) -> _WrongError:
    return _WrongError(f"{key}: got {'nothing' if got is None else repr(got)}, expected {wanted}")


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


_Keys = Mapping[str, tuple[bool, Callable[[Any], bool], str]]
"""By key: whether it is required, what its value may be, and the same in words."""
FILE_KEYS: _Keys = {
    "family": (True, _text, "text"),
    "document": (True, _text, "text"),
    "readings": (False, _texts, "a list of texts"),
    "requirement": (True, _rows, "[[requirement]] tables"),
}
RULE_KEYS: _Keys = {
    "id": (True, lambda value: _text(value) and bool(_ID.fullmatch(value)), "an id"),
    "level": (True, lambda value: value in _LEVELS, f"one of {', '.join(_LEVELS)}"),
    "party": (False, lambda value: value in _PARTIES, f"one of {', '.join(_PARTIES)}"),
    "rule": (False, _text, "text"),
    "watch": (True, _text, "text"),
    "needs": (False, _texts, "a list of texts"),
    "fault": (True, _text, "text"),
}


def _check(table: Mapping[str, Any], keys: _Keys) -> None:
    for key in table:
        if key not in keys:
            raise _WrongError(f"got {key!r}, {expected(key, keys)}")
    for key, (required, fits, words) in keys.items():
        if (required or key in table) and not fits(table.get(key)):
            raise _wrong(key, table.get(key), words)


def _requirement(family: str, document: str, row: Mapping[str, Any]) -> Requirement:
    _check(row, RULE_KEYS)
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
    """Whether an id matches patterns such as `sep2672/4.8*`; no patterns match everything."""
    return not patterns or any(
        fnmatchcase(full_id, pattern) or fnmatchcase(full_id.partition("/")[2], pattern)
        for pattern in patterns
    )
