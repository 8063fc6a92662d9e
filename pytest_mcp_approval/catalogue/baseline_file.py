"""Known failures: a TOML file that a team keeps, so that only new failures break their build.

    [[known]]
    rule = "sep2672/4.8-11-counter"
    comment = "our HSM keeps no counter before release 3"
    expires = 2027-01-31

Reads, compares and writes such a file. An entry whose rule no longer fails is stale; one that has
expired counts as absent. Knows no pytest and no run: it is told the verdict of each rule.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..support.toml_text import toml_string
from .requirements import UnknownRequirementError, catalogue, covered
from .verdicts import Verdict

_KEYS = ("rule", "comment", "expires", "explored")
_LONGEST_COMMENT = 500
_HEAD = """\
# Known failures, written by pytest --mcp-approval-write-baseline.
# Edit it before you rely on it: replace each comment, which is only what was found first, by the
# reason why the failure is known. `expires = 2027-01-31` lets an entry end after that day.
# An entry whose rule no longer fails breaks the run until it is removed.
"""


class BaselineError(ValueError):
    """The file cannot be used; one line for each error."""


@dataclass(frozen=True)
class Known:
    """One entry: this rule fails, and somebody has said why."""

    rule: str
    comment: str
    expires: datetime.date | None = None
    """The last day on which the entry counts."""
    explored: bool = False
    """Only an exploration found it. Scenarios that pass, or another exploration that does not come
    across it, do not make the entry stale."""


@dataclass(frozen=True)
class Baseline:
    """The entries of a file, on one day."""

    name: str
    """The file, as the user named it."""
    entries: Mapping[str, Known] = field(default_factory=dict)
    today: datetime.date = datetime.date.min

    @property
    def expired(self) -> list[Known]:
        return [
            one
            for one in self.entries.values()
            if one.expires is not None and self.today > one.expires
        ]

    @property
    def active(self) -> dict[str, Known]:
        """The entries that count, by rule."""
        gone = {one.rule for one in self.expired}
        return {rule: one for rule, one in self.entries.items() if rule not in gone}

    def comment_on(self, rules: Collection[str]) -> str | None:
        """Why a failure of these rules is known; None unless all of them are known.

        A scenario that checks two rules fails both, so one known rule does not excuse the other.
        """
        active = self.active
        if not rules or any(rule not in active for rule in rules):
            return None
        return "; ".join(dict.fromkeys(active[rule].comment for rule in rules))


def compare(
    baseline: Baseline, verdicts: Mapping[str, Collection[Verdict]], whole: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """Compare the entries with what the scenarios of each rule said. Returns the stale ones, by
    rule with a line about each, and the rules that this run says nothing about.

    `whole` names the rules of which every scenario has run: others may still fail.
    """
    stale: dict[str, str] = {}
    not_checked: list[str] = []
    for rule in baseline.active:
        said = set(verdicts.get(rule, ()))
        if said & {Verdict.FAILED, Verdict.KNOWN}:
            continue
        passed = said and said <= {Verdict.PASSED, Verdict.WARNING}
        if rule in whole and passed and not baseline.active[rule].explored:
            warns = " (it only warns)" if Verdict.WARNING in said else ""
            stale[rule] = f"baseline: {rule} no longer fails{warns}: remove it from {baseline.name}"
        else:
            not_checked.append(rule)
    return stale, not_checked


def renewed(
    baseline: Baseline,
    failures: Mapping[str, str],
    stale: Collection[str],
    explored: Collection[str] = (),
) -> list[Known]:
    """The entries of a new file: the old ones that are still needed, and every other failure.

    `failures` maps each failing rule to its first finding; `explored` names those that only an
    exploration found.
    """
    kept = {rule: one for rule, one in baseline.active.items() if rule not in stale}
    added = {
        rule: Known(rule, found, explored=rule in explored)
        for rule, found in failures.items()
        if rule not in kept
    }
    return sorted({**kept, **added}.values(), key=lambda one: one.rule)


# ---- the file


def read_baseline(path: Path, name: str, today: datetime.date) -> Baseline:
    """The baseline in a file; `BaselineError` lists all its errors, one line each."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise BaselineError(f"{name}: cannot be read: {reason.lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BaselineError(f"{name}: no TOML: {error}") from None
    wrong = [f"{name}: got {key!r}, expected [[known]] only" for key in data if key != "known"]
    rows = data.get("known", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        wrong.append(f"{name}: got another 'known', expected [[known]] with rule and comment")
        rows = []
    entries: dict[str, Known] = {}
    for number, row in enumerate(rows, start=1):
        problems = _problems(row)
        rule = row.get("rule")
        if not problems and rule in entries:
            problems = [f"got {rule!r} a second time, expected one entry for each rule"]
        if not problems:
            entries[row["rule"]] = Known(
                row["rule"],
                " ".join(row["comment"].split()),
                row.get("expires"),
                row.get("explored", False),
            )
        wrong += [f"{name}: entry {number}: {problem}" for problem in problems]
    if wrong:
        raise BaselineError("\n".join(wrong))
    return Baseline(name, entries, today)


def _problems(row: Mapping[str, Any]) -> list[str]:
    """All errors of one entry."""
    wrong = [
        f"got the key {key!r}, expected one of {', '.join(_KEYS)}"
        for key in row
        if key not in _KEYS
    ]
    rule, comment, expires, explored = (row.get(key) for key in _KEYS)
    wrong += _problems_of_rule(rule)
    if not isinstance(comment, str) or not comment.strip():
        got = "none" if comment is None else repr(comment)[:40]
        wrong.append(f"comment: got {got}, expected words that say why {rule!r} is known to fail")
    if explored not in (None, True, False):
        wrong.append(f"explored: got {str(explored)[:40]!r}, expected true or false")
    # In Python a datetime is a date, too.
    if expires is not None and type(expires) is not datetime.date:
        wrong.append(
            f"expires: got {str(expires)[:40]!r}, expected a date such as 2027-01-31, unquoted"
        )
    return wrong


def _problems_of_rule(rule: Any) -> list[str]:
    expected = "expected a rule's id such as 'sep2672/4.8-11-counter'"
    if not isinstance(rule, str):
        return [f"rule: got {'none' if rule is None else repr(rule)[:40]}, {expected}"]
    try:
        found = catalogue(rule.partition("/")[0])[rule]
    except UnknownRequirementError:
        return [f"rule: got {rule[:80]!r}, {expected}"]
    if found.id not in covered(found.family):
        return [
            f"rule: got {rule!r}, which binds the {found.party} and is never checked, expected "
            "one that is"
        ]
    return []


def render_baseline(entries: Iterable[Known]) -> str:
    """The text of a file that `read_baseline` reads."""
    parts = [_HEAD]
    for one in entries:
        lines = ["[[known]]", f"rule = {_text(one.rule)}", f"comment = {_text(one.comment)}"]
        if one.expires is not None:
            lines.append(f"expires = {one.expires.isoformat()}")
        if one.explored:
            lines.append("explored = true")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _text(value: str) -> str:
    """A TOML string on one line, whatever a server put into it."""
    line = " ".join(value.split())
    if len(line) > _LONGEST_COMMENT:
        line = f"{line[: _LONGEST_COMMENT - 1]}…"
    return toml_string(line)
