"""One self-contained HTML page: the verdict, every rule, the evidence, and what really went over
the wire.

No network: its policy forbids the browser to load anything, and to run any script but the one in
it. Verdict, matrix, rules and findings stand in the page itself; conversations are packed data that
the script (page.js) shows through text nodes. Everything that is not ours is escaped. Knows no
pytest and no family.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..catalogue import Requirement, Verdict, catalogue
from ..config.registry import registered
from .comparison import Change, Comparison
from .findings import GroupedFinding
from .model import JudgedRule, Report
from .normalising import gist
from .packing import link_to, packed_blocks
from .results import ScenarioResult, kind_of_file
from .shown import SHOWN, WORST_FIRST, counted, phrase, slug

_MOST_FINDINGS = 6
"""Of one rule that stand in the page itself; all checks are in its list of scenarios."""
_MOST_LABELS = 40
_OPEN_AT_FIRST = 3
_MOST_BROKEN = 10
_MOST_CHANGES = 12
_MOST_REASONS = 12
_LONGEST = 4_000
"""Characters of one text in the page itself."""


def render_html(report: Report, folder: Path | None = None) -> str:
    """The page of a run; `folder` is where it will be."""
    here = Path(__file__).parent
    prefix = _prefix(report, folder)
    style = (here / "page.css").read_text(encoding="utf-8")
    script = "\n".join(path.read_text(encoding="utf-8") for path in _scripts(report))
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    glyphs = json.dumps({str(verdict): SHOWN[verdict].glyph for verdict in SHOWN})
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_text(report.headline)}: {_text(report.facts.target, 120)}</title>",
        f"<style>{style}</style></head><body>",
        '<a class="skip" href="#rules">To the rules</a>',
        *_top(report),
        "<main>",
        *(_comparison(report.comparison) if report.comparison else ()),
        *_not_verified(report),
        *_matrix(report),
        *_filters(report),
        '<div id="rules">',
        *_rules(report, prefix),
        "</div></main>",
        *_footer(report),
        f'<script type="application/json" id="glyphs">{glyphs}</script>',
        *(
            f'<script type="application/x-packed" id="packed-{name}">{data}</script>'
            for name, data in packed_blocks(report, prefix).items()
        ),
        f"<script>{script}</script>",
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _scripts(report: Report) -> list[Path]:
    """What runs in the page: the suite's, with what each family knows of its messages."""
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


def _top(report: Report) -> list[str]:
    facts, verdict = report.facts, report.verdict
    checks = f"{_checks(len(report.scenarios))} in {facts.seconds:.1f} s"
    when = f"{facts.started:%d %B %Y, %H:%M} UTC"
    lines = [
        '<header class="top">',
        f'<div class="brand"><span><b>pytest-mcp-approval</b> {_text(facts.version)}</span>'
        f"<span>{when} · {checks}</span></div>",
        f'<div class="verdict card {slug(verdict)}">',
        f'<span class="seal" aria-hidden="true">{SHOWN[verdict].glyph}</span>',
        f"<h1>{_text(report.headline)}</h1>",
        f'<p class="of">Human approval at <code>{_text(facts.target, 300)}</code>: '
        f"{_text(report.sentence, 400)}</p>",
        *([f'<p class="cascade">{_text(report.cascade, 600)}</p>'] if report.cascade else []),
        _bar(report),
        '<ul class="legend">',
        *(
            f'<li class="{slug(found)}"><span class="mark" aria-hidden="true">'
            f"{SHOWN[found].glyph}</span><b>{count}</b>"
            f"{_text(phrase(count, found)).removeprefix(str(count))}</li>"
            for count, found in counted(report.counts)
        ),
        "</ul>",
        *_broken(report),
        "</div>",
    ]
    rows = list(dict.fromkeys(facts.header))  # families may say the same
    if facts.select:
        rows.append(("only", ", ".join(facts.select)))
    lines.append('<dl class="facts card">')
    for name, value in rows:
        kind = ' class="missing"' if name == "missing" else ""
        lines.append(f"<dt>{_text(name)}</dt><dd{kind}>{_text(value)}</dd>")
    lines.append(f"<dt>again</dt><dd><code>{_text(facts.command)}</code></dd></dl></header>")
    return lines


def _broken(report: Report) -> list[str]:
    """What a reader wants to know first: the findings, and what the suite stumbled over."""
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
    return f" · {_checks(len(one.checks))}{got}"


def _checks(count: int) -> str:
    return f"{count} check{'s' if count != 1 else ''}"


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
    what = change.note or f"{change.before or 'not there'} → {change.after or 'not there'}"
    name = _text(change.rule)
    link = f'<a href="#{name}">{name}</a>' if change.after is not None else name
    return f'<li>{link}<br><span class="soft">{_text(what)}</span></li>'


def _not_verified(report: Report) -> list[str]:
    """Why something could not be judged, the reason that concerns most rules first."""
    reasons: dict[str, list[JudgedRule]] = {}
    for one in report.rules:
        for why in dict.fromkeys(
            found.why
            for found in one.scenarios
            if found.verdict is Verdict.NOT_VERIFIED and one.verdict is not Verdict.PASSED
        ):
            reasons.setdefault(why, []).append(one)
    if not reasons:
        return []
    lines = ["<h2>Not verified, and why</h2>", '<ul class="reasons card not-verified">']
    ordered = sorted(reasons.items(), key=lambda pair: -len(pair[1]))
    for why, rules in ordered[:_MOST_REASONS]:
        count = f"{len(rules)} rule{'s' if len(rules) != 1 else ''}"
        links = ", ".join(
            f'<a href="#{_text(one.rule.id)}">{_text(one.rule.name)}</a>' for one in rules[:8]
        )
        more = f" and {len(rules) - 8} more" if len(rules) > 8 else ""
        lines.append(
            f"<li><b>{count}</b> <span>{_text(why, 600)}<br>"
            f"<small>{links}{more}</small></span></li>"
        )
    return [*lines, *_and_more(len(ordered) - _MOST_REASONS), "</ul>"]


