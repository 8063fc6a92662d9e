"""The report for programs: JSON in the form that `schema.json`, beside this file, describes.

The form has a version of its own. Members may be added within a version; none is renamed, dropped
or given another meaning. Conversations are kept for checks with a problem, as many as there is
room for; whatever repeats in them is kept once, under the digest of its text.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from ..catalogue import Verdict
from .comparison import FORMAT, VERSION, Comparison
from .findings import GroupedFinding
from .keeping import by_interest, room_for, shared_conversations
from .model import JudgedRule, Report
from .results import ScenarioResult
from .shown import SHOWN

_FOR_EACH_CHECK = 5_500
"""Characters of conversations: a report of a thousand checks stays below eight megabytes."""


def render_json(report: Report) -> str:
    """A line for each rule, finding and check: indenting every step would double the size."""
    members = [
        f"{json.dumps(name)}: {_member(value)}" for name, value in report_json(report).items()
    ]
    return "{\n" + ",\n".join(members) + "\n}\n"


def _member(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_compact, value)) + "\n]"
    if isinstance(value, dict) and value:
        items = (f"{json.dumps(name)}: {_compact(one)}" for name, one in value.items())
        return "{\n" + ",\n".join(items) + "\n}"
    return json.dumps(value)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def report_json(report: Report) -> dict[str, Any]:
    facts = report.facts
    kept = shared_conversations(
        (one for one in by_interest(report) if is_told(one)), room_for(report, _FOR_EACH_CHECK)
    )
    told = sum(1 for one in report.scenarios if one.conversation and is_told(one))
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": {"name": "pytest-mcp-approval", "version": facts.version},
        "run": {
            "target": facts.target,
            "started": facts.started.isoformat(timespec="seconds"),
            "seconds": round(facts.seconds, 3),
            "strict": facts.strict,
            "select": facts.select,
            "header": [{"name": name, "value": value} for name, value in facts.header],
            "silentTools": [{"name": name, "why": why} for name, why in facts.silent],
            "command": facts.command,
        },
        "summary": {
            "headline": report.headline,
            "sentence": report.sentence,
            "cascade": report.cascade or None,
            "verdict": report.verdict,
            "rules": _counts(report.counts),
            "checks": _counts(Counter(one.verdict for one in report.scenarios)),
            "findings": _counts(Counter(one.verdict for one in report.findings)),
            "conversationsLeftOut": told - len(kept.conversations),
        },
        "findings": [_finding(one) for one in report.findings],
        "rules": [_rule(one) for one in report.rules],
        "scenarios": [
            _scenario(one, kept.conversations.get(one.scenario)) for one in report.scenarios
        ],
        "exploration": [one.to_json() for one in facts.explored],
        "bodies": kept.bodies,
        "headers": kept.headers,
        "comparison": _comparison(report.comparison) if report.comparison else None,
    }


def _counts(counts: Counter[Verdict]) -> dict[str, int]:
    return {verdict: counts[verdict] for verdict in SHOWN}


def _rule(one: JudgedRule) -> dict[str, Any]:
    shown = ("id", "family", "section", "place", "level", "rule", "watch", "needs")
    return {
        **{name: getattr(one.rule, name) for name in shown},
        "fix": one.rule.fix or None,
        "link": one.rule.link or None,
        "verdict": one.verdict,
        "checks": _counts(one.counts),
        "notes": one.notes,
    }


def is_told(one: ScenarioResult) -> bool:
    """Whether its conversation is kept."""
    return one.verdict not in (Verdict.PASSED, Verdict.NOT_APPLICABLE)


def _finding(one: GroupedFinding) -> dict[str, Any]:
    return {
        "number": one.number,
        "rule": one.rule.id,
        "verdict": one.verdict,
        **_said(one.example),
        "example": one.example.scenario,
        "variants": [variant.scenario for variant in one.variants],
        "labels": one.labels,
        "alike": one.alike,
    }


def _said(one: ScenarioResult) -> dict[str, Any]:
    evidence = one.evidence and vars(one.evidence)
    return {"why": one.why, "evidence": evidence, "again": one.again}


def _scenario(one: ScenarioResult, conversation: Any) -> dict[str, Any]:
    return {
        "id": one.scenario,
        "rules": one.rules,
        "verdict": one.verdict,
        "minor": one.minor,
        "seconds": round(one.seconds, 6),
        **_said(one),
        "command": one.command,
        "replay": one.replay or None,
        "files": one.files,
        "steps": one.steps,
        "location": {"path": one.path, "line": one.line},
        "conversation": conversation,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    told = asdict(found)
    del told["earlier"]["rules"]  # they are in that run's own report
    return told
