"""The findings as SARIF 2.1.0, as far as a code scanning upload reads it.

A result is about the user's server, of which a repository has one file that we know: the settings
file. So that is its place, at the line with the target; its scenario is a related location. Without
a file the scenario is its place: the file relative to the user's root if it is below it, else the
path in the scenario's id. There is one result for each finding. Fingerprints are made of ids that
never change, so that an alert stays the same alert.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from ..catalogue import Verdict
from ..config.registry import RULES, registered
from .findings import GroupedFinding
from .model import JudgedRule, Report
from .results import ScenarioResult

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"MUST": "error", "SHOULD": "warning", "MAY": "note"}
_RESULT_LEVELS = {
    Verdict.FAILED: "error",
    Verdict.WARNING: "warning",
    Verdict.KNOWN: "note",
}
_SEVERITIES = {"MUST": "8.0", "SHOULD": "4.0", "MAY": "1.0"}
_MOST_RESULTS = 5_000
"""Of a run that GitHub shows."""
_MOST_RELATED = 100


def render_sarif(report: Report) -> str:
    rules = [_rule(one) for one in report.rules]
    numbers = {one.rule.id: number for number, one in enumerate(report.rules)}
    judged = {one.rule.id: one for one in report.rules}
    results = [
        _result(judged[one.rule.id], one, numbers[one.rule.id], report.facts.settings_place)
        for one in report.findings[:_MOST_RESULTS]
    ]
    run = {
        "tool": {
            "driver": {
                "name": "pytest-mcp-approval",
                "semanticVersion": report.facts.version or "0.0.0",
                "rules": rules,
            }
        },
        "automationDetails": {"id": f"mcp-approval/{quote(report.facts.target, safe='')[:100]}/"},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "invocations": [
            {
                "executionSuccessful": not report.counts[Verdict.HARNESS_ERROR],
                "startTimeUtc": f"{report.facts.started:%Y-%m-%dT%H:%M:%SZ}",
                "toolExecutionNotifications": _notifications(report),
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(one: JudgedRule) -> dict[str, Any]:
    rule = one.rule
    help_text = f"{rule.place}, {rule.level}: {rule.rule}. What is looked at: {rule.watch}."
    fix = f"How to fix it: {rule.fix}" if rule.fix else ""
    return {
        **({"helpUri": rule.link} if rule.link else {}),
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.rule},
        "fullDescription": {"text": f"{rule.place}: {rule.rule}"},
        "help": {
            "text": f"{help_text} {fix}".rstrip(),
            "markdown": f"**{rule.level}**, {rule.place}\n\n{rule.rule}\n\n"
            f"What is looked at: {rule.watch}\n\n{fix}".rstrip(),
        },
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
        "properties": {
            "tags": ["security", "mcp", rule.family],
            "precision": "very-high",
            "problem.severity": {"MUST": "error"}.get(rule.level, "warning"),
            "security-severity": _SEVERITIES[rule.level],
        },
    }


def _result(
    one: JudgedRule, finding: GroupedFinding, number: int, settings: tuple[str, int] | None
) -> dict[str, Any]:
    found = finding.example
    text = str(found.evidence or found.why)
    if finding.variants:
        text += f"; {len(finding.variants)} more checks found the same"
    # The first by id, not the simplest: that depends on what the server says.
    first = min(check.scenario for check in finding.checks)
    print_ = hashlib.sha256(f"{one.rule.id}\n{first}".encode()).hexdigest()
    result: dict[str, Any] = {
        "ruleId": one.rule.id,
        "ruleIndex": number,
        "level": _RESULT_LEVELS[found.verdict],
        "message": _message(f"{one.rule.rule}: {text}"),
        "locations": [_location(found, settings)],
        "relatedLocations": [
            _stated(one),
            {"id": 2, "message": _message("the check that found it"), **_location(found)},
            *(
                {"id": place, "message": _message(f"also: {_told(variant)}"), **_location(variant)}
                for place, variant in enumerate(finding.variants[:_MOST_RELATED], 3)
            ),
        ],
        "occurrenceCount": len(finding.checks),
        "partialFingerprints": {
            "mcpApproval/v1": print_,
            "primaryLocationLineHash": f"{print_[:16]}:1",
        },
        "properties": {"again": found.again, "rules": found.rules},
    }
    if found.verdict is Verdict.KNOWN:
        result["suppressions"] = [{"kind": "external", "justification": found.why}]
    return result


def _told(found: ScenarioResult) -> str:
    return found.evidence.sent if found.evidence is not None else found.why


def _location(found: ScenarioResult, settings: tuple[str, int] | None = None) -> dict[str, Any]:
    path, line = settings or (found.path, found.line)
    return {
        "physicalLocation": _place(quote(path), line),
        "logicalLocations": [{"fullyQualifiedName": found.scenario}],
    }


def _place(uri: str, line: int) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line},
    }


def _message(text: str) -> dict[str, str]:
    """Words of a target among ours, in which nothing is a placeholder or a link (SARIF 2.1.0,
    sections 3.11.5 and 3.11.6): braces are doubled, brackets escaped. A viewer that knows escapes
    of Markdown, but takes two backslashes for one, still finds no "](" in it."""
    text = text.replace("{", "{{").replace("}", "}}")
    text = text.replace("](", "] (").replace("[", "\\[").replace("]", "\\]")
    return {"text": text}


def _stated(one: JudgedRule) -> dict[str, Any]:
    """The place of the rule in its catalogue."""
    family, wanted = one.rule.family, f'id = "{one.rule.name}"'
    text = (registered(family).scenarios / RULES).read_text(encoding="utf-8")
    found = (number for number, line in enumerate(text.splitlines(), 1) if line.strip() == wanted)
    return {
        "id": 1,
        "message": {"text": f"the rule in the catalogue, {one.rule.place}"},
        "physicalLocation": _place(f"scenarios/{family}/{RULES}", next(found, 1)),
    }


def _notifications(report: Report) -> list[dict[str, Any]]:
    """Errors of the suite itself; these are no results."""
    return [
        {"level": "error", "message": _message(f"{one.scenario}: {one.why}")}
        for one in report.scenarios
        if one.verdict is Verdict.HARNESS_ERROR
    ]
