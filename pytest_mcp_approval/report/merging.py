"""Reads the JSON reports of several runs and makes one report of them: a run that was split over
jobs, or one suite against several servers.

A check that occurs in several reports counts by its worst verdict. The files may come from
somebody else, so they are checked, and what they say is made fit to show. Knows no pytest.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..catalogue import Requirement, Verdict, catalogue
from ..config.registry import families
from ..config.report_files import read_own
from ..explore.coverage import Explored, together
from ..support.secrets import Secrets
from ..support.text import neutralise, number_of
from .comparison import FORMAT, VERSION
from .model import Report, RunFacts, make_report
from .results import Evidence, Results, ScenarioResult

_LONGEST = 300
_LABEL = "merge"
_SHARED = {
    "sent": "bodies",
    "received": "bodies",
    "requestHeaders": "headers",
    "responseHeaders": "headers",
}


@dataclass(frozen=True)
class ReadReport:
    """What one file says."""

    name: str
    facts: RunFacts
    rules: tuple[Requirement, ...]
    results: tuple[ScenarioResult, ...]


def read_report(path: Path, name: str) -> ReadReport:
    """The report in a file; `SettingsError` if it is none."""

    def report(data: dict[str, Any]) -> ReadReport:
        passed = {str(one["id"]) for one in data["rules"] if one["verdict"] == Verdict.PASSED}
        return ReadReport(
            name,
            _facts(data),
            tuple(_rule(one) for one in data["rules"]),
            tuple(_result(one, data, passed) for one in data["scenarios"]),
        )

    wanted = f"a report that ends in .json, in format version {VERSION}"
    return read_own(_LABEL, path, name, wanted, FORMAT, (VERSION,), report)


def merge(read: Sequence[ReadReport]) -> Report:
    """One report of all of them."""
    rules = {rule.id: rule for one in read for rule in one.rules}
    ordered = sorted(rules.values(), key=_place)
    results = Results(result for one in read for result in one.results)
    facts = [one.facts for one in read]
    targets = list(dict.fromkeys(one.target for one in facts))
    merged = RunFacts(
        target=targets[0] if len(targets) == 1 else f"{len(targets)} targets",
        header=_header(read, targets),
        started=min(one.started for one in facts),
        seconds=sum(one.seconds for one in facts),
        explored=together(each for one in facts for each in one.explored),
        strict=any(one.strict for one in facts),
        select=(),
        version=facts[0].version,
        command=facts[0].command,
    )
    return make_report(results, ordered, merged)


def _header(read: Sequence[ReadReport], targets: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What every report says alike, and a line for each of them."""
    alike = [
        line for line in read[0].facts.header if all(line in one.facts.header for one in read[1:])
    ]
    told = [
        (
            "merged" if number == 0 else "",
            f"{neutralise(one.name, 80)}: {number_of(len(one.rules), 'rule')} in "
            f"{number_of(len(one.results), 'check')}"
            + (f" of {one.facts.target}" if len(targets) > 1 else ""),
        )
        for number, one in enumerate(read)
    ]
    return (*alike, *told)


def _place(rule: Requirement) -> tuple[int, int, str]:
    """The order of the catalogue; rules of families that are not installed here come last."""
    if rule.family not in families():
        return len(families()), 0, rule.id
    known = list(catalogue(rule.family).requirements)
    number = known.index(rule.id) if rule.id in known else len(known)
    return families().index(rule.family), number, rule.id


def _facts(data: Mapping[str, Any]) -> RunFacts:
    run = data["run"]
    header = ((_shown(one["name"], 20), _shown(one["value"])) for one in run["header"])
    return RunFacts(
        target=_shown(run["target"]),
        header=tuple(header),
        started=datetime.datetime.fromisoformat(run["started"]),
        seconds=float(run["seconds"]),
        # Reports of earlier versions have none.
        explored=tuple(Explored.from_json(one) for one in data.get("exploration", [])),
        strict=bool(run["strict"]),
        version=_shown(data["tool"]["version"], 40),
        command=_shown(run["command"], 2_000),
    )


def _rule(data: Mapping[str, Any]) -> Requirement:
    """From our own catalogue, if it has the rule; a report does not say everything."""
    name, family = _shown(data["id"]), str(data["family"])
    if family in families() and name in catalogue(family).requirements:
        return catalogue(family)[name]
    return Requirement(
        id=name,
        level=str(data["level"]),
        rule=_shown(data["rule"]),
        watch=_shown(data["watch"]),
        needs=tuple(_shown(one, 40) for one in data["needs"]),
        fault="",
        fix=_shown(data.get("fix") or ""),
        family=_shown(family, 60),
        document=_shown(str(data["place"]).partition(" §")[0]),
    )


def _result(data: Mapping[str, Any], report: Mapping[str, Any], passed: set[str]) -> ScenarioResult:
    verdict, rules = Verdict(data["verdict"]), tuple(map(str, data["rules"]))
    evidence, told = data["evidence"], data["conversation"]
    # Reports of earlier versions do not say it. A rule passes only with checks that are minor.
    minor = verdict is Verdict.NOT_VERIFIED and any(rule in passed for rule in rules)
    found = ScenarioResult(
        rules=rules,
        scenario=_shown(data["id"], 500),
        verdict=verdict,
        seconds=float(data["seconds"]),
        why=str(data["why"]),
        evidence=Evidence(**{k: str(v) for k, v in evidence.items()}) if evidence else None,
        minor=bool(data.get("minor", minor)),
        again=_shown(data["again"], 2_000),
        command=_shown(data["command"], 2_000),
        replay=_shown(data["replay"] or ""),
        path=_shown(data["location"]["path"]),
        line=int(data["location"]["line"]),
        files=tuple(_shown(one) for one in data["files"]),
        steps=tuple(_shown(one) for one in data.get("steps", ())),
        conversation=json.dumps(_whole(told, report)) if told else "",
    )
    return found.fit_to_show(Secrets())


def _whole(told: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """The conversation with everything that it only refers to."""
    steps = []
    for step in told["steps"]:
        whole = dict(step)
        for name, table in _SHARED.items():
            part = step.get(name)
            if isinstance(part, dict) and "ref" in part:
                shared = report[table][part["ref"]]
                rest = {key: value for key, value in part.items() if key != "ref"}
                whole[name] = {**rest, **shared} if isinstance(shared, dict) else shared
        steps.append(whole)
    return {**told, "steps": steps}


def _shown(text: Any, limit: int = _LONGEST) -> str:
    return neutralise(str(text), limit)
