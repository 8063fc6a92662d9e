"""The verdict as a small picture for a README: what was checked, and the result."""

from __future__ import annotations

from html import escape

from ..catalogue import Verdict, catalogue
from .model import Report

_COLOURS = {
    Verdict.PASSED: "#17734a",
    Verdict.FAILED: "#b3202f",
    Verdict.HARNESS_ERROR: "#7a2a9c",
    Verdict.KNOWN: "#7d4a1e",
    Verdict.WARNING: "#835300",
    Verdict.NOT_VERIFIED: "#4d5871",
    Verdict.NOT_APPLICABLE: "#63656b",
}
_NARROW = frozenset("fijlrt.,:;!|()[]'· ")
_WIDE = frozenset("mwMW@%—")


def render_badge(report: Report) -> str:
    left, right = _subject(report), _words(report)
    colour = _COLOURS[report.verdict]
    a, b = _width(left) + 20, _width(right) + 20
    title = escape(f"{left}: {right}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="22" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{a + b}" height="22" rx="5"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{a}" height="22" fill="#3c4049"/>'
        f'<rect x="{a}" width="{b}" height="22" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-size="11.5" '
        'font-family="Verdana,DejaVu Sans,Geneva,sans-serif">'
        f'<text x="{a / 2:g}" y="15" textLength="{a - 20}">{escape(left)}</text>'
        f'<text x="{a + b / 2:g}" y="15" textLength="{b - 20}">{escape(right)}</text></g></svg>\n'
    )


def _subject(report: Report) -> str:
    documents = [catalogue(family).document for family in report.families]
    return documents[0] if len(documents) == 1 else "human approval"


def _words(report: Report) -> str:
    counts = report.counts
    judged = sum(counts.values()) - counts[Verdict.NOT_APPLICABLE]
    if counts[Verdict.FAILED]:
        return f"{counts[Verdict.FAILED]} of {judged} broken"
    if counts[Verdict.HARNESS_ERROR]:
        return "error"
    held = counts[Verdict.PASSED]
    words = f"{held} of {judged} hold"
    for verdict, word in ((Verdict.KNOWN, "known"), (Verdict.WARNING, "warned")):
        if counts[verdict]:
            words += f", {counts[verdict]} {word}"
    return words


def _width(text: str) -> int:
    """About as wide as Verdana makes it; textLength corrects the rest."""
    return round(sum(4.3 if c in _NARROW else 10.5 if c in _WIDE else 7.4 for c in text))
