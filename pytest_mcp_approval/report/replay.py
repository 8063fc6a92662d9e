"""A finding as a small file, and the comparison when it is run again.

The bytes of a ceremony cannot be sent twice: nonces are fresh, and a signature counts only once. So
a replay runs the scenario again, against the same target with the same options, and compares
what it finds. The file keeps the conversation for somebody who wants to look. Values of headers and
of the environment are not kept, only their names. Knows no pytest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..catalogue import Verdict
from ..config.options import PREFIX
from ..config.report_files import read_own
from .files import write_whole
from .findings import answer_of
from .model import Report, RunFacts
from .results import Evidence, ScenarioResult

FORMAT = "mcp-approval-finding"
VERSION = 1
KEPT = (Verdict.FAILED, Verdict.WARNING)
"""The verdicts of which a file is left."""
_SETTLED = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
"""What shows that a finding is gone. A check that could not be made shows nothing."""


@dataclass(frozen=True)
class RecordedFinding:
    """What a file says."""

    result: ScenarioResult
    options: Mapping[str, Any]
    """The options of the run that found it, by name, as they were given."""
    walk: Any = None
    """The steps of a walk that exploration found, as the file has them; None for a scenario."""
    withheld: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The names of headers and variables whose values are not in the file."""


def file_name(rule: str, scenario: str) -> str:
    """The same for the same scenario, on every run."""
    print_ = hashlib.sha256(scenario.encode()).hexdigest()[:6]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", rule.partition("/")[2])[:60]
    return f"{slug}-{print_}.json"


def write_findings(folder: Path, report: Report) -> str | None:
    """Write what this run found, and remove what it no longer finds; returns a line if that fails.

    Findings of other scenarios stay: those that did not run, could not be verified, ended with an
    error of the suite, or are known failures.
    """
    settled = {one.scenario for one in report.scenarios if one.verdict in _SETTLED}
    found = {one.replay: one for one in report.scenarios if one.replay}
    try:
        if found:
            folder.mkdir(parents=True, exist_ok=True)
            if folder.parent.name == ".mcp-approval":
                (folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        for path in folder.glob("*.json") if folder.is_dir() else ():
            if path.name not in found and _scenario_of(path) in settled:
                path.unlink()
                path.with_suffix(".py").unlink(missing_ok=True)
        for name, one in found.items():
            write_whole(folder / name, _render(one, report))
            if one.test:
                write_whole((folder / name).with_suffix(".py"), one.test)
        if not found and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        return f"findings were not written to {folder}: {error.strerror or error}"
    return None


def _render(one: ScenarioResult, report: Report) -> str:
    conversation = json.loads(one.conversation) if one.conversation else None
    told = {**finding_head(report.facts), **finding_of(one), "conversation": conversation}
    return json.dumps(told, indent=1) + "\n"


def finding_head(facts: RunFacts) -> dict[str, Any]:
    """What the files of all findings of a run have in common."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "tool": {"name": "pytest-mcp-approval", "version": facts.version},
        "found": facts.started.isoformat(timespec="seconds"),
        "options": facts.options or {},
        "withheld": {name: sorted(names) for name, names in facts.withheld.items() if names},
    }


def finding_of(one: ScenarioResult) -> dict[str, Any]:
    """What the file of this finding says of it."""
    return {
        "scenario": one.scenario,
        "rules": one.rules,
        "verdict": one.verdict,
        "why": one.why,
        "evidence": one.evidence and vars(one.evidence),
        **({"steps": one.steps, "walk": json.loads(one.walk)} if one.walk else {}),
    }


def _scenario_of(path: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("format") == FORMAT:
            return str(data.get("scenario"))
    return None


def read_finding(path: Path, name: str) -> RecordedFinding:
    """What a file says; `SettingsError` if it is no finding."""

    def recorded(data: dict[str, Any]) -> RecordedFinding:
        evidence = data["evidence"]
        result = ScenarioResult(
            scenario=str(data["scenario"]),
            rules=tuple(map(str, data["rules"])),
            verdict=Verdict(data["verdict"]),
            why=str(data["why"]),
            evidence=Evidence(**{k: str(v) for k, v in evidence.items()}) if evidence else None,
        )
        return RecordedFinding(
            result,
            options={str(k): v for k, v in data["options"].items()},
            walk=data.get("walk"),
            withheld={str(k): tuple(map(str, v)) for k, v in data["withheld"].items()},
        )

    wanted = "a finding that a run left (.mcp-approval/findings)"
    return read_own(f"{PREFIX}replay", path, name, wanted, FORMAT, (VERSION,), recorded)


def compare_finding(was: ScenarioResult, now: ScenarioResult | None) -> tuple[str, str]:
    """One word (fixed, still failing, changed), and the line that says it."""
    if now is None:
        return "changed", f"changed: {was.scenario} did not run"
    if now.verdict is Verdict.PASSED:
        return "fixed", f"fixed: {was.scenario} passes now"
    same_kind = {was.verdict, now.verdict} <= {Verdict.FAILED, Verdict.WARNING, Verdict.KNOWN}
    same_answer = answer_of(was) == answer_of(now)
    if same_kind and same_answer and set(was.rules) == set(now.rules):
        return "still failing", f"still failing: {now.got}, as before"
    if same_kind:
        return "changed", f"changed: still failing, but now {now.got}; it was {was.got}"
    return "changed", f"changed: {now.verdict} now ({now.why}); it was {was.verdict}"
