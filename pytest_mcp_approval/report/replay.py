"""A finding as a small file, and what came of running it again.

The bytes of a ceremony cannot be sent twice: nonces are fresh, and what was signed once is spent.
So a replay runs the scenario again, against the same target with the same options, and compares
what it finds. The file keeps the conversation for somebody who wants to look. Values of headers and
of the environment are not kept, only their names. Knows no pytest.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..catalogue import Verdict
from .files import write_whole
from .model import Report
from .normalising import gist
from .results import Evidence, ScenarioResult

FORMAT = "mcp-approval-finding"
VERSION = 1
_KEPT = (Verdict.FAILED, Verdict.WARNING)
_SETTLED = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
"""What shows that a finding is gone. A check that could not be made shows nothing."""


class ReplayError(Exception):
    """The file cannot be replayed; one line says why."""


@dataclass(frozen=True)
class RecordedFinding:
    """What a file says."""

    name: str
    scenario: str
    rules: tuple[str, ...]
    verdict: Verdict
    why: str
    evidence: Evidence | None
    options: Mapping[str, Any]
    """The options of the run that found it, by name, as they were given."""
    withheld: Mapping[str, tuple[str, ...]]
    """The names of headers and variables whose values are not in the file."""


def file_name(rule: str, scenario: str) -> str:
    """The same for the same scenario, on every run."""
    print_ = hashlib.sha256(scenario.encode()).hexdigest()[:6]
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", rule.partition("/")[2])[:60]
    return f"{slug}-{print_}.json"


def leaves_file(verdict: Verdict) -> bool:
    return verdict in _KEPT


def write_findings(
    folder: Path,
    report: Report,
    options: Mapping[str, Any],
    withheld: Mapping[str, Iterable[str]],
) -> str | None:
    """Write what this run found, and remove what it no longer finds; a line if that cannot be.

    Findings of scenarios that this run did not judge stay: those that did not run, and those that
    could not be verified, stumbled, or fail as the baseline says.
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
        for name, one in found.items():
            write_whole(folder / name, _render(one, report, options, withheld))
        if not found and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        return f"findings were not left in {folder}: {error.strerror or error}"
    return None


def _render(
    one: ScenarioResult,
    report: Report,
    options: Mapping[str, Any],
    withheld: Mapping[str, Iterable[str]],
) -> str:
    evidence = one.evidence
    told = {
        "format": FORMAT,
        "version": VERSION,
        "tool": {"name": "pytest-mcp-approval", "version": report.facts.version},
        "found": report.facts.started.isoformat(timespec="seconds"),
        "scenario": one.scenario,
        "rules": list(one.rules),
        "verdict": str(one.verdict),
        "why": one.why,
        "evidence": evidence
        and {"sent": evidence.sent, "expected": evidence.expected, "got": evidence.got},
        "options": dict(options),
        "withheld": {name: sorted(names) for name, names in withheld.items() if names},
        "conversation": json.loads(one.conversation) if one.conversation else None,
    }
    return json.dumps(told, indent=1) + "\n"


def _scenario_of(path: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError, RecursionError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(data, dict) and data.get("format") == FORMAT:
            return str(data.get("scenario"))
    return None


def read_finding(path: Path, name: str) -> RecordedFinding:
    """What a file says; it is not believed to be one of ours before it was looked at."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReplayError(f"got {name!r}, which cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ReplayError(
            f"got {name!r}, expected a finding that a run left (.mcp-approval/findings)"
        )
    if data.get("version") != VERSION:
        raise ReplayError(f"got {name!r} of version {data.get('version')!r}, expected {VERSION}")
    try:
        evidence = data["evidence"]
        return RecordedFinding(
            name=name,
            scenario=str(data["scenario"]),
            rules=tuple(map(str, data["rules"])),
            verdict=Verdict(data["verdict"]),
            why=str(data["why"]),
            evidence=Evidence(**{k: str(v) for k, v in evidence.items()}) if evidence else None,
            options={str(k): v for k, v in data["options"].items()},
            withheld={str(k): tuple(map(str, v)) for k, v in data["withheld"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ReplayError(f"got {name!r}, which is damaged: {error!r}") from None


def compare_finding(was: RecordedFinding, now: ScenarioResult | None) -> tuple[str, str]:
    """One word (fixed, still failing, changed), and the line that says it."""
    if now is None:
        return "changed", f"changed: {was.scenario} did not run"
    if now.verdict is Verdict.PASSED:
        return "fixed", f"fixed: {was.scenario} passes now"
    same_kind = {was.verdict, now.verdict} <= {Verdict.FAILED, Verdict.WARNING, Verdict.KNOWN}
    same_answer = _gist(was.evidence, was.why) == _gist(now.evidence, now.why)
    if same_kind and same_answer and set(was.rules) == set(now.rules):
        return "still failing", f"still failing: {_got(now.evidence, now.why)}, as before"
    if same_kind:
        return "changed", (
            f"changed: still failing, but now {_got(now.evidence, now.why)}; "
            f"it was {_got(was.evidence, was.why)}"
        )
    return "changed", f"changed: {now.verdict} now ({now.why}); it was {was.verdict}"


def _got(evidence: Evidence | None, why: str) -> str:
    return evidence.got if evidence is not None else why


def _gist(evidence: Evidence | None, why: str) -> tuple[str, str]:
    """What was found, as far as it counts: the same as for findings of one cause."""
    if evidence is None:
        return "", gist(why)
    return gist(evidence.expected, evidence.sent), gist(evidence.got, evidence.sent)
