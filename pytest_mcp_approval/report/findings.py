"""Failures by cause: those that share a rule, an expectation and an answer are one finding.

A finding is shown by its simplest example; the other checks that found it are its variants.
`normalising` decides which answers count as the same. Knows no format.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..catalogue import Requirement, Verdict
from ..support.text import neutralise
from .normalising import gist
from .results import ScenarioResult

FOUND = (Verdict.FAILED, Verdict.WARNING, Verdict.KNOWN)
"""The verdicts that make a finding, in the order in which they are shown."""
_NOT_IN_ORDER = (Verdict.FAILED, Verdict.WARNING, Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR)
_LONGEST_LABEL = 45
_CASCADE_CHECKS = 10
_CASCADE_RULES = 5
"""Fewer are no cascade: one or two rules may be broken in the same way."""
_LONGEST_REASON = 300
_EXPECTED = re.compile(
    r"(?:a JSON-RPC error with code )?(?P<code>-3\d{4})"
    r"(?: (?P<reasons>\w+(?: or \w+)*))?(?:, (?P<effect>.+))?"
)
_CAME = re.compile(r"error (?P<code>-?\d+) (?P<reason>\w+)(?:, (?P<effect>.+))?")
_NOTED_CODE = re.compile(
    r"error (?P<code>-?\d+) .*the reason is right, and section .* fixes the code"
)
_NOT_RUN = re.compile(r"\b(?:tool|operation|content) not run\b")
_SAID = re.compile(
    r"(?:honest calls fail since|error -?\d+|HTTP \d{3}|no answer|the connection) .*"
)
_EFFECT = re.compile(r"[,;] (?:tool|operation|content|something) (?:not run|ran|run\b.*)$")


@dataclass(frozen=True)
class GroupedFinding:
    """One cause under one rule."""

    number: int
    """Its number in the report; 1 is the first."""
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
        """What is different about each variant, in a few words, without repetitions."""
        texts = [_told(one) for one in self.checks]
        own = _own_words(texts)
        counts = Counter(_label(own[place], one) for place, one in enumerate(self.checks) if place)
        return [f"{text} ({n} times)" if n > 1 else text for text, n in counts.items()]

    def rows(self, most: int) -> list[tuple[str, str]]:
        """What all its checks have in common, with the labels of at most so many variants."""
        rows = []
        if self.variants:
            labels = self.labels
            more = f"; and {len(labels) - most} more" if len(labels) > most else ""
            shown = "; ".join(labels[:most])
            rows.append(("also", f"{len(self.variants)} more like it: {shown}{more}"))
        if self.alike:
            numbers = ", ".join(map(str, self.alike))
            rows.append(("alike", f"wrong in the same way: finding {numbers}"))
        return rows


def group_findings(
    scenarios: Iterable[ScenarioResult], rules: Sequence[Requirement]
) -> tuple[GroupedFinding, ...]:
    """The findings of a run: failures first, then warnings, then what is known, each by rule."""
    places = {rule.id: place for place, rule in enumerate(rules)}
    groups: dict[tuple[int, int, str, str], list[ScenarioResult]] = {}
    for one in scenarios:
        named = [places[name] for name in one.rules if name in places]
        if one.verdict in FOUND and named:
            key = (FOUND.index(one.verdict), named[0], *wrong_in(one))
            groups.setdefault(key, []).append(one)
    found = []
    # By verdict and rule; within a rule what ran comes first, then what most checks have found.
    ordered = sorted(
        groups.items(),
        key=lambda pair: (*pair[0][:2], not has_run(pair[1][0]), -len(pair[1]), pair[0][2:]),
    )
    for number, ((_, place, *_), checks) in enumerate(ordered, 1):
        example, *variants = sorted(checks, key=_complexity)
        found.append(
            GroupedFinding(number, rules[place], example.verdict, example, tuple(variants))
        )
    return _with_alike(found)


def answer_of(one: ScenarioResult) -> tuple[str, str]:
    """What was expected and what came, as far as it counts."""
    found = one.evidence
    if found is not None:
        return gist(found.expected, found.sent), gist(found.got, found.sent)
    # A note says "what was sent: what came", and perhaps "; how it is read".
    sent, _, came = one.why.partition(": ")
    return "", gist(came or sent, sent)


def wrong_in(one: ScenarioResult) -> tuple[str, str]:
    """What is wrong, as far as it counts. Where all is right but the code, that is what is wrong,
    whatever the reason was."""
    told = only_the_code(one)
    return (told, "") if told else answer_of(one)


def only_the_code(one: ScenarioResult) -> str:
    """A line, if the answer has the expected reason and effect under another code."""
    found = one.evidence
    if found is None:
        noted = _NOTED_CODE.search(one.why)
        return f"code {noted['code']} instead of the document's, else as expected" if noted else ""
    wanted = _EXPECTED.fullmatch(found.expected)
    came = _CAME.fullmatch(gist(found.got))
    if not wanted or not came or came["code"] == wanted["code"]:
        return ""
    # A check of codes alone says in what it sent which reason it provokes.
    reasons = wanted["reasons"] or found.sent
    if not re.search(rf"\b{came['reason']}\b", reasons) or wanted["effect"] != came["effect"]:
        return ""
    return f"code {came['code']} instead of {wanted['code']}, else as expected"


def breaks_the_server(one: GroupedFinding) -> bool:
    """Whether honest calls fail after its example."""
    found = one.example.evidence
    return found is not None and "honest calls fail" in found.got


def has_run(one: ScenarioResult) -> bool:
    """Whether something ran that had to be refused."""
    found = one.evidence
    return bool(found and _NOT_RUN.search(found.expected) and not _NOT_RUN.search(found.got))


def _with_alike(found: Sequence[GroupedFinding]) -> tuple[GroupedFinding, ...]:
    by_answer: dict[tuple[Verdict, str, str], list[int]] = {}
    for one in found:
        if one.example.evidence is not None or only_the_code(one.example):
            by_answer.setdefault((one.verdict, *wrong_in(one.example)), []).append(one.number)
    shared = {number: numbers for numbers in by_answer.values() for number in numbers}
    return tuple(
        replace(one, alike=tuple(n for n in shared.get(one.number, ()) if n != one.number))
        for one in found
    )


def _complexity(one: ScenarioResult) -> tuple[int, str]:
    told = one.evidence
    return (len(told.sent) + len(told.got) if told else len(one.why)), one.scenario


def _told(one: ScenarioResult) -> str:
    return one.evidence.sent if one.evidence is not None else one.why.partition(": ")[0]


def _own_words(texts: Sequence[str]) -> list[str]:
    """Each text without the words that all begin with, and all end with."""
    split = [text.split(" ") for text in texts]
    ahead = _shared(split)
    behind = _shared([words[ahead:][::-1] for words in split])
    return [" ".join(words[ahead : len(words) - behind]).strip(" ,;:") for words in split]


def _shared(texts: Sequence[Sequence[str]]) -> int:
    """How many words all of them begin with."""
    columns = zip(*texts, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda words: len(set(words)) == 1, columns))


def _label(own: str, one: ScenarioResult) -> str:
    """A check in a few words: what it sent; if that is long, what pytest's id has in brackets."""
    if 0 < len(own) <= _LONGEST_LABEL:
        return own
    name, bracket, rest = one.name.partition("[")
    text = rest.removesuffix("]") if bracket else name.removeprefix("test_").replace("_", " ")
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def cascade(scenarios: Sequence[ScenarioResult]) -> str:
    """A line, if most problems of a run have the same reason; else nothing."""
    wrong = [one for one in scenarios if one.verdict in _NOT_IN_ORDER and not one.minor]
    reasons: dict[str, list[ScenarioResult]] = {}
    for one in wrong:
        reasons.setdefault(_reason(one), []).append(one)
    most = max(reasons.values(), key=len, default=[])
    if len(most) < _CASCADE_CHECKS or len(most) * 2 < len(wrong):
        return ""
    all_rules = {rule for one in scenarios for rule in one.rules}
    concerned = {rule for one in most for rule in one.rules}
    if len(concerned) < _CASCADE_RULES or len(concerned) * 4 < len(all_rules):
        return ""
    example = min(most, key=_complexity)
    what = neutralise(only_the_code(example) or _core(example.got), _LONGEST_REASON)
    return f"{len(wrong)} checks are not in order, {len(most)} of them for one reason: {what}"


def _reason(one: ScenarioResult) -> str:
    sent = one.evidence.sent if one.evidence is not None else ""
    return only_the_code(one) or gist(_core(one.got), sent)


def _core(text: str) -> str:
    """What the server said, without the suite's own words."""
    said = _SAID.search(text)
    return _EFFECT.sub("", said[0]) if said else text