def _matrix(report: Report) -> list[str]:
    """Sections by rule: a cell for each, which leads to it."""
    lines = ["<h2>Every rule, by section</h2>"]
    for family, rules in report.families.items():
        document = catalogue(family).document
        sections: dict[str, list[JudgedRule]] = {}
        for one in rules:
            sections.setdefault(one.rule.section, []).append(one)
        lines += [
            f'<table class="matrix card"><caption class="unseen">{_text(document)}</caption>',
            f"<thead><tr><th scope=col>{_text(document)}</th><th scope=col>rules</th>"
            "<th scope=col>passed</th></tr></thead><tbody>",
        ]
        for section, held in sections.items():
            passed = sum(1 for one in held if one.verdict is Verdict.PASSED)
            lines.append(
                f"<tr><th scope=row>{'§' + _text(section) if section else 'general'}</th>"
                f'<td><div class="cells">{"".join(map(_cell, held))}</div></td>'
                f"<td>{passed} of {len(held)}</td></tr>"
            )
        lines.append("</tbody></table>")
    return lines


def _cell(one: JudgedRule) -> str:
    name = f"{one.rule.name}: {one.verdict}"
    return (
        f'<a class="cell {slug(one.verdict)}" href="#{_text(one.rule.id)}" '
        f'title="{_text(name)}" aria-label="{_text(name)}">{SHOWN[one.verdict].glyph}</a>'
    )


def _filters(report: Report) -> list[str]:
    levels = list(dict.fromkeys(one.rule.level for one in report.rules))
    return [
        "<h2>The rules</h2>",
        '<form class="filters card" id="filters" role="search" hidden>',
        '<input type="search" id="sought" aria-label="Search the rules" '
        'placeholder="Search: a word, an id, a section">',
        '<select id="level" aria-label="Level"><option value="">any level</option>',
        *(f"<option>{_text(level)}</option>" for level in levels),
        '</select><fieldset class="chips"><legend class="unseen">Verdict</legend>',
        *(
            f'<label class="chip {slug(verdict)}"><input type="checkbox" value="{verdict}">'
            f"<span>{SHOWN[verdict].glyph} {verdict}</span> {report.counts[verdict]}</label>"
            for verdict in WORST_FIRST
            if report.counts[verdict]
        ),
        "</fieldset></form>",
        '<p class="shown" id="shown" role="status"></p>',
    ]


# ---- the rules


def _rules(report: Report, prefix: str) -> list[str]:
    """What is not in order first, whatever family it is of; then as the documents have them."""
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
    checks = _checks(len(one.scenarios))
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
    if rule.needs:
        lines.append(f"<dt>needs</dt><dd>{_text(', '.join(rule.needs))}</dd>")
    lines += [f"<dt>note</dt><dd>{_text(note)}</dd>" for note in one.notes]
    lines += ["</dl>", *_findings(one, found, prefix)]
    lines.append(f'<div class="scenarios" data-rule="{number}"></div></div></details>')
    return lines


def _findings(one: JudgedRule, found: Sequence[GroupedFinding], prefix: str) -> list[str]:
    """The evidence of what is not in order: one example a cause. What could not be judged, or what
    the suite stumbled over, is told by its reason."""
    told = [(each.example, f"finding {each.number}", each.rows(_MOST_LABELS)) for each in found]
    if not told and one.verdict not in (Verdict.PASSED, Verdict.NOT_APPLICABLE):
        reasons = {gist(each.why): each for each in reversed(one.deciding)}
        told = [(each, "", []) for each in reversed(reasons.values())]
    lines: list[str] = []
    for example, title, more in told[:_MOST_FINDINGS]:
        *rows, again = _evidence(example)
        lines += [
            f'<div class="finding {slug(example.verdict)}">',
            *([f"<h4>{title}</h4>"] if title else []),
            '<dl class="words">',
            *(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in (*rows, *more, again)),
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


def _evidence(found: ScenarioResult) -> list[tuple[str, str]]:
    if found.evidence is None:
        rows = [("why", found.why)]
    else:
        rows = [
            ("sent", found.evidence.sent),
            ("expected", found.evidence.expected),
            ("got", found.evidence.got),
        ]
        if found.verdict is Verdict.KNOWN:
            rows.append(("known", found.why))
    return [*rows, ("again", found.again)]


def _prefix(report: Report, folder: Path | None) -> str:
    """What leads from the page to where the user started."""
    start = report.facts.directory
    if folder is None or start is None:
        return ""
    try:
        return Path(os.path.relpath(start, folder)).as_posix()
    except ValueError:  # another drive
        return start.as_posix()


def _footer(report: Report) -> list[str]:
    return [
        "<footer><h2>How to read the verdicts</h2><dl>",
        *(
            f"<dt>{SHOWN[verdict].glyph} {verdict}</dt><dd>{SHOWN[verdict].meaning}</dd>"
            for verdict in SHOWN
        ),
        "</dl><p>A step of a conversation opens: what its parts mean, and the exact bytes. "
        "Characters that would not show are spelled out. "
        f"Made by pytest-mcp-approval {_text(report.facts.version)}; this page loads nothing "
        "from anywhere.</p></footer>",
    ]
