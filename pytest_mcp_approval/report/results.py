"""The results of a run: what each scenario said, and what that makes of each rule.

Results travel from xdist's workers as plain JSON. Knows no terminal and no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..catalogue import Finding, Requirement, Verdict

_RANK = {
    verdict: rank
    for rank, verdict in enumerate(
        (
            Verdict.NOT_APPLICABLE,
            Verdict.PASSED,
            Verdict.NOT_VERIFIED,
            Verdict.WARNING,
            Verdict.FAILED,
            Verdict.HARNESS_ERROR,
        )
    )
}


@dataclass(frozen=True)
class Evidence:
    """The lines of a finding."""

    sent: str
    expected: str
    got: str


@dataclass(frozen=True)
class ScenarioResult:
    """What one scenario said about its rules."""

    rules: tuple[str, ...]
    scenario: str
    verdict: Verdict
    seconds: float = 0.0
    why: str = ""
    evidence: Evidence | None = None
    again: str = ""
    """The command that runs this scenario alone."""

    def with_verdict(self, verdict: Verdict, why: str) -> ScenarioResult:
        return replace(self, verdict=verdict, why=why)

    def with_finding(self, finding: Finding) -> ScenarioResult:
        evidence = Evidence(finding.sent, finding.expected, finding.got)
        return replace(self, verdict=Verdict.FAILED, why=str(finding), evidence=evidence)

    def as_warning(self) -> ScenarioResult:
        return replace(self, verdict=Verdict.WARNING)

    def as_text(self, rule: Requirement) -> str:
        """The four lines of a finding."""
        return "\n".join(finding_lines(self, rule))

    @property
    def headline(self) -> str:
        """The finding in one line, under the name of its scenario."""
        if self.evidence is None:
            return self.why
        return f"expected {self.evidence.expected}, got {self.evidence.got}"

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": str(self.verdict), "rules": list(self.rules)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ScenarioResult:
        evidence = data["evidence"]
        return cls(
            rules=tuple(data["rules"]),
            scenario=data["scenario"],
            verdict=Verdict(data["verdict"]),
            seconds=data["seconds"],
            why=data["why"],
            evidence=Evidence(**evidence) if evidence else None,
            again=data["again"],
        )


def finding_lines(result: ScenarioResult, rule: Requirement) -> list[str]:
    """Which rule, what was sent, what it says, what was expected, what came."""
    word = {Verdict.FAILED: "FAIL", Verdict.WARNING: "WARN"}.get(result.verdict, "????")
    head = f"{word} {rule.id}"
    lines = [f"{head:<70} {rule.level}  {rule.place}"]
    if result.evidence is not None:
        lines += [
            f"  sent      {result.evidence.sent}",
            f"  rule      {rule.rule}",
            f"  expected  {result.evidence.expected}",
            f"  got       {result.evidence.got}",
        ]
    else:
        lines += [f"  rule      {rule.rule}", f"  got       {result.why}"]
    return [*lines, f"  again     {result.again}"]


@dataclass
class Results:
    """All results of a run."""

    strict: bool = False
    scenarios: list[ScenarioResult] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.scenarios)

    def __iter__(self) -> Iterator[ScenarioResult]:
        return iter(self.scenarios)

    def add(self, result: ScenarioResult) -> None:
        self.scenarios.append(result)

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.scenarios)

    def verdict_of(self, rule: str) -> Verdict | None:
        """The worst that a rule's scenarios said; None if none ran."""
        found = [result.verdict for result in self.scenarios if rule in result.rules]
        return max(found, key=_RANK.__getitem__) if found else None

    def of(self, rule: str, verdict: Verdict) -> list[ScenarioResult]:
        return [one for one in self.scenarios if rule in one.rules and one.verdict is verdict]
