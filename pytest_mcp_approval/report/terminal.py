"""The lines that a run prints: before the first verdict, for each finding, and at the end.

Text from a target has been neutralised where it was read. Knows no files.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from ..catalogue import Verdict
from ..explore.coverage import Explored
from ..support.text import listed_shortly, neutralise, number_of
from .comparison import Comparison
from .findings import GroupedFinding, breaks_the_server, has_run
from .model import JudgedRule, Report, by_section
from .results import NOT_MADE, WORDS, evidence_rows
from .shown import SHOWN, counted, phrase

WIDTH = 100
"""Columns, if the width is not known."""
_MOST_CHANGES = 20
_MOST_NAMES = 4
_MOST_FINDINGS = 30
_LONGEST = 600
"""Characters of one line of a finding; the report files have all of it."""
_LABEL_LINES = 2
_MOST_ALIKE = 4
"""If more findings than this are alike, only the first is shown in detail."""
_INDENT = " " * 3


def header_lines(found: Sequence[tuple[str, str]], width: int | None = None) -> list[str]:
    """What is about to be checked, and what cannot be. Without a width each is one line."""
    lines: list[str] = []
    for name, value in found:
        lead = f"{'' if lines else 'mcp-approval':<14}{name:<8} "
        lines += [f"{lead}{value}"] if width is None else _wrapped(lead, value, width)
    return lines


def summary_lines(report: Report, *, width: int = WIDTH, verbose: bool = False) -> list[str]:
    """The findings, one for each cause; what was not checked; a mark for each rule by section, and
    the counts; what to do next."""
    lines = [""]
    if report.cascade:
        lines += [*_wrapped("mcp-approval  ", report.cascade, width), ""]
    lines += [*_wrapped("", neutralise(report.sentence, _LONGEST), width), ""]
    told = [one for one in report.findings if one.verdict is not Verdict.KNOWN]
    lines += _findings(told, width, verbose=verbose)
    lines += _known(report)
    lines += _notes(report)
    lines += _not_verified(report)
    for family, rules in report.families.items():
        lines += _score(rules, family, width)
    lines += exploration_lines(report.facts.explored, verbose=verbose)
    return lines + _next(report, told, width)


def colour_of(line: str) -> dict[str, bool]:
    """The colour of a line of the summary."""
    words = line.split(maxsplit=2)
    if len(words) > 1 and words[0].isdigit() and line[0] != " ":
        return {"FAIL": {"red": True}, "WARN": {"yellow": True}}.get(words[1], {})
    return {}


# ---- findings


def _findings(found: Sequence[GroupedFinding], width: int, *, verbose: bool = False) -> list[str]:
    lines: list[str] = []
    shown = 0
    told_fixes: set[str] = set()
    for one in found:
        with_fix = one.rule.id not in told_fixes
        told = finding_lines(one, width, verbose=verbose, with_fix=with_fix)
        told_fixes.add(one.rule.id)
        if len(told) > 1:
            shown += 1
            told = [*([""] if lines and lines[-1] else []), *told, ""]
        if shown <= _MOST_FINDINGS:
            lines += told
    if shown > _MOST_FINDINGS:
        lines += [f"… and {shown - _MOST_FINDINGS} more findings; the reports have them all"]
    return [*lines, ""] if lines and lines[-1] else lines


def finding_lines(
    one: GroupedFinding, width: int = WIDTH, *, verbose: bool = False, with_fix: bool = True
) -> list[str]:
    """Which rule; the simplest example in full; how often it was found, and in which ways; how it
    is put right, which is said once for each rule.

    What a finding has in common with an earlier one, of another rule, is told there.
    """
    first = min(one.alike, default=one.number)
    follows = first < one.number and not verbose
    *rows, again = evidence_rows(one.example, one.rule)
    if follows and len(one.alike) > _MOST_ALIKE:
        checks = number_of(len(one.checks), "check")
        return [f"{_head(one):<{width - 20}} as {first}, {checks}"]
    place = f"{one.rule.level}  {one.rule.place}"
    lines = [f"{_head(one):<{width - len(place) - 2}}  {place}"]
    if len(lines[0]) > width:
        lines = [_head(one), f"{_INDENT}{place}"]
    if follows:
        rows = [(name, value) for name, value in rows if name not in ("rule", "expected", "got")]
        rows.append(("got", f"as in finding {first}"))
    for name, value in rows:
        lines += _row(name, neutralise(value, _LONGEST), width)
    if one.variants:
        lines += _variants(one, width, verbose=verbose)
    if one.alike and not follows:
        listed = _listed([str(number) for number in one.alike])
        if len(one.alike) > _MOST_ALIKE:
            listed = f"{one.alike[0]} to {one.alike[-1]} ({len(one.alike)} of them)"
        plural = "s" if len(one.alike) > 1 else ""
        lines += _row("alike", f"finding{plural} {listed}: wrong in the same way", width)
    if one.rule.fix and with_fix:
        lines += _row("fix", one.rule.fix, width)
    # Each on one line, because users copy it.
    why = f"mcp-approval explain {one.rule.id}"
    return [*lines, f"{_INDENT}{again[0]:<9} {again[1]}", f"{_INDENT}{'why':<9} {why}"]


def _head(one: GroupedFinding) -> str:
    return f"{one.number:<2} {WORDS[one.verdict]}  {one.rule.id}"


def _variants(one: GroupedFinding, width: int, *, verbose: bool) -> list[str]:
    count = f"{len(one.variants)} more like it"
    if verbose:
        lines = _row("also", f"{count}:", width)
        for found in one.variants:
            sent = f": {found.evidence.sent}" if found.evidence is not None else ""
            lines += _wrapped(f"{_INDENT}{'':10}- ", neutralise(f"{found.name}{sent}"), width)
        return lines
    shown, labels = "", one.labels
    room = _LABEL_LINES * (width - 13)
    for place, label in enumerate(labels):
        more = f"{shown}; {label}" if shown else f"{count}: {label}"
        if len(more) > room and place:
            return _row("also", f"{shown}; ...", width)
        shown = more
    return _row("also", shown, width)


def _row(name: str, value: str, width: int) -> list[str]:
    return _wrapped(f"{_INDENT}{name:<9} ", value, width)


def _wrapped(lead: str, text: str, width: int) -> list[str]:
    room = max(30, width - len(lead))
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    rest = " " * len(lead)
    return [f"{rest if place else lead}{line}" for place, line in enumerate(lines or [""])]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# ---- other parts of the summary


def _known(report: Report) -> list[str]:
    """The failures that the baseline has, a line for each rule, with its comment."""
    lines: dict[str, str] = {}
    for one in report.findings:
        if one.verdict is Verdict.KNOWN:
            line = f"known failure  {one.rule.id}: {neutralise(one.example.why)}"
            lines.setdefault(one.rule.id, line)
    return [*lines.values(), ""] if lines else []


def _notes(report: Report) -> list[str]:
    """Rules that passed without some of their checks, by the reason."""
    reasons: dict[str, list[str]] = {}
    for one in report.rules:
        for note in one.notes:
            count, _, why = note.partition(NOT_MADE)
            reasons.setdefault(why, []).append(f"{one.rule.name} ({count})")
    lines = []
    for why, names in reasons.items():
        # Not wrapped: users copy options from it.
        lines += [f"passed, note  {neutralise(why, _LONGEST)}"]
        lines += [f"{'':14}not made in {listed_shortly(names, _MOST_NAMES)}"]
    return [*lines, ""] if lines else []


def _not_verified(report: Report) -> list[str]:
    """What was not checked, grouped by what would have to be configured."""
    lines = []
    for why, rules in report.not_verified:
        shown = listed_shortly([one.rule.name for one in rules], _MOST_NAMES)
        # Not wrapped: users copy options and commands from it.
        lines += [f"not verified  {neutralise(why, _LONGEST)}", f"{'':14}{shown}"]
    return [*lines, ""] if lines else []


def _score(rules: Sequence[JudgedRule], family: str, width: int) -> list[str]:
    counts = Counter(one.verdict for one in rules)
    lead = f"{family:<10}" if len(family) < 10 else f"{family}  "
    lines, line = [], lead
    for section, held in by_section(rules).items():
        marks = "".join(SHOWN[one.verdict].mark for one in held)
        part = f"§{section} {marks}   " if section else f"{marks}   "
        if len(line) + len(part.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = " " * len(lead)
        line += part
    lines.append(line.rstrip())
    words = [phrase(count, verdict) for count, verdict in counted(counts)]
    mine = {one.scenario: one.seconds for rule in rules for one in rule.scenarios}
    lines.append(
        " " * len(lead)
        + " · ".join(words)
        + f"      {len(mine)} checks in {sum(mine.values()):.1f} s"
    )
    return lines


def exploration_lines(explored: Sequence[Explored], *, verbose: bool = False) -> list[str]:
    """What explorations exercised: without it "no finding" would mean nothing."""
    lines: list[str] = []
    for one in explored:
        lines.append(f"explore   {one.family}  {one.line}")
        if one.missed:
            lines.append(f"{'':10}never: {listed_shortly(one.missed, _MOST_NAMES)}")
        if verbose:
            counted = (*one.transitions.items(), *one.rules.items())
            lines += [f"{'':10}{count:>7}  {name}" for name, count in counted]
        lines += [f"{'':10}{neutralise(note, _LONGEST)}" for note in one.notes]
    return lines


def _next(report: Report, told: Sequence[GroupedFinding], width: int) -> list[str]:
    """What to do first."""
    failed = [one for one in told if one.verdict is Verdict.FAILED]
    if report.cascade:
        return _wrapped("Next: ", "fix that one reason first (shown above), then run again.", width)
    if not failed:
        return []
    breaking = [str(one.number) for one in failed if breaks_the_server(one)]
    ran = [str(one.number) for one in failed if has_run(one.example)]
    first = max(failed, key=lambda one: (len(one.alike), -one.number))
    if breaking:
        advice = f"fix finding {_listed(breaking)} first: after it, the server fails for everyone."
    elif ran and len(ran) < len(failed):
        advice = f"fix finding {_listed(ran)} first: something ran that had to be refused."
    elif first.alike:
        group = _listed([str(number) for number in sorted((first.number, *first.alike))])
        advice = f"findings {group} may well be one defect; start with {first.number}."
    else:
        advice = f'fix finding {failed[0].number}, then run the command after its "again".'
    baseline = "For known failures: --mcp-approval-write-baseline=known.toml"
    return _wrapped("Next: ", f"{advice} {baseline}", width)


def comparison_lines(found: Comparison) -> list[str]:
    """What has changed since an earlier run."""
    lines = [f"compared  {found.earlier.name}: {found.sentence}"]
    for word, changes in (("worse", found.worse), ("better", found.better), ("other", found.other)):
        lines += [f"  {word:<8}{change}" for change in changes[:_MOST_CHANGES]]
        if len(changes) > _MOST_CHANGES:
            lines.append(f"  {word:<8}… and {len(changes) - _MOST_CHANGES} more")
    return lines
