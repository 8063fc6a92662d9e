"""Which conversations a report keeps: the most telling first, until there is no more room.

A report that nobody can open tells nothing. Knows no format.
"""

from __future__ import annotations

from ..catalogue import Verdict
from .model import Report
from .normalising import gist
from .results import ScenarioResult
from .shown import SHOWN

_MANY = 1_000


def room_for(report: Report, for_each: int) -> int:
    """How much all conversations may take: so much for each check, and no less for a few."""
    return for_each * max(_MANY, len(report.scenarios))


def by_interest(report: Report) -> list[ScenarioResult]:
    """The checks that have a conversation: the example of each finding, one for each reason why
    something was not judged, one for each rule, and then the rest."""
    first = [one.example.scenario for one in report.findings]
    reasons = {
        gist(one.why): one.scenario
        for one in reversed(report.scenarios)
        if one.verdict in (Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR)
    }
    one_a_rule = [min(rule.scenarios, key=rank).scenario for rule in report.rules]
    names = dict.fromkeys((*first, *reasons.values(), *one_a_rule))
    ranks = {name: place for place, name in enumerate(names)}
    told = [one for one in report.scenarios if one.conversation]
    return sorted(told, key=lambda one: (ranks.get(one.scenario, len(ranks)), *rank(one)))


def rank(one: ScenarioResult) -> tuple[int, str]:
    """What is wrong before what is in order."""
    return -SHOWN[one.verdict].rank, one.scenario
