"""One self-contained HTML page: the verdict, every rule, the evidence, and the bytes that went
over the wire.

No network: its policy forbids the browser to load anything, and to run any script but the one in
it. The frame is page.html. Verdict, matrix, rules and findings stand in the page itself;
conversations are packed data that the script (page.js) shows through text nodes. Everything that is
not ours is escaped. Knows no pytest and no family.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from ..catalogue import Requirement, Verdict, catalogue
from ..config.registry import registered
from ..support.text import listed_shortly, number_of
from .comparison import Change, Comparison
from .findings import GroupedFinding
from .model import JudgedRule, Report, by_section
from .normalising import gist
from .packing import link_to, packed_blocks
from .results import kind_of_file
from .shown import SHOWN, WORST_FIRST, counted, phrase, slug

_MOST_FINDINGS = 6
"""Findings of one rule that are shown at once; its list of scenarios has all checks."""
_MOST_LABELS = 40
_OPEN_AT_FIRST = 3
_MOST_BROKEN = 10
_MOST_CHANGES = 12
_MOST_REASONS = 12
_LONGEST = 4_000
"""Characters of one text in the page itself."""


def render_html(report: Report, folder: Path | None = None) -> str:
    """The page of a run; `folder` is where it will be."""
    here, facts, verdict = Path(__file__).parent, report.facts, report.verdict
    prefix = _prefix(report, folder)
    style = (here / "page.css").read_text(encoding="utf-8")
    script = "\n".join(path.read_text(encoding="utf-8") for path in _scripts(report))
    seconds = f"{number_of(len(report.scenarios), 'check')} in {facts.seconds:.1f} s"
    parts = {
        "policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        "title": f"{_text(report.headline)}: {_text(facts.target, 120)}",
        "style": style,
        "version": _text(facts.version),
        "when": f"{facts.started:%d %B %Y, %H:%M} UTC · {seconds}",
        "kind": slug(verdict),
        "seal": SHOWN[verdict].glyph,
        "headline": _text(report.headline),
        "target": _text(facts.target, 300),
        "sentence": _text(report.sentence, 400),
        "cascade": report.cascade and f'<p class="cascade">{_text(report.cascade, 600)}</p>',
        "bar": _bar(report),
        "legend": _legend(report),
        "broken": _broken(report),
        "facts": _facts(report),
        "command": _text(facts.command),
        "comparison": _comparison(report.comparison) if report.comparison else [],
        "not_verified": [*_not_verified(report), *_explored(report)],
        "matrix": _matrix(report),
        "levels": [
            f"<option>{_text(level)}</option>"
            for level in dict.fromkeys(one.rule.level for one in report.rules)
        ],
        "chips": _chips(report),
        "rules": _rules(report, prefix),
        "meanings": [
            f"<dt>{one.glyph} {verdict}</dt><dd>{one.meaning}</dd>"
            for verdict, one in SHOWN.items()
        ],
        "glyphs": json.dumps({verdict: one.glyph for verdict, one in SHOWN.items()}),
        "packed": [
            f'<script type="application/x-packed" id="packed-{name}">{data}</script>'
            for name, data in packed_blocks(report, prefix).items()
        ],
        "script": script,
    }
    page = Template((here / "page.html").read_text(encoding="utf-8"))
    return page.substitute(
        {name: one if isinstance(one, str) else "\n".join(one) for name, one in parts.items()}
    )


def _scripts(report: Report) -> list[Path]:
    """The scripts of the page: the suite's, and those in which families explain their messages."""
    folder = Path(__file__).parent
    own = [registered(name).folder / "decoding.js" for name in report.families]
    found = [path for path in own if path.is_file()]
    return [folder / "explaining.js", *found, folder / "page.js"]


