"""The baseline in a pytest run: which failures are known, which entries are stale, what is written.

pytest treats a known failure like an expected one (`xfail`): it is counted under its own name,
JUnit's XML has it as skipped with its comment, and neither `-x` nor `--lf` takes it for a failure.
A stale entry is a failed test of its own, so that counts, XML and exit code agree. What a baseline
is, and when an entry is stale, is defined in `catalogue.baseline_file`.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..catalogue import Requirement, Verdict
from ..catalogue.baseline_file import (
    Baseline,
    BaselineError,
    compare,
    read_baseline,
    render_baseline,
    renewed,
)
from ..catalogue.requirements import selected
from ..config.settings import PREFIX, Settings, SettingsError
from ..report.results import Results, ScenarioResult
from ..support.text import listed_shortly
from .phase import Phase

_SHOWN = 4


class KnownFailures:
    """The baseline that a run reads or writes."""

    def __init__(
        self, settings: Settings, results: Results, owed: Sequence[Mapping[str, int]]
    ) -> None:
        self.settings = settings
        self.results = results
        self.baseline = Baseline("")
        path, name = settings.baseline, f"{PREFIX}baseline"
        if path is not None:
            try:
                # Before anything runs: a target in this process may move the clock.
                today = datetime.datetime.now().astimezone().date()
                self.baseline = read_baseline(path, _shown(settings, path), today)
            except BaselineError as error:
                lines = str(error).splitlines()
                raise SettingsError("\n".join(f"{name}: {line}" for line in lines)) from None
        self._collected: Counter[str] = Counter()
        """How many scenarios each rule has; empty if only some of them were asked for."""
        self._owed = owed
        """The same, as noted on reports, because xdist's controller collects nothing."""

    # ---- what was collected, to know later whether all of it has run

    def collected(self, rules: Iterable[Requirement]) -> None:
        """One more scenario of these rules."""
        self._collected.update(rule.id for rule in rules)

    # ---- verdicts

    def recognise(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """The same result, marked as known if the baseline lists it."""
        report = phase.report
        owed = {
            rule: self._collected[rule] for rule in result.rules if rule in self.baseline.entries
        }
        if owed:
            phase.note("owed", owed)
        comment = self.baseline.comment_on(result.rules)
        if result.verdict is not Verdict.FAILED or comment is None:
            return result
        report.outcome = "skipped"
        report.wasxfail = f"known failure: {comment}"
        return result.with_verdict(Verdict.KNOWN, comment)

    # ---- at the end

    def stale_entries(self) -> Iterable[tuple[str, str]]:
        """Each with a line about it; none if the file that was read is about to be rewritten."""
        if self.settings.baseline is None or self.settings.write_baseline == self.settings.baseline:
            return
        yield from self._compare()[0].items()

    def _compare(self) -> tuple[dict[str, str], list[str]]:
        """Compare the entries that this run could check with its results."""
        asked_for = {
            rule: one
            for rule, one in self.baseline.entries.items()
            if selected(rule, self.settings.select)
            and (not self.settings.families or rule.partition("/")[0] in self.settings.families)
        }
        verdicts = {rule: [one.verdict for one in self._of(rule)] for rule in asked_for}
        owed = {rule: count for one in self._owed for rule, count in one.items()}
        whole = {
            rule
            for rule in asked_for
            if 0 < owed.get(rule, 0) <= len({one.scenario for one in self._of(rule)})
        }
        return compare(
            Baseline(self.baseline.name, asked_for, self.baseline.today), verdicts, whole
        )

    def _of(self, rule: str) -> list[ScenarioResult]:
        return [one for one in self.results if rule in one.rules]

    def header_line(self) -> tuple[str, str] | None:
        """What is known before the first verdict."""
        if self.settings.baseline is None:
            return None
        gone = len(self.baseline.expired)
        expired = f", {gone} expired" if gone else ""
        count = len(self.baseline.active)
        return "baseline", f"{self.baseline.name}: {count} known{expired}"

    def notes(self) -> list[str]:
        """What the end of a run says about the baseline, besides the failures."""
        lines = [
            f"baseline  {one.rule} expired on {one.expires}: its failures count again"
            for one in self.baseline.expired
        ]
        _, rules = self._compare()
        if rules:
            shown = listed_shortly(rules, _SHOWN)
            lines.append(f"baseline  not checked in this run, so left alone: {shown}")
        if self.settings.write_baseline is not None:
            path = _shown(self.settings, self.settings.write_baseline)
            lines.append(f"baseline  {path} written: say in each comment why the failure is known")
        return lines

    def write(self) -> None:
        """Write the new baseline, if the user asked for it."""
        path = self.settings.write_baseline
        if path is None or not self.results:
            return
        failures: dict[str, str] = {}
        for one in self.results:
            if one.verdict in (Verdict.FAILED, Verdict.KNOWN):
                for rule in one.rules:
                    failures.setdefault(rule, one.headline)
        by_scenarios = {
            rule
            for one in self.results
            if one.verdict in (Verdict.FAILED, Verdict.KNOWN) and not one.walk
            for rule in one.rules
        }
        stale, _ = self._compare()
        explored = failures.keys() - by_scenarios
        text = render_baseline(renewed(self.baseline, failures, stale, explored))
        path.write_text(text, encoding="utf-8")


def _shown(settings: Settings, path: Path) -> str:
    """The file's path as seen from where the user started pytest."""
    try:
        return str(path.relative_to(settings.directory))
    except ValueError:
        return str(path)
