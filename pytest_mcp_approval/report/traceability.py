"""Traceability as YAML, in the form that the MCP conformance repository wants for a SEP (SEP-2484):
every MUST and SHOULD, with the check that covers it, or with the reason why none does.

Says what the suite covers, whatever this run selected; what this run found is in comments. The
texts are ours, not the document's. That form has no rows for MAY.
"""

from __future__ import annotations

import re

from ..catalogue import Requirement, catalogue
from ..catalogue.requirements import covered
from .model import JudgedRule, Report
from .shown import counted, phrase

_SEP = re.compile(r"SEP-(?P<number>[0-9]+)")
_SEP_ADDRESS = "https://github.com/modelcontextprotocol/modelcontextprotocol/pull/"


def render_traceability(report: Report) -> str:
    """One YAML document for each family of the run."""
    documents = []
    judged = {one.rule.id: one for one in report.rules}
    for family in report.families:
        documents.append("\n".join(_family(family, judged, report)) + "\n")
    return "---\n".join(documents)


def _family(family: str, judged: dict[str, JudgedRule], report: Report) -> list[str]:
    rules = catalogue(family)
    sep = _SEP.fullmatch(rules.document)
    lines = [
        f"# {rules.document}, as pytest-mcp-approval {report.facts.version} checks it; "
        f"run of {report.facts.started:%Y-%m-%d}.",
        "# Texts are the suite's words for the rules.",
    ]
    if sep:
        lines += [f"sep: {sep['number']}", f"spec_url: {_SEP_ADDRESS}{sep['number']}"]
    else:
        lines += [f"document: {quoted(rules.document)}"]
    lines.append("requirements:")
    checked = covered(family)
    excluded: list[str] = []
    for rule in rules:
        if rule.level == "MAY":
            continue
        text = quoted(f"{rule.level} (§{rule.section}): {rule.rule}")
        if rule.id in checked:
            if rule.id in judged:
                lines.append(f"  # {_found(judged[rule.id])}")
            lines += [f"  - check: {check_id(rule, rules.document)}", f"    text: {text}"]
        else:
            excluded += [f"  - text: {text}", f"    excluded: {quoted(_why_not(rule))}"]
    return [*lines, *(["", *excluded] if excluded else [])]


def check_id(rule: Requirement, document: str) -> str:
    """For example sep-2672-4-8-11-counter."""
    words = f"{document}-{rule.name}".lower()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")


def _found(one: JudgedRule) -> str:
    counts = ", ".join(phrase(count, verdict) for count, verdict in counted(one.counts))
    return f"{one.verdict}: {counts}"


def _why_not(rule: Requirement) -> str:
    if rule.party != "server":
        return f"binds the {rule.party}; this suite plays the {rule.party} and checks servers"
    return "no scenario covers it yet"


def quoted(text: str) -> str:
    """A YAML scalar in single quotes, on one line."""
    return "'" + " ".join(text.split()).replace("'", "''") + "'"
