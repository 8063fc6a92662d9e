"""Failures by cause: those that share a rule, an expectation and an answer are one finding.

A finding is told by its simplest example; the other checks that found it are its variants. What
counts as the same answer is `normalising`'s to know. Knows no format.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..catalogue import Requirement, Verdict
from .normalising import gist
from .results import ScenarioResult

FOUND = (Verdict.FAILED, Verdict.WARNING, Verdict.KNOWN)
"""The verdicts that make a finding, in the order of telling."""
_NOT_IN_ORDER = (Verdict.FAILED, Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR)
_LONGEST_LABEL = 60
_CASCADE_CHECKS = 10
_SAID = re.compile(r"(?:error -?\d+|HTTP \d{3}|no answer|the connection) .*")
_EFFECT = re.compile(r"[,;] (?:tool|operation|content|something) (?:not run|ran|run\b.*)$")


@dataclass(frozen=True)
class GroupedFinding:
    """One cause under one rule."""

    number: int
    """As people name it; 1 is the first."""
    rule: Requirement
    verdict: Verdict
    example: ScenarioResult
    """The simplest of its checks."""
    variants: tuple[ScenarioResult, ...] = ()
    """The other checks that found the same."""
    alike: tuple[int, ...] = ()
    """Findings of other rules with the same expectation and the same answer."""

    @property
    def checks(self) -> tuple[ScenarioResult, ...]:
        return (self.example, *self.variants)

    @property
    def labels(self) -> list[str]:
        """What is different about each variant, in a few words; the same words once."""
        texts = [_told(one) for one in self.checks]
        own = _own_words(texts)
        counts = Counter(
            own[place] or _parameters(one) for place, one in enumerate(self.checks) if place
        )
        return [_short(text) + (f" ({n} times)" if n > 1 else "") for text, n in counts.items()]


def group_findings(
    scenarios: Iterable[ScenarioResult], rules: Sequence[Requirement]
) -> tuple[GroupedFinding, ...]:
    """The findings of a run: failures first, then warnings, then what is known, each by rule."""
    places = {rule.id: place for place, rule in enumerate(rules)}
    groups: dict[tuple[int, int, str, str], list[ScenarioResult]] = {}
    for one in scenarios:
        named = [places[name] for name in one.rules if name in places]
        if one.verdict in FOUND and named:
            key = (FOUND.index(one.verdict), named[0], *answer_of(one))
            groups.setdefault(key, []).append(one)
    found = []
    # By verdict and rule; within a rule what most checks have found.
    ordered = sorted(groups.items(), key=lambda pair: (*pair[0][:2], -len(pair[1]), pair[0][2:]))
    for number, ((_, place, *_), checks) in enumerate(ordered, 1):
        example, *variants = sorted(checks, key=_complexity)
        found.append(
            GroupedFinding(number, rules[place], example.verdict, example, tuple(variants))
        )
    return _with_alike(found)


def answer_of(one: ScenarioResult) -> tuple[str, str]:
    """What was expected and what came, as far as it counts."""
    if one.evidence is None:
        return "", gist(one.why)
    evidence = one.evidence
    return gist(evidence.expected, evidence.sent), gist(evidence.got, evidence.sent)


def _with_alike(found: Sequence[GroupedFinding]) -> tuple[GroupedFinding, ...]:
    by_answer: dict[tuple[Verdict, str, str], list[int]] = {}
    for one in found:
        if one.example.evidence is not None:
            key = (one.verdict, *answer_of(one.example))
            by_answer.setdefault(key, []).append(one.number)
    shared = {number: numbers for numbers in by_answer.values() for number in numbers}
    return tuple(
        replace(one, alike=tuple(n for n in shared.get(one.number, ()) if n != one.number))
        for one in found
    )


def _complexity(one: ScenarioResult) -> tuple[int, str]:
    told = one.evidence
    return (len(told.sent) + len(told.got) if told else len(one.why)), one.scenario


def _told(one: ScenarioResult) -> str:
    return one.evidence.sent if one.evidence is not None else ""


def _own_words(texts: Sequence[str]) -> list[str]:
    """Each text without the words that all begin with, and all end with."""
    split = [text.split(" ") for text in texts]
    ahead = len(os.path.commonprefix(split))
    behind = len(os.path.commonprefix([words[ahead:][::-1] for words in split]))
    return [" ".join(words[ahead : len(words) - behind]).strip(" ,;:") for words in split]


def _parameters(one: ScenarioResult) -> str:
    """What pytest's id has in brackets; else the scenario's name."""
    name, bracket, rest = one.name.partition("[")
    return rest.removesuffix("]") if bracket else name.removeprefix("test_").replace("_", " ")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def cascade(scenarios: Sequence[ScenarioResult]) -> str:
    """A line, if most of what is not in order has one and the same reason; else nothing."""
    wrong = [one for one in scenarios if one.verdict in _NOT_IN_ORDER]
    reasons: dict[str, list[ScenarioResult]] = {}
    for one in wrong:
        reasons.setdefault(_reason(one), []).append(one)
    most = max(reasons.values(), key=len, default=[])
    if len(most) < _CASCADE_CHECKS or len(most) * 2 < len(wrong):
        return ""
    all_rules = {rule for one in scenarios for rule in one.rules}
    if len({rule for one in most for rule in one.rules}) * 4 < len(all_rules):
        return ""
    example = min(most, key=_complexity)
    what = _core(example.evidence.got if example.evidence is not None else example.why)
    return f"one reason for {len(most)} of the {len(wrong)} checks that did not pass: {what}"


def _reason(one: ScenarioResult) -> str:
    if one.evidence is not None:
        return gist(_core(one.evidence.got), one.evidence.sent)
    return gist(_core(one.why))


def _core(text: str) -> str:
    """What the server said, whatever the suite had to say about it."""
    said = _SAID.search(text)
    return _EFFECT.sub("", said[0]) if said else text
