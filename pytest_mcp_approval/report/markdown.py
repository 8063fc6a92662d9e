"""The report in Markdown: for a pull request, or the summary of a CI job.

Problems come first. Everything that a target wrote is shown as code, where neither Markdown nor
HTML has an effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..catalogue import Verdict, catalogue
from ..support.text import listed_shortly, number_of
from .comparison import Comparison
from .findings import GroupedFinding
from .model import JudgedRule, Report, by_section
from .results import ScenarioResult, kind_of_file
from .shown import SHOWN, counted, phrase

_MOST_FINDINGS = 30
_MOST_LABELS = 20
_MOST_CHARACTERS = 600
MOST_BYTES = 900 * 1024
"""GitHub takes a summary of at most 1 MiB."""


def render_markdown(report: Report) -> str:
    facts = report.facts
    counts = " · ".join(phrase(count, verdict) for count, verdict in counted(report.counts))
    lines = [
        f"## {SHOWN[report.verdict].emoji} {report.headline}",
        "",
        f"Human approval at {_code(facts.target)}: {_code(report.sentence)}. "
        f"Rules: {counts}; {facts.seconds:.1f} s.",
        "",
    ]
    if report.cascade:
        # The first half is ours, the second what the server said.
        ours, _, said = report.cascade.partition(": ")
        lines[2:2] = [f"**{_plain(ours)}**: {_code(said)}", ""]
    if report.comparison is not None:
        lines += _comparison(report.comparison)
    lines += _findings(report)
    lines += _not_verified(report)
    lines += _matrix(report)
    lines += _explored(report)
    lines += _header(report)
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > MOST_BYTES:
        # At the end of a line: code that is cut open would be Markdown and HTML of the target's.
        kept = text.encode()[:MOST_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        text = f"{kept}\n\n… cut short\n"
    return text


def _code(text: str, limit: int = _MOST_CHARACTERS) -> str:
    """Text as code on one line; nothing in it can end the code."""
    shown = " ".join(text.split())
    shown = shown if len(shown) <= limit else f"{shown[:limit]}… {len(shown) - limit} more"
    if not shown:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    padding = " " if "`" in shown else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def _cell(text: str) -> str:
    """Code in a table, where a bar ends the cell even inside code."""
    return _code(text.replace("|", "\u00a6"))


def _plain(text: str) -> str:
    """Our own words, which may contain a < or a *."""
    return re.sub(r"([\\`*_<>\[\]|~])", r"\\\1", text)


def _findings(report: Report) -> list[str]:
    lines: list[str] = []
    for one in report.findings[:_MOST_FINDINGS]:
        lines += _finding(one)
    if len(report.findings) > _MOST_FINDINGS:
        hidden = len(report.findings) - _MOST_FINDINGS
        lines += [f"… and {hidden} more findings; see the whole report.", ""]
    return lines + _stumbled(report)


def _finding(one: GroupedFinding) -> list[str]:
    rule = one.rule
    return [
        f"### {one.number}. {SHOWN[one.verdict].emoji} {_plain(rule.rule)}",
        "",
        f"{_code(rule.id)} · **{rule.level}** · {_plain(rule.place)} · "
        f"{number_of(len(one.checks), 'check')}",
        "",
        *_evidence(one.example, one.rows(_MOST_LABELS)),
        "",
        *([f"How to fix it: {_plain(rule.fix)}", ""] if rule.fix else []),
    ]


def _stumbled(report: Report) -> list[str]:
    """Rules on which the suite itself failed; these are no findings."""
    lines: list[str] = []
    for one in report.rules:
        if one.verdict is Verdict.HARNESS_ERROR:
            lines += [f"### {SHOWN[one.verdict].emoji} {_plain(one.rule.rule)}", ""]
            lines += [f"{_code(one.rule.id)} · the suite itself failed", ""]
            lines += [*_evidence(one.deciding[0]), ""]
    return lines


def _evidence(found: ScenarioResult, of_the_group: Sequence[tuple[str, str]] = ()) -> list[str]:
    files = ((kind_of_file(path), path) for path in found.files)
    rows = (*found.rows, *of_the_group, *files, ("again", found.again))
    return [
        "| | |",
        "|---|---|",
        *(f"| {name} | {_cell(value)} |" for name, value in rows if value),
    ]


def _not_verified(report: Report) -> list[str]:
    lines = [
        f"- {_code(why)}: {listed_shortly([_code(one.rule.name) for one in rules], 6)}"
        for why, rules in report.not_verified[:_MOST_FINDINGS]
    ]
    return ["### Not verified", "", *lines, ""] if lines else []


def _comparison(found: Comparison) -> list[str]:
    lines = [f"### Since {_code(found.earlier.name, 120)}", "", f"{found.sentence}.", ""]
    for emoji, changes in (("🔻", found.worse), ("🔺", found.better), ("🔸", found.other)):
        for change in changes[:_MOST_FINDINGS]:
            lines.append(f"- {emoji} {_code(change.rule)} {change.what}")
    return [*lines, ""]


def _matrix(report: Report) -> list[str]:
    lines = []
    for family, rules in report.families.items():
        title = _plain(catalogue(family).document)
        lines += [f"<details><summary>{title}, section by section</summary>", ""]
        lines += ["| section | rules | |", "|---|---|---|"]
        for section, held in by_section(rules).items():
            marks = "".join(SHOWN[one.verdict].emoji for one in held)
            place = f"§{section}" if section else "general"
            lines.append(f"| {place} | {marks} | {_told(held)} |")
        lines += ["", "</details>", ""]
    return lines


def _told(rules: Iterable[JudgedRule]) -> str:
    wrong = [one for one in rules if one.verdict not in (Verdict.PASSED, Verdict.NOT_APPLICABLE)]
    return ", ".join(f"{_code(one.rule.name)} {one.verdict}" for one in wrong)


def _explored(report: Report) -> list[str]:
    lines: list[str] = []
    for one in report.facts.explored:
        title = f"Exploration of {_plain(one.family)}: {_plain(one.line)}"
        lines += [f"<details><summary>{title}</summary>", "", "| exercised | times |", "|---|---|"]
        counted = (*one.transitions.items(), *one.rules.items())
        lines += [f"| {_cell(name)} | {count} |" for name, count in counted]
        lines += ["", *(f"- {_code(note)}" for note in one.notes), "", "</details>", ""]
    return lines


def _header(report: Report) -> list[str]:
    if not report.facts.header:
        return []
    rows = [f"| {_plain(name)} | {_cell(value)} |" for name, value in report.header]
    lead = ["<details><summary>What was checked</summary>", "", "| | |", "|---|---|"]
    return [*lead, *rows, "", "</details>", ""]
