"""How each verdict is shown: its word, its mark, its rank. One table for every reporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..catalogue import Verdict


@dataclass(frozen=True)
class Shown:
    """One verdict, for people."""

    mark: str
    """In the terminal: one character."""
    glyph: str
    """On a page."""
    emoji: str
    """In Markdown, where there are no colours."""
    meaning: str

    rank: int = 0
    """If several scenarios of a rule differ, the highest decides."""


SHOWN: dict[Verdict, Shown] = {
    Verdict.PASSED: Shown("●", "✓", "✅", "the server keeps the rule, as far as was looked", 1),
    Verdict.FAILED: Shown("✗", "✗", "❌", "a MUST is broken", 5),
    Verdict.KNOWN: Shown("k", "k", "📌", "broken, and the baseline says so", 4),
    Verdict.WARNING: Shown("!", "!", "⚠️", "a SHOULD is not met, or a reading just allows it", 3),
    Verdict.NOT_VERIFIED: Shown(
        "○", "○", "⚪", "it could not be checked; the reason says what to configure", 2
    ),
    Verdict.NOT_APPLICABLE: Shown(
        "-", "\u2013", "\u2796", "the rule does not concern this server", 0
    ),
    Verdict.HARNESS_ERROR: Shown("?", "?", "💥", "the suite itself failed", 6),
}
"""In the order in which counts are shown."""

WORST_FIRST = sorted(SHOWN, key=lambda verdict: -SHOWN[verdict].rank)


def slug(verdict: Verdict | str) -> str:
    """The verdict as a class in CSS."""
    return str(verdict).replace(" ", "-")


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The one that decides; None if there is none."""
    return max(verdicts, key=lambda verdict: SHOWN[verdict].rank, default=None)


def counted(counts: Counter[Verdict]) -> list[tuple[int, Verdict]]:
    """The counts that are not zero, in the order in which they are shown."""
    return [(counts[verdict], verdict) for verdict in SHOWN if counts[verdict]]


def phrase(count: int, verdict: Verdict) -> str:
    """For example "1 failed (MUST)" or "2 warnings"."""
    plural = "s" if count != 1 and verdict in (Verdict.WARNING, Verdict.HARNESS_ERROR) else ""
    return f"{count} {verdict}{plural}{' (MUST)' if verdict is Verdict.FAILED else ''}"


def headline(counts: Counter[Verdict]) -> str:
    """The result of a run, in one sentence. Rules that do not apply are not counted."""
    total = sum(counts.values()) - counts[Verdict.NOT_APPLICABLE]
    rules = f"{total} rule{'s' if total != 1 else ''}"
    if not total:
        return "Nothing was checked"
    if counts[Verdict.FAILED]:
        return f"{counts[Verdict.FAILED]} of {rules} broken"
    if counts[Verdict.HARNESS_ERROR]:
        return f"The suite itself failed on {counts[Verdict.HARNESS_ERROR]} of {rules}"
    if counts[Verdict.NOT_VERIFIED] * 2 > total:
        return f"Nothing broken, but {counts[Verdict.NOT_VERIFIED]} of {rules} could not be checked"
    if counts[Verdict.KNOWN]:
        return f"Nothing newly broken; {counts[Verdict.KNOWN]} of {rules} known to be"
    if counts[Verdict.WARNING]:
        return f"No MUST is broken; {phrase(counts[Verdict.WARNING], Verdict.WARNING)}"
    if counts[Verdict.NOT_VERIFIED]:
        return f"Nothing broken; {counts[Verdict.NOT_VERIFIED]} of {rules} could not be checked"
    return f"All {rules} hold" if total > 1 else "The rule holds"