def _digest(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


def _text(value: str, limit: int = _LONGEST) -> str:
    shown = value if len(value) <= limit else f"{value[:limit]}… {len(value) - limit} more"
    return escape(shown)


# ---- what comes first


def _legend(report: Report) -> list[str]:
    return [
        f'<li class="{slug(found)}"><span class="mark" aria-hidden="true">'
        f"{SHOWN[found].glyph}</span><b>{count}</b>"
        f"{_text(phrase(count, found)).removeprefix(str(count))}</li>"
        for count, found in counted(report.counts)
    ]


def _facts(report: Report) -> list[str]:
    rows = list(dict.fromkeys(report.header))  # families may say the same
    if report.facts.select:
        rows.append(("only", ", ".join(report.facts.select)))
    marked = {"missing": ' class="missing"'}
    return [
        f"<dt>{_text(name)}</dt><dd{marked.get(name, '')}>"
        f"{_link(value, value) if name == 'job' else _text(value)}</dd>"
        for name, value in rows
    ]


def _link(address: str, text: str) -> str:
    """A link to somewhere else, if the address is one of the web."""
    if not address.startswith(("https://", "http://")):
        return _text(text)
    return f'<a href="{_text(address)}" rel="noopener noreferrer">{_text(text)}</a>'


def _broken(report: Report) -> list[str]:
    """What a reader wants to know first: the findings, and what the suite itself failed on."""
    wrong: list[tuple[Verdict, Requirement, str, str]] = [
        (one.verdict, one.rule, f"{one.number}. ", _came(one))
        for one in report.findings
        if one.verdict is Verdict.FAILED
    ]
    wrong += [
        (one.verdict, one.rule, "", "")
        for one in report.rules
        if one.verdict is Verdict.HARNESS_ERROR
    ]
    if not wrong:
        return []
    lines = [
        f'<li class="{slug(verdict)}"><span class="mark" aria-hidden="true">'
        f"{SHOWN[verdict].glyph}</span>{number}"
        f'<a href="#{_text(rule.id)}">{_text(rule.rule)}</a> '
        f"<code>{_text(rule.id)}</code>{checks}</li>"
        for verdict, rule, number, checks in wrong[:_MOST_BROKEN]
    ]
    return ['<ul class="broken">', *lines, *_and_more(len(wrong) - _MOST_BROKEN), "</ul>"]


def _came(one: GroupedFinding) -> str:
    """How often, and what it was: a rule may be broken in several ways."""
    found = one.example.evidence
    got = f'<br><span class="soft">got {_text(found.got, 160)}</span>' if found else ""
    return f" · {number_of(len(one.checks), 'check')}{got}"


def _and_more(count: int) -> list[str]:
    return [f'<li class="soft">… and {count} more</li>'] if count > 0 else []


def _bar(report: Report) -> str:
    """The share of each verdict, as wide as it is large."""
    total = sum(report.counts.values()) or 1
    at, shapes = 0.0, []
    for count, verdict in counted(report.counts):
        wide = 1000 * count / total
        shapes.append(
            f'<rect class="{slug(verdict)}" x="{at:.1f}" y="0" width="{wide:.1f}" height="12"/>'
        )
        at += wide
    told = ", ".join(phrase(count, verdict) for count, verdict in counted(report.counts))
    return (
        f'<svg class="bar" role="img" aria-label="{_text(told)}" viewBox="0 0 1000 12" '
        f'preserveAspectRatio="none">{"".join(shapes)}</svg>'
    )


def _comparison(found: Comparison) -> list[str]:
    since = f"{_text(found.earlier.name, 200)}, {_text(found.earlier.started[:16], 40)}"
    lines = [
        "<h2>Since the earlier run</h2>",
        f'<p class="soft">{_text(found.sentence)} <span>(compared with {since})</span></p>',
        '<div class="compare">',
    ]
    for title, kind, changes in (
        ("Worse", "failed", found.worse),
        ("Better", "passed", found.better),
        ("Otherwise changed", "not-verified", found.other),
    ):
        if changes:
            lines += [
                f'<section class="card {kind}"><h3>{title}</h3><ul>',
                *(_change(change) for change in changes[:_MOST_CHANGES]),
                *_and_more(len(changes) - _MOST_CHANGES),
                "</ul></section>",
            ]
    return [*lines, "</div>"]


def _change(change: Change) -> str:
    name = _text(change.rule)
    link = f'<a href="#{name}">{name}</a>' if change.after is not None else name
    return f'<li>{link}<br><span class="soft">{_text(change.what)}</span></li>'


def _not_verified(report: Report) -> list[str]:
    """Why something could not be checked, the reason that concerns most rules first."""
    lines = []
    for why, rules in report.not_verified[:_MOST_REASONS]:
        links = [f'<a href="#{_text(one.rule.id)}">{_text(one.rule.name)}</a>' for one in rules]
        lines.append(
            f"<li><b>{number_of(len(rules), 'rule')}</b> <span>{_text(why, 600)}<br>"
            f"<small>{listed_shortly(links, 8)}</small></span></li>"
        )
    if not lines:
        return []
    head = ["<h2>Not verified, and why</h2>", '<ul class="reasons card not-verified">']
    return [*head, *lines, *_and_more(len(report.not_verified) - _MOST_REASONS), "</ul>"]


def _explored(report: Report) -> list[str]:
    """What explorations exercised, and how often."""
    lines = []
    for one in report.facts.explored:
        rows = "".join(
            f"<tr><th scope=row>{_text(name)}</th><td>{count}</td></tr>"
            for name, count in (*one.transitions.items(), *one.rules.items())
        )
        notes = "".join(f"<li>{_text(note)}</li>" for note in one.notes)
        lines += [
            f"<h2>Exploration of {_text(one.family)}</h2>",
            f'<p class="soft">{_text(one.line)}</p>',
            "<details><summary>What was exercised</summary>",
            '<table class="matrix card"><thead><tr><th scope=col>transition or rule</th>'
            f"<th scope=col>times</th></tr></thead><tbody>{rows}</tbody></table>",
            f"<ul>{notes}</ul></details>" if notes else "</details>",
        ]
    return lines


def _matrix(report: Report) -> list[str]:
    """Sections by rule: a cell for each, which leads to it."""
    lines = []
    for family, rules in report.families.items():
        document = catalogue(family).document
        lines += [
            f'<table class="matrix card"><caption class="unseen">{_text(document)}</caption>',
            f"<thead><tr><th scope=col>{_text(document)}</th><th scope=col>rules</th>"
            "<th scope=col>passed</th></tr></thead><tbody>",
        ]
        for section, held in by_section(rules).items():
            concerned = [one for one in held if one.verdict is not Verdict.NOT_APPLICABLE]
            passed = sum(1 for one in concerned if one.verdict is Verdict.PASSED)
            lines.append(
                f"<tr><th scope=row>{'§' + _text(section) if section else 'general'}</th>"
                f'<td><div class="cells">{"".join(map(_cell, held))}</div></td>'
                f"<td>{f'{passed} of {len(concerned)}' if concerned else 'none applies'}</td></tr>"
            )
        lines.append("</tbody></table>")
    return lines


def _cell(one: JudgedRule) -> str:
    name = f"{one.rule.name}: {one.verdict}"
    return (
        f'<a class="cell {slug(one.verdict)}" href="#{_text(one.rule.id)}" '
        f'title="{_text(name)}" aria-label="{_text(name)}">{SHOWN[one.verdict].glyph}</a>'
    )


def _chips(report: Report) -> list[str]:
    return [
        f'<label class="chip {slug(verdict)}"><input type="checkbox" value="{verdict}">'
        f"<span>{SHOWN[verdict].glyph} {verdict}</span> {report.counts[verdict]}</label>"
        for verdict in WORST_FIRST
        if report.counts[verdict]
    ]


# ---- the rules


def _rules(report: Report, prefix: str) -> list[str]:
    """Problems of all families first; then the other rules in the order of their documents."""
    numbers = {one.rule.id: number for number, one in enumerate(report.rules)}
    fine = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    wrong = sorted(
        (one for one in report.rules if one.verdict not in fine),
        key=lambda one: -SHOWN[one.verdict].rank,
    )
    groups = {"To look at": wrong} if wrong else {}
    for family, rules in report.families.items():
        groups[catalogue(family).document] = [one for one in rules if one.verdict in fine]
    lines = []
    opened = 0
    for title, held in groups.items():
        if not held:
            continue
        lines.append(f'<section class="family"><h3>{_text(title)}</h3>')
        for one in held:
            urgent = one.verdict in (Verdict.FAILED, Verdict.HARNESS_ERROR, Verdict.WARNING)
            is_open = urgent and opened < _OPEN_AT_FIRST
            opened += is_open
            mine = [found for found in report.findings if found.rule.id == one.rule.id]
            lines += _rule(one, numbers[one.rule.id], mine, prefix, is_open=is_open)
        lines.append("</section>")
    return lines


def _rule(
    one: JudgedRule, number: int, found: Sequence[GroupedFinding], prefix: str, *, is_open: bool
) -> list[str]:
    rule, verdict = one.rule, one.verdict
    checks = number_of(len(one.scenarios), "check")
    sought = " ".join((rule.id, rule.rule, rule.place, rule.watch, str(verdict))).lower()
    lines = [
        f'<details class="rule card {slug(verdict)}" id="{_text(rule.id)}" '
        f'data-verdict="{verdict}" data-level="{_text(rule.level)}" data-text="{_text(sought)}"'
        f"{' open' if is_open else ''}><summary>",
        f'<span class="pill">{SHOWN[verdict].glyph} {verdict}</span>',
        f'<span class="what">{_text(rule.rule)}</span>',
        f'<span class="where"><span class="level">{_text(rule.level)}</span> '
        f"{_text(rule.place)}</span>",
        f'<span class="id"><code>{_text(rule.id)}</code> · {checks}</span></summary>',
        '<div class="inside"><dl class="words">',
        f"<dt>what is looked at</dt><dd>{_text(rule.watch)}</dd>",
    ]
    if rule.fix and found:
        lines.append(f"<dt>how to fix it</dt><dd>{_text(rule.fix)}</dd>")
    if rule.link:
        lines.append(f"<dt>document</dt><dd>{_link(rule.link, rule.place)}</dd>")
    if rule.needs:
        lines.append(f"<dt>needs</dt><dd>{_text(', '.join(rule.needs))}</dd>")
    lines += [f"<dt>note</dt><dd>{_text(note)}</dd>" for note in one.notes]
    lines += ["</dl>", *_findings(one, found, prefix)]
    lines.append(f'<div class="scenarios" data-rule="{number}"></div></div></details>')
    return lines


def _findings(one: JudgedRule, found: Sequence[GroupedFinding], prefix: str) -> list[str]:
    """The evidence of each problem, one example for each cause. For checks that could not be made,
    or on which the suite itself failed, the reason."""
    told = [(each.example, f"finding {each.number}", each.rows(_MOST_LABELS)) for each in found]
    if not told and one.verdict not in (Verdict.PASSED, Verdict.NOT_APPLICABLE):
        reasons = {gist(each.why): each for each in reversed(one.deciding)}
        told = [(each, "", []) for each in reversed(reasons.values())]
    lines: list[str] = []
    for example, title, more in told[:_MOST_FINDINGS]:
        rows = (*example.rows, *more, ("again", example.again))
        lines += [
            f'<div class="finding {slug(example.verdict)}">',
            *([f"<h4>{title}</h4>"] if title else []),
            '<dl class="words">',
            *(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in rows),
            *(
                f'<dt>{kind_of_file(path)}</dt><dd><a href="{_text(link_to(path, prefix))}">'
                f"{_text(path)}</a></dd>"
                for path in example.files
            ),
            "</dl></div>",
        ]
    if len(told) > _MOST_FINDINGS:
        lines.append(f'<p class="soft">… and {len(told) - _MOST_FINDINGS} more, see below</p>')
    return lines


def _prefix(report: Report, folder: Path | None) -> str:
    """What leads from the page to where the user started."""
    start = report.facts.directory
    if folder is None or start is None:
        return ""
    try:
        return Path(os.path.relpath(start, folder)).as_posix()
    except ValueError:  # another drive
        return start.as_posix()
