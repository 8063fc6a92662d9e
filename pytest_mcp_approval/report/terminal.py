"""The lines that a run prints: before the first verdict, for each finding, and at the end.

Text that came from a target has been neutralised where it was taken in. Knows no files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..catalogue import Requirement, Verdict
from ..wire.text import neutralise
from .comparison import Comparison
from .results import Results, finding_lines
from .shown import SHOWN, counted, phrase

_WIDTH = 100
_MOST_CHANGES = 20


def header_lines(found: Sequence[tuple[str, str]]) -> list[str]:
    """What is about to be judged, and what cannot be."""
    lines: list[str] = []
    for name, value in found:
        lead = "mcp-approval  " if not lines else " " * 14
        lines.append(f"{lead}{name:<9}{value}")
    return lines


def summary_lines(
    results: Results, rules: Sequence[Requirement], *, with_failures: bool = True
) -> list[str]:
    """Every finding, then what was not judged, a mark for each rule by section, and the counts."""
    lines = [""]
    shown = (Verdict.FAILED, Verdict.WARNING) if with_failures else (Verdict.WARNING,)
    for rule in rules:
        for verdict in shown:
            for one in results.of(rule.id, verdict)[:3]:
                lines += [*finding_lines(one, rule), ""]
            hidden = len(results.of(rule.id, verdict)) - 3
            if hidden > 0:
                lines += [f"  … and {hidden} more scenarios of {rule.id}", ""]
    lines += _known(results, rules)
    lines += _not_verified(results, rules)
    for family in dict.fromkeys(rule.family for rule in rules):
        lines += _score(results, [rule for rule in rules if rule.family == family], family)
    return lines


def _known(results: Results, rules: Sequence[Requirement]) -> list[str]:
    """The failures that the baseline has, a line for each rule, with its comment."""
    lines = []
    for rule in rules:
        known = results.of(rule.id, Verdict.KNOWN)
        if known:
            lines.append(f"known failure  {rule.id}: {neutralise(known[0].why)}")
    return [*lines, ""] if lines else []


def _not_verified(results: Results, rules: Sequence[Requirement]) -> list[str]:
    """What was not judged, grouped by what would have to be configured."""
    reasons: dict[str, list[str]] = {}
    for rule in rules:
        for one in results.of(rule.id, Verdict.NOT_VERIFIED):
            held = reasons.setdefault(one.why, [])
            if rule.name not in held:
                held.append(rule.name)
    lines = []
    for why, names in reasons.items():
        shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
        lines += [f"not verified  {why}", f"              {shown}"]
    return [*lines, ""] if lines else []


def _score(results: Results, rules: Sequence[Requirement], family: str) -> list[str]:
    sections: dict[str, str] = {}
    counts: Counter[Verdict] = Counter()
    for rule in rules:
        verdict = results.verdict_of(rule.id)
        if verdict is not None:
            counts[verdict] += 1
            sections[rule.section] = sections.get(rule.section, "") + SHOWN[verdict].mark
    if not counts:
        return []
    lead = f"{family:<10}" if len(family) < 10 else f"{family}  "
    lines, line = [], lead
    for section, marks in sections.items():
        part = f"§{section} {marks}   " if section else f"{marks}   "
        if len(line) + len(part) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * len(lead)
        line += part
    lines.append(line.rstrip())
    words = [phrase(count, verdict) for count, verdict in counted(counts)]
    checks = [one for one in results if any(rule.startswith(f"{family}/") for rule in one.rules)]
    seconds = sum(one.seconds for one in checks)
    lines.append(
        " " * len(lead) + " · ".join(words) + f"      {len(checks)} checks in {seconds:.1f} s"
    )
    return lines


def comparison_lines(found: Comparison) -> list[str]:
    """What has changed since an earlier run."""
    lines = [f"compared  {found.earlier.name}: {found.sentence}"]
    for word, changes in (("worse", found.worse), ("better", found.better), ("other", found.other)):
        lines += [f"  {word:<8}{change}" for change in changes[:_MOST_CHANGES]]
        if len(changes) > _MOST_CHANGES:
            lines.append(f"  {word:<8}… and {len(changes) - _MOST_CHANGES} more")
    return lines
