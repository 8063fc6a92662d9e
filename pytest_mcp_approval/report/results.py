"""The results of a run: what each scenario said, and the verdict on each rule.

Results travel from xdist's workers as plain JSON. Knows no terminal and no file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..catalogue import Finding, Requirement, Verdict
from ..support.secrets import Secrets
from ..support.text import neutralise
from .shown import worst

_LONGEST = 2_000
"""Characters of one line of a finding."""
_LONGEST_HEADLINE = 300


@dataclass(frozen=True)
class Evidence:
    """The lines of a finding."""

    sent: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"sent {self.sent}; expected {self.expected}; got {self.got}"


@dataclass(frozen=True)
class ScenarioResult:
    """What one scenario said about its rules."""

    rules: tuple[str, ...]
    scenario: str
    verdict: Verdict
    seconds: float = 0.0
    why: str = ""
    evidence: Evidence | None = None
    minor: bool = False
    """Not verified, but not essential for the rule."""
    again: str = ""
    """The shortest command that runs this scenario alone."""
    command: str = ""
    """The same without a file of an earlier run: with the target, and the scenario's id."""
    replay: str = ""
    """The name of the file that replays it, if it is a finding."""
    path: str = ""
    """Of the scenario's file: from where the user's tests are, or as its id has it."""
    line: int = 1
    files: tuple[str, ...] = ()
    """What was kept of a page in a browser, from where the user started: pictures, a trace."""
    steps: tuple[str, ...] = ()
    """Of a walk that exploration found: each step in words, with what came of it."""
    walk: str = field(default="", repr=False)
    """The same as JSON text, to run it again."""
    test: str = field(default="", repr=False)
    """The same as a test for the team's own."""
    conversation: str = field(default="", repr=False)
    """What went over the wire and beside it, as JSON text; see `conversation`."""

    def with_verdict(self, verdict: Verdict, why: str) -> ScenarioResult:
        return replace(self, verdict=verdict, why=why)

    def with_finding(self, finding: Finding) -> ScenarioResult:
        evidence = Evidence(finding.sent, finding.expected, finding.got)
        return replace(self, verdict=Verdict.FAILED, why=str(finding), evidence=evidence)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The evidence, or else the reason, each line with its name."""
        if self.evidence is None:
            return [("why", self.why)]
        known = [("known", self.why)] if self.verdict is Verdict.KNOWN else []
        return [*vars(self.evidence).items(), *self.numbered_steps, *known]

    @property
    def numbered_steps(self) -> list[tuple[str, str]]:
        return [(f"step {number}", step) for number, step in enumerate(self.steps, 1)]

    @property
    def headline(self) -> str:
        """The finding in one line, under the name of its scenario."""
        if self.evidence is None:
            return self.why
        line = f"expected {self.evidence.expected}, got {self.evidence.got}"
        return neutralise(line, _LONGEST_HEADLINE)

    @property
    def got(self) -> str:
        """What came, or else the reason."""
        return self.evidence.got if self.evidence is not None else self.why

    @property
    def name(self) -> str:
        """The scenario without its file."""
        return self.scenario.partition("::")[2] or self.scenario

    def fit_to_show(self, secrets: Secrets) -> ScenarioResult:
        """The same without secrets, on bounded lines without control characters; its
        conversation is not changed."""

        def shown(text: str) -> str:
            lines = secrets.beginning(text, 8 * _LONGEST).splitlines()
            return neutralise(" / ".join(line.strip() for line in lines if line.strip()), _LONGEST)

        found = self.evidence
        return replace(
            self,
            why=shown(self.why),
            evidence=found and Evidence(*map(shown, vars(found).values())),
            steps=tuple(map(shown, self.steps)),
            test=secrets.hide(self.test),
            again=secrets.hide(self.again),
            command=secrets.hide(self.command),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "verdict": str(self.verdict),
            "rules": list(self.rules),
            "files": list(self.files),
            "steps": list(self.steps),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ScenarioResult:
        evidence = data["evidence"]
        typed = {
            "rules": tuple(data["rules"]),
            "verdict": Verdict(data["verdict"]),
            "evidence": Evidence(**evidence) if evidence else None,
            "files": tuple(data["files"]),
            "steps": tuple(data["steps"]),
        }
        return cls(**(data | typed))


def verdict_over(results: Iterable[ScenarioResult]) -> Verdict | None:
    """The verdict on a rule, by its scenarios: the worst decides; None if there is none.

    Checks that are minor, or do not apply, do not count. Any other check that was not verified
    decides: a rule has not passed if an essential check was not made.
    """
    held = list(results)
    decided = worst(one.verdict for one in held if not one.minor)
    if decided in (None, Verdict.NOT_APPLICABLE) and any(one.minor for one in held):
        return Verdict.NOT_VERIFIED
    return decided


NOT_MADE = " checks not made: "
"""Between how many of a rule's checks, and why."""


def notes_over(results: Iterable[ScenarioResult]) -> list[str]:
    """Which checks of a rule that has passed were not made, and why."""
    held = list(results)
    if verdict_over(held) is not Verdict.PASSED:
        return []
    reasons = Counter(one.why for one in held if one.minor or one.verdict is Verdict.NOT_APPLICABLE)
    return [f"{count} of {len(held)}{NOT_MADE}{why}" for why, count in sorted(reasons.items())]


WORDS = {Verdict.FAILED: "FAIL", Verdict.WARNING: "WARN", Verdict.KNOWN: "KNOWN"}


def check_lines(result: ScenarioResult, rule: Requirement) -> list[str]:
    """One check: which rule, what was sent, what it says, what was expected, what came."""
    head = f"{WORDS.get(result.verdict, '????')} {rule.id}"
    rows = [f"  {name:<8}  {value}" for name, value in evidence_rows(result, rule)]
    return [f"{head:<70} {rule.level}  {rule.place}", *rows]


def evidence_rows(result: ScenarioResult, rule: Requirement) -> list[tuple[str, str]]:
    """The lines of a finding, by name; the last is the command that shows it again."""
    found = result.evidence
    if found is not None:
        rows = [("sent", found.sent), ("rule", rule.rule)]
        rows += [("expected", found.expected), ("got", found.got), *result.numbered_steps]
    else:
        rows = [("rule", rule.rule), ("got", result.why)]
    kept = [(kind_of_file(path), path) for path in result.files]
    return [*rows, *kept, ("again", result.again)]


def kind_of_file(path: str) -> str:
    """What a file that was kept is; a trace is opened with `playwright show-trace`, a test is for
    the team's own tests."""
    kinds = {".zip": "trace", ".py": "test"}
    return kinds.get(path[path.rfind(".") :], "picture")


class Results(list[ScenarioResult]):
    """All results of a run."""

    def verdict_of(self, rule: str) -> Verdict | None:
        """The verdict on a rule; None if no scenario ran."""
        return verdict_over(one for one in self if rule in one.rules)

    def of(self, rule: str, verdict: Verdict) -> list[ScenarioResult]:
        return [one for one in self if rule in one.rules and one.verdict is verdict]
