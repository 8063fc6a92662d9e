"""One self-contained HTML page: the verdict, every rule, and the evidence of each finding.

No network, no scripts. Everything that is not ours is escaped. Knows no pytest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from ..catalogue import Requirement, Verdict
from .results import Results, ScenarioResult

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881;
  --passed: #1a7f37; --failed: #cf222e; --warning: #9a6700; --other: #6e7781; }
@media (prefers-color-scheme: dark) {
  :root { --passed: #3fb950; --failed: #f85149; --warning: #d29922; --other: #8b949e; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-size: 1.2rem; font-weight: 600; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem;
  border-top: 1px solid var(--line); }
td:first-child, td:last-child { white-space: nowrap; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { background: var(--soft); padding: .6rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: .4rem 0; }
.passed { color: var(--passed); } .failed { color: var(--failed); }
.warning { color: var(--warning); } .other { color: var(--other); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { color: var(--other); } dd { margin: 0; overflow-wrap: anywhere; }
"""
_CLASSES = {
    Verdict.PASSED: "passed",
    Verdict.FAILED: "failed",
    Verdict.HARNESS_ERROR: "failed",
    Verdict.WARNING: "warning",
}
_MOST_SCENARIOS = 20
"""Of one rule that are shown; the others are counted."""


def render_html(
    results: Results, rules: Sequence[Requirement], header: Sequence[tuple[str, str]]
) -> str:
    """The page of a run."""
    verdicts = {rule.id: results.verdict_of(rule.id) for rule in rules}
    counts = Counter(verdict for verdict in verdicts.values() if verdict is not None)
    worst = next(
        (v for v in (Verdict.HARNESS_ERROR, Verdict.FAILED, Verdict.WARNING) if counts[v]),
        Verdict.PASSED,
    )
    summary = " · ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    target = next((value for name, value in header if name == "target"), "")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(target)}: human approval</title><style>{_STYLE}</style></head><body>",
        "<h1>Human approval, judged by rule</h1>",
        f'<p class="verdict {_CLASSES.get(worst, "other")}">{escape(summary)}</p>',
        "<dl>",
        *(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in header),
        f"<dt>checks</dt><dd>{len(results.scenarios)} in {results.seconds:.1f} s</dd>",
        "</dl>",
    ]
    for family in dict.fromkeys(rule.family for rule in rules):
        judged = [r for r in rules if r.family == family and verdicts[r.id] is not None]
        if judged:
            parts += _family(judged, results)
    parts.append("</body></html>")
    return "\n".join(parts)


def _family(rules: Sequence[Requirement], results: Results) -> list[str]:
    """What is not in order first, with its evidence; then the rest, a line each."""
    open_rules = [r for r in rules if results.verdict_of(r.id) is not Verdict.PASSED]
    passed = [r for r in rules if results.verdict_of(r.id) is Verdict.PASSED]
    document = escape(rules[0].document)
    parts = []
    if open_rules:
        parts += _table(f"{document}: to look at", open_rules, results)
    if passed:
        parts += _table(f"{document}: passed", passed, results)
    return parts


def _table(title: str, rules: Sequence[Requirement], results: Results) -> list[str]:
    rows = [f"<h2>{title}</h2>", "<table>"]
    rows.append(
        "<thead><tr><th scope=col>verdict</th><th scope=col>rule</th>"
        "<th scope=col>level</th><th scope=col>where</th></tr></thead><tbody>"
    )
    for rule in rules:
        verdict = results.verdict_of(rule.id)
        assert verdict is not None
        shown = results.of(rule.id, verdict)
        detail = "" if verdict is Verdict.PASSED else "".join(_scenarios(shown))
        checks = sum(1 for one in results if rule.id in one.rules)
        rows.append(
            f'<tr id="{escape(rule.id)}"><td class="{_CLASSES.get(verdict, "other")}">'
            f"{escape(verdict)}</td><td>{escape(rule.rule)}<br>"
            f'<code class="other">{escape(rule.id)}</code> '
            f'<span class="other">{checks} checks</span>{detail}</td>'
            f"<td>{escape(rule.level)}</td><td>{escape(rule.place)}</td></tr>"
        )
    return [*rows, "</tbody></table>"]


def _scenarios(shown: Sequence[ScenarioResult]) -> list[str]:
    lines = []
    reasons: set[str] = set()
    for one in shown[:_MOST_SCENARIOS]:
        if one.evidence is None:
            if one.why not in reasons:
                lines.append(f"<pre>{escape(one.why)}</pre>")
            reasons.add(one.why)
            continue
        text = (
            f"sent      {one.evidence.sent}\nexpected  {one.evidence.expected}\n"
            f"got       {one.evidence.got}\nagain     {one.again}"
        )
        lines.append(f"<pre>{escape(text)}</pre>")
    if len(shown) > _MOST_SCENARIOS:
        lines.append(f"<p>… and {len(shown) - _MOST_SCENARIOS} more</p>")
    return lines
