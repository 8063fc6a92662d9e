"""A run with a target: what the plugin's hooks do once there is something to judge.

Collects the packaged scenarios beside whatever paths the user gave, turns what became of them into
verdicts, and hands those to the report. Knows no family.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest

from ..browser import BrowserError
from ..catalogue import (
    Finding,
    NotApplicable,
    NotVerified,
    Requirement,
    Verdict,
    catalogue,
    families,
)
from ..catalogue.marking import WARNINGS, rules_of
from ..catalogue.requirements import selected
from ..clock import ClockError
from ..config.markers import MARKER
from ..config.settings import NO_BROWSER, PREFIX, Settings, SettingsError
from ..families.base.driver import DriverError
from ..report.results import Results, ScenarioResult
from ..report.terminal import colour_of, header_lines, summary_lines
from ..support.guard import TemporaryFolder
from ..support.nearest import expected, meant
from ..target import EffectsError, TargetError, check_launch, parse_target
from ..wire import WireError
from .aftermath import NAME as AFTERMATH
from .aftermath import Aftermath
from .baseline import KnownFailures
from .collection import collect_scenarios
from .discreet_output import be_discreet
from .ending import Ending
from .failure_text import FailureText
from .proof import NOTHING_PROVED, Proof
from .recording import Reporting
from .secrets_of_run import secrets_of
from .target_health import NAME as VITALS
from .target_health import Vitals
from .worker_input import WORKER_FOLDER, WORKER_INPUT, PreflightFindings, of_worker

_LETTERS = {
    Verdict.KNOWN: ("known", "k", ("KNOWN", {"yellow": True})),
    Verdict.WARNING: ("warned", "w", ("WARNING", {"yellow": True})),
    Verdict.NOT_VERIFIED: ("not verified", "n", ("NOT VERIFIED", {"yellow": True})),
    Verdict.NOT_APPLICABLE: ("not applicable", "-", ("NOT APPLICABLE", {"cyan": True})),
}


class Run:
    """The hooks of one run."""

    def __init__(
        self, config: pytest.Config, settings: Settings, ids: tuple[str, ...] = ()
    ) -> None:
        self.config = config
        self.settings = settings
        self.ids = ids
        """Of the scenarios that were asked for; none: all."""
        self.results = Results(strict=settings.strict)
        self.header: list[tuple[str, str]] = []
        self.found = of_worker(config)
        """None before the preflight, and where there is none."""
        self._workers_folder: TemporaryFolder | None = None
        self.secrets = secrets_of(settings)
        be_discreet(config, self.secrets)
        for text in settings.targets:
            parse_target(text)
        check_launch(settings, workers=config.getoption("dist", "no") != "no")
        for family in settings.families:
            if family not in families():
                raise SettingsError(
                    f"{PREFIX}family: got {family!r}, {expected(family, families())}"
                )
        if not self.is_worker:  # the controller has done so, with all rules there are
            # Those that bind a client too: a rule that is not judged here is no typo.
            known = [rule for name in self.families for rule in catalogue(name)]
            _check_patterns("select", settings.select, known)
            _check_patterns("require-verified", settings.require_verified, known)
        self.known = KnownFailures(config, settings, self.results)
        config.pluginmanager.register(self.known, "mcp-approval-known")
        config.pluginmanager.register(Ending(), "mcp-approval-ending")
        self.vitals = Vitals(config, settings)
        config.pluginmanager.register(self.vitals, VITALS)
        self.aftermath = Aftermath(config, settings)
        config.pluginmanager.register(self.aftermath, AFTERMATH)
        config.pluginmanager.register(Proof(self), "mcp-approval-proof")
        self.reporting = Reporting(config, settings, self)
        config.pluginmanager.register(self.reporting, "mcp-approval-reporting")

    @property
    def families(self) -> tuple[str, ...]:
        """Those that the user named; else those that the preflight found; before it, all."""
        found = self.found.offered if self.found is not None else ()
        return self.settings.families or found or families()

    def wanted_families(self) -> list[str]:
        """Those of which some rule was asked for: the preflight of the others would be in vain."""
        named = {one.split("/")[1] for one in self.ids if one.count("/")}
        wanted = {rule.family for rule in self.rules() if selected(rule.id, self.settings.select)}
        return [name for name in self.families if name in wanted and (not named or name in named)]

    @property
    def with_page(self) -> bool:
        """Whether scenarios on a page are run; before the preflight nobody knows, so they are."""
        if self.settings.browser == NO_BROWSER:
            return False
        return self.found is None or self.found.with_page

    def rules(self) -> list[Requirement]:
        """The rules of the chosen families that bind a server; where there is a page, a client."""
        parties = ("server", "client") if self.with_page else ("server",)
        return [rule for name in self.families for rule in catalogue(name) if rule.party in parties]

    @property
    def is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    # ---- before the first verdict

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        if self.is_worker or self.config.option.collectonly:
            return
        from .preflight import PreflightError, preflight

        try:
            with self.vitals.during_preflight():
                found = preflight(self.settings, self.wanted_families())
            self.header = self.reporting.shown(found.lines)
            if known := self.known.header_line():
                self.header.append(known)
            vigil = self.vitals.vigil
            self.found = PreflightFindings(
                offered=tuple(found.offered),
                with_page=found.with_page,
                clock_stuck=found.clock_stuck,
                approved=tuple(found.approved),
                not_approved=self.reporting.hidden(found.not_approved),
                effects_doubt=found.effects_doubt,
                answered=tuple(sorted(vigil.answered)),
                samples={kind: body.decode("latin-1") for kind, body in vigil.samples.items()},
            )
        except PreflightError as error:
            reporter = self.config.pluginmanager.getplugin("terminalreporter")
            for line in self.secrets.hide(str(error)).splitlines():
                reporter.write_line(line, red=True)
            pytest.exit("nothing was judged", returncode=NOTHING_PROVED)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """xdist's, after our session start and before a worker is started."""
        if self.found is not None:
            node.workerinput[WORKER_INPUT] = self.found.to_json()
        if self._workers_folder is None:
            self._workers_folder = TemporaryFolder()
        node.workerinput[WORKER_FOLDER] = self._workers_folder.name

    def pytest_unconfigure(self) -> None:
        if self._workers_folder is not None:
            self._workers_folder.cleanup()

    def pytest_report_header(self) -> list[str]:
        return header_lines(self.header)

    # ---- collection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        left_out: list[pytest.Item] = []
        for item in collect_scenarios(
            session, self.families, self.ids, self.settings.select, with_page=self.with_page
        ):
            rules = rules_of(item)
            item.user_properties += [(MARKER, rule.id) for rule in rules]
            if not self.ids:  # with ids, whole rules may have been cut in parts
                self.known.collected(rules)
            chosen = any(selected(rule.id, self.settings.select) for rule in rules)
            (items if chosen else left_out).append(item)
        if left_out:
            self.config.hook.pytest_deselected(items=left_out)

    # ---- verdicts

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        rules = rules_of(item)
        judged = judge(rules, call, report, item) if rules else None
        if judged is None:
            return report
        judged = self.vitals.reconsider(judged, call, report)
        worst_level = "MUST" if any(rule.level == "MUST" for rule in rules) else rules[0].level
        if judged.verdict is Verdict.FAILED and worst_level != "MUST" and not self.settings.strict:
            judged = judged.as_warning()
        judged = self.aftermath.reconsider(judged, item, report)
        judged = self.known.recognise(judged, report)
        judged = self.reporting.complete(judged, item, rules)
        if judged.verdict is Verdict.WARNING:
            report.outcome, report.longrepr = "passed", None
        elif judged.evidence is not None:
            report.longrepr = judged.as_text(rules[0])
        report.mcp_approval = judged.to_json()  # type: ignore[attr-defined]  # xdist ships it
        # On the item, so that JUnit's XML, which is written at teardown, has it too.
        item.user_properties.append(("mcp_approval_verdict", str(judged.verdict)))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        found = getattr(report, "mcp_approval", None)
        if found is None or report.when not in ("call", "setup"):
            return None
        return _LETTERS.get(Verdict(found["verdict"]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = getattr(report, "mcp_approval", None)
        if found is not None:
            result = ScenarioResult.from_json(found)
            self.results.add(result)
            if result.evidence is not None and isinstance(report.longrepr, str):
                # Here, not where it was made: on its way from a worker only the text survives.
                report.longrepr = FailureText(report.longrepr, result.headline)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.reporting.hand_back_failures()
        if self.results:
            width = min(120, max(80, terminalreporter._tw.fullwidth))
            verbose = self.config.option.verbose > 0
            for line in summary_lines(self.reporting.report, width=width, verbose=verbose):
                terminalreporter.write_line(line, **colour_of(line))
            for line in self.known.notes():
                terminalreporter.write_line(line)
        for line, wrong in self.reporting.lines():
            terminalreporter.write_line(line, red=wrong)


def _check_patterns(option: str, patterns: tuple[str, ...], known: list[Requirement]) -> None:
    """Each must be like some rule: one that is not was mistyped, or the wrong family is chosen."""
    for pattern in patterns:
        if not any(selected(rule.id, (pattern,)) for rule in known):
            names = [name for rule in known for name in (rule.id, rule.name)]
            raise SettingsError(
                f"{PREFIX}{option}: got {pattern!r}, which is no rule's id"
                f"{meant(pattern.rstrip('*'), names, alike=0.75)}; ids look like "
                "sep2672/4.8-11-counter, and * stands for anything"
            )


def judge(
    rules: list[Requirement],
    call: pytest.CallInfo[Any],
    report: pytest.TestReport,
    item: pytest.Item,
) -> ScenarioResult | None:
    """What a phase of a scenario says about its rules; None for a phase that says nothing."""
    warnings = item.stash.setdefault(WARNINGS, [])
    result = ScenarioResult(
        rules=tuple(rule.id for rule in rules),
        scenario=item.nodeid,
        verdict=Verdict.PASSED,
        # A clock that was moved in this process (freezegun) moves pytest's stopwatch too.
        seconds=call.duration if 0 <= call.duration < 3600 else 0.0,
    )
    if call.excinfo is None:
        if report.when != "call":
            return None
        if warnings:
            return result.with_verdict(Verdict.WARNING, "; ".join(warnings))
        return result
    error = call.excinfo.value
    if isinstance(error, Finding):
        return result.with_finding(error)
    if isinstance(error, NotApplicable):
        return result.with_verdict(Verdict.NOT_APPLICABLE, str(error.msg))
    if isinstance(error, NotVerified):
        unseen = result.with_verdict(Verdict.NOT_VERIFIED, str(error.msg))
        return replace(unseen, minor=error.minor)
    if isinstance(error, pytest.skip.Exception):
        return result.with_verdict(Verdict.NOT_VERIFIED, str(error.msg))
    if isinstance(error, _OF_THE_TARGET) or type(error).__module__.startswith("playwright."):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {error}")
        return result.with_verdict(Verdict.NOT_VERIFIED, str(error))
    return result.with_verdict(Verdict.HARNESS_ERROR, f"{type(error).__name__}: {error}")


_OF_THE_TARGET = (BrowserError, ClockError, DriverError, EffectsError, TargetError, WireError)
"""The target's doing, or its page's (as are Playwright's own errors): nothing was judged."""
