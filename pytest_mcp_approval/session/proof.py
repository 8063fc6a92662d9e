"""How much a run has proved: whether an honest approval was seen, and which rules were checked.

A server that refuses everything passes every "must refuse". So a run without any honest approval is
not green (exit code 10), and the last lines say how many rules were checked and what to configure
for the others. On request a rule that was not verified fails the run. Knows no family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..catalogue import Requirement, Verdict
from ..catalogue.requirements import selected
from ..config.options import PREFIX
from ..report.results import Results, ScenarioResult
from ..support.text import neutralise, number_of
from .phase import Phase
from .state import RunState

NOTHING_PROVED = 10
"""pytest's exit code when no verdict can be trusted: no target to check, or nobody was served."""
_LISTED = 5
_LONGEST = 300


class Proof:
    """What a run has proved."""

    def __init__(self, state: RunState) -> None:
        self.state = state

    # ---- approvals that scenarios saw

    def note_approval(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """Note in which family the target served an honest user."""
        if phase.target is not None and phase.target.last_served:
            phase.note("served", phase.rules[0].family)
        return result

    @property
    def nothing_was_served(self) -> bool:
        found, served = self.state.found, self.state.notes["served"]
        anything = bool(self.state.results or self.state.notes["unexplored"])
        return anything and found is not None and not (found.approved or served)

    # ---- rules that had to be verified

    def owed(self) -> Iterable[tuple[str, str]]:
        """The rules that should have been verified and were not, each with a line about it."""
        patterns = self.state.settings.require_verified
        judged = [rule for rule in self.state.rules() if self.state.results.verdict_of(rule.id)]
        for pattern in patterns:
            if not any(selected(rule.id, (pattern,)) for rule in judged):
                yield pattern, f"no rule like {pattern!r} was checked in this run"
        for rule in judged:
            unverified = self.state.results.verdict_of(rule.id) is Verdict.NOT_VERIFIED
            if patterns and unverified and selected(rule.id, patterns):
                yield rule.id, f"{rule.id} was not verified: {_reason(self.state.results, rule)}"

    # ---- the end

    @property
    def exit_code(self) -> int:
        """The exit code of a run in which nothing failed."""
        return NOTHING_PROVED if self.nothing_was_served else 0

    def summary_lines(self) -> Iterable[tuple[str, bool]]:
        """The last lines, each with whether it is bad news."""
        if self.nothing_was_served:
            yield "", False
            for line in self._why_nothing_was_served():
                yield self.state.secrets.hide(line), True
        if self.state.results:
            for line in proved_lines(self.state.results, self.state.rules()):
                yield self.state.secrets.hide(line), False

    def _why_nothing_was_served(self) -> list[str]:
        found = self.state.found
        reasons = found.not_approved if found is not None else {}
        lines = ["mcp-approval  no honest approval was seen, so what passed proves little:"]
        lines += [f"{'':14}{name}: {neutralise(why, _LONGEST)}" for name, why in reasons.items()]
        return [*lines, f"{'':14}Exit code {NOTHING_PROVED}, or 1 if something failed."]


def proved_lines(results: Results, rules: Sequence[Requirement]) -> list[str]:
    """How many rules were checked, and what to configure to check how many more."""
    verdicts = {rule.id: results.verdict_of(rule.id) for rule in rules}
    concerned = [rule for rule in rules if verdicts[rule.id] not in (None, Verdict.NOT_APPLICABLE)]
    open_rules = [rule for rule in concerned if verdicts[rule.id] is Verdict.NOT_VERIFIED]
    if not concerned:
        return []
    total = number_of(len(concerned), "rule")
    head = f"{len(concerned) - len(open_rules)} of {total} checked"
    if not open_rules:
        return [f"mcp-approval  {head}"]
    reasons = Counter(_reason(results, rule) for rule in open_rules).most_common()
    told = [_more(count, why) for why, count in reasons[:_LISTED]]
    rest = sum(count for _, count in reasons[_LISTED:])
    if rest:
        told.append(f"{rest} more not checked for other reasons, shown above")
    lines = [f"mcp-approval  {head}; {told[0]}", *(f"{'':14}{line}" for line in told[1:])]
    if len(open_rules) * 2 > len(concerned):
        lines.append(f"{'':14}{PREFIX}require-verified makes a run fail for that")
    return lines


def _reason(results: Results, rule: Requirement) -> str:
    """The first reason; the rule's other reasons are shown above."""
    for one in results.of(rule.id, Verdict.NOT_VERIFIED):
        return neutralise(one.why, _LONGEST)
    return "no reason was given"


def _more(count: int, why: str) -> str:
    """Reasons that the user can do something about begin with "needs"."""
    if why.startswith("needs "):
        return f"{count} more need{'s' if count == 1 else ''} {why.removeprefix('needs ')}"
    return f"{count} more not checked: {why}"
