"""One run as every reporter sees it: what was checked, the verdict on each rule, and why.

Made once at the end of a run. Knows no format and no file.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..catalogue import Requirement, Verdict
from ..explore.coverage import Explored
from ..families.base.survey import ASK_NOBODY, SILENT, named_by_reason
from ..support.text import number_of
from .comparison import Comparison, Earlier, compare
from .findings import GroupedFinding, cascade, group_findings
from .normalising import gist
from .results import Results, ScenarioResult, notes_over, verdict_over
from .shown import headline, worst

_NAME_IN_HEADER = re.compile(r"; (?P<name>[^;()]+)\)$")


@dataclass(frozen=True)
class RunFacts:
    """What a run was: everything but its results."""

    target: str
    header: tuple[tuple[str, str], ...] = ()
    """The lines that were printed before the first verdict."""
    silent: tuple[tuple[str, str], ...] = ()
    """Tools that look destructive and of which nothing shows that they ask, and why they look it;
    the header has the first of them."""
    started: datetime.datetime = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    seconds: float = 0.0
    """From the first scenario to the last, on a real clock."""
    explored: tuple[Explored, ...] = ()
    """What explorations exercised, one for each family."""
    strict: bool = False
    select: tuple[str, ...] = ()
    version: str = ""
    command: str = "pytest"
    """The command for the same run."""
    directory: Path | None = None
    """Where the user started: files that were kept are named from here."""
    settings_place: tuple[str, int] | None = None
    """The user's settings file, from the root of their repository, and its line with the target."""
    options: Mapping[str, Any] | None = None
    """The options that a replay of a finding needs, by name; None if they are not known."""
    withheld: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of headers and variables whose values are in no file, by option."""


@dataclass(frozen=True)
class JudgedRule:
    """One rule, and what its scenarios said."""

    rule: Requirement
    verdict: Verdict
    scenarios: tuple[ScenarioResult, ...]

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(one.verdict for one in self.scenarios)

    @property
    def notes(self) -> list[str]:
        """Which of its checks were not made, if it has passed without them."""
        return notes_over(self.scenarios)

    @property
    def deciding(self) -> list[ScenarioResult]:
        """The scenarios that decided its verdict."""
        return [one for one in self.scenarios if one.verdict is self.verdict]


@dataclass(frozen=True)
class Report:
    """A whole run."""

    facts: RunFacts
    rules: tuple[JudgedRule, ...]
    scenarios: tuple[ScenarioResult, ...]
    comparison: Comparison | None = None
    counts: Counter[Verdict] = field(default_factory=Counter)
    """Of rules, by verdict."""
    findings: tuple[GroupedFinding, ...] = ()
    """One for each cause."""
    cascade: str = ""
    """The one reason for most problems, if there is one."""

    @property
    def headline(self) -> str:
        return headline(self.counts)

    @property
    def subject(self) -> str:
        """The server as it names itself, else as the user named it."""
        for name, value in self.facts.header:
            named = _NAME_IN_HEADER.search(value)
            if name == "target" and named:
                return named["name"]
        return self.facts.target

    @property
    def header(self) -> list[tuple[str, str]]:
        """The lines before the first verdict, with all silent tools."""
        all_of_them = named_by_reason(self.facts.silent, len(self.facts.silent))
        return [
            (name, all_of_them + ASK_NOBODY + value.partition(ASK_NOBODY)[2])
            if name == SILENT
            else (name, value)
            for name, value in self.facts.header
        ]

    @property
    def sentence(self) -> str:
        """For example "2 findings in 983 checks of shop 1.4 (sep2672), 57 of 61 rules verified"."""
        counts = Counter(one.verdict for one in self.findings)
        failed, warned = counts[Verdict.FAILED], counts[Verdict.WARNING]
        found = number_of(failed, "finding") if failed else "no findings"
        if warned:
            found += f" and {number_of(warned, 'warning')}"
        judged, concerned = self.verified
        return (
            f"{found} in {number_of(len(self.scenarios), 'check')} of {self.subject} "
            f"({', '.join(self.families)}), {judged} of {number_of(concerned, 'rule')} verified"
        )

    @property
    def verified(self) -> tuple[int, int]:
        """How many rules were checked, and how many concern this server."""
        concerned = sum(self.counts.values()) - self.counts[Verdict.NOT_APPLICABLE]
        unknown = self.counts[Verdict.NOT_VERIFIED] + self.counts[Verdict.HARNESS_ERROR]
        return concerned - unknown, concerned

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole run."""
        if self.counts[Verdict.FAILED]:
            return Verdict.FAILED
        found = worst(rule.verdict for rule in self.rules) or Verdict.NOT_VERIFIED
        mostly = self.counts[Verdict.NOT_VERIFIED] * 2 > sum(self.counts.values())
        # A few rules that could not be checked do not change the verdict; most of them do.
        return Verdict.PASSED if found is Verdict.NOT_VERIFIED and not mostly else found

    @property
    def families(self) -> dict[str, list[JudgedRule]]:
        found: dict[str, list[JudgedRule]] = {}
        for rule in self.rules:
            found.setdefault(rule.rule.family, []).append(rule)
        return found

    @property
    def not_verified(self) -> list[tuple[str, list[JudgedRule]]]:
        """Each reason why something was not checked, and the rules that it concerns; the reason of
        most rules first."""
        reasons: dict[str, tuple[str, list[JudgedRule]]] = {}
        for rule in self.rules:
            for one in rule.scenarios:
                if one.verdict is Verdict.NOT_VERIFIED and rule.verdict is not Verdict.PASSED:
                    _, concerned = reasons.setdefault(gist(one.why), (one.why, []))
                    if rule not in concerned:
                        concerned.append(rule)
        return sorted(reasons.values(), key=lambda pair: -len(pair[1]))


def by_section(rules: Iterable[JudgedRule]) -> dict[str, list[JudgedRule]]:
    """The rules of one document under its sections."""
    found: dict[str, list[JudgedRule]] = {}
    for one in rules:
        found.setdefault(one.rule.section, []).append(one)
    return found


def make_report(
    results: Results,
    rules: Sequence[Requirement],
    facts: RunFacts,
    earlier: Earlier | None = None,
) -> Report:
    """The report of a run over these rules; with an earlier one, what has changed since."""
    by_rule: dict[str, list[ScenarioResult]] = {}
    kept: dict[str, ScenarioResult] = {}
    for one in results:
        # A scenario that fails in its teardown is reported twice: the worse counts.
        before = kept.get(one.scenario)
        if before is None or worst((before.verdict, one.verdict)) is not before.verdict:
            kept[one.scenario] = one
    # In the order of their ids: workers report in any order.
    scenarios = tuple(kept[name] for name in sorted(kept))
    for one in scenarios:
        for name in one.rules:
            by_rule.setdefault(name, []).append(one)
    judged = []
    for rule in rules:
        found = by_rule.get(rule.id, [])
        verdict = verdict_over(found)
        if verdict is not None:
            judged.append(JudgedRule(rule, verdict, tuple(found)))
    comparison = None
    if earlier is not None:
        now = {
            one.rule.id: (one.verdict, sum(one.counts[v] for v in (Verdict.FAILED, Verdict.KNOWN)))
            for one in judged
        }
        comparison = compare(earlier, now)
    counts = Counter(one.verdict for one in judged)
    findings = group_findings(scenarios, [one.rule for one in judged])
    return Report(facts, tuple(judged), scenarios, comparison, counts, findings, cascade(scenarios))
