"""The report for programs: JSON in the form that `schema.json`, beside this file, describes.

The form has a version of its own. Members may be added within a version; none is renamed, dropped
or given another meaning. Conversations are there where something is not in order.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ..catalogue import Verdict
from .comparison import FORMAT, VERSION, Change, Comparison
from .model import JudgedRule, Report
from .results import ScenarioResult
from .shown import SHOWN


def render_json(report: Report) -> str:
    return json.dumps(report_json(report), indent=1, ensure_ascii=True) + "\n"


def report_json(report: Report) -> dict[str, Any]:
    facts = report.facts
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": {"name": "pytest-mcp-approval", "version": facts.version},
        "run": {
            "target": facts.target,
            "started": facts.started.isoformat(timespec="seconds"),
            "seconds": round(facts.seconds, 3),
            "strict": facts.strict,
            "select": list(facts.select),
            "header": [{"name": name, "value": value} for name, value in facts.header],
            "command": facts.command,
        },
        "summary": {
            "headline": report.headline,
            "verdict": str(report.verdict),
            "rules": _counts(report.counts),
            "checks": _counts(Counter(one.verdict for one in report.scenarios)),
        },
        "rules": [_rule(one) for one in report.rules],
        "scenarios": [_scenario(one) for one in report.scenarios],
        "comparison": _comparison(report.comparison) if report.comparison else None,
    }


def _counts(counts: Counter[Verdict]) -> dict[str, int]:
    return {str(verdict): counts[verdict] for verdict in SHOWN}


def _rule(one: JudgedRule) -> dict[str, Any]:
    rule = one.rule
    return {
        "id": rule.id,
        "family": rule.family,
        "section": rule.section,
        "place": rule.place,
        "level": rule.level,
        "rule": rule.rule,
        "watch": rule.watch,
        "needs": list(rule.needs),
        "verdict": str(one.verdict),
        "checks": _counts(one.counts),
    }


def _scenario(one: ScenarioResult) -> dict[str, Any]:
    in_order = one.verdict in (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    evidence = one.evidence
    return {
        "id": one.scenario,
        "rules": list(one.rules),
        "verdict": str(one.verdict),
        "seconds": round(one.seconds, 6),
        "why": one.why,
        "evidence": evidence
        and {"sent": evidence.sent, "expected": evidence.expected, "got": evidence.got},
        "again": one.again,
        "command": one.command,
        "replay": one.replay or None,
        "files": list(one.files),
        "location": {"path": one.path, "line": one.line},
        "conversation": json.loads(one.conversation) if one.conversation and not in_order else None,
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "earlier": {
            "name": found.earlier.name,
            "started": found.earlier.started,
            "target": found.earlier.target,
        },
        "better": [_change(change) for change in found.better],
        "worse": [_change(change) for change in found.worse],
        "other": [_change(change) for change in found.other],
        "unchanged": found.unchanged,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "rule": change.rule,
        "before": change.before and str(change.before),
        "after": change.after and str(change.after),
        "note": change.note,
    }
