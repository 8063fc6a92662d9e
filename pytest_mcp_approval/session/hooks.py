"""A run of scenarios inside pytest: every hook of it, and the verdict steps in their order.

The parts created in `RunHooks.__init__` do the work; they know each other only through the state
that they share. Knows no family.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from ..catalogue import Requirement, Verdict, catalogue, families
from ..catalogue.marking import rules_of
from ..catalogue.requirements import selected
from ..config.markers import MARKER, MAY_POISON
from ..config.settings import PREFIX, SettingsError, without_target
from ..report.replay import RecordedFinding
from ..report.results import ScenarioResult
from ..report.terminal import colour_of, exploration_lines, header_lines, summary_lines
from ..support.guard import TemporaryFolder
from ..support.nearest import expected, meant
from ..wire import keeping
from .baseline import KnownFailures
from .collection import collect_scenarios
from .ending import Ending
from .exploration import Explorations
from .failure_text import FailureText, tell_failure
from .garbage import SeldomSearches
from .judging import blank_result, downgrade_should, judge, needs_no_traceback, tell_pytest
from .phase import NOTES, Phase, Step, recorded
from .progress import Progress
from .proof import NOTHING_PROVED, Proof
from .recording import RunRecord
from .running_again import check_withheld, recall_replay
from .state import RunState, make_state
from .terminal_summary import FailuresByCause
from .worker_input import WORKER_FOLDER, WORKER_INPUT, for_workers

_NARROWEST, _WIDEST = 60, 120
_LETTERS = {
    Verdict.KNOWN: ("known", "k", ("KNOWN", {"yellow": True})),
    Verdict.WARNING: ("warned", "w", ("WARNING", {"yellow": True})),
    Verdict.NOT_VERIFIED: ("not verified", "n", ("NOT VERIFIED", {"yellow": True})),
    Verdict.NOT_APPLICABLE: ("not applicable", "-", ("NOT APPLICABLE", {"cyan": True})),
}


def begin_run(config: pytest.Config, ids: tuple[str, ...]) -> None:
    """Begin a run of the scenarios with these ids, or of all. Raises `SettingsError`."""
    given, replayed = recall_replay(config)
    state = make_state(config, given, (replayed.result.scenario,) if replayed else ids)
    if not state.settings.subject:
        raise SettingsError(without_target(config.rootpath, config.invocation_params.dir))
    check_names(state)
    if replayed is not None:
        check_withheld(state.settings, replayed)
    config.pluginmanager.register(RunHooks(state, replayed), "mcp-approval-run")


class RunHooks:
    """The hooks of one run."""

    def __init__(self, state: RunState, replayed: RecordedFinding | None) -> None:
        self.state = state
        self.health, self.aftermath = state.health, state.aftermath
        self.known = KnownFailures(state.settings, state.results, state.notes["owed"])
        self.proof = Proof(state)
        self.record = RunRecord(state, replayed)
        self.progress = Progress(state.config, state.notes["checks"])
        state.config.pluginmanager.register(self.progress, "mcp-approval-progress")
        self.by_cause = FailuresByCause(state.config)
        state.config.pluginmanager.register(self.by_cause, "mcp-approval-failures-by-cause")
        self.ending = Ending()
        self.searches = SeldomSearches()
        # After pytest's own search at the very end, whose clean-up is registered later than this.
        state.config.add_cleanup(self.searches.end)
        self.steps: tuple[Step, ...] = (
            judge,
            self.health.reconsider,
            *(() if state.settings.strict else (downgrade_should,)),
            self.aftermath.reconsider,
            self.known.recognise,
            self.proof.note_approval,
            self.progress.note_checks,
            self.record.complete,
            tell_pytest,
        )
        """From what a scenario raised to what the run says about it. Each step takes the result of
        the one before it."""
        self.explorations = Explorations(
            state,
            (
                judge,
                *(() if state.settings.strict else (downgrade_should,)),
                self.known.recognise,
                self.record.complete,
                tell_pytest,
            ),
            replayed,
        )
        self._workers_folder: TemporaryFolder | None = None

    # ---- before the first verdict

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        state, patience, hide = self.state, self.health.patience, self.state.secrets.hide
        if state.is_worker or state.config.option.collectonly:
            return
        from .client_preflight import client_preflight
        from .preflight import PreflightError, preflight

        look = client_preflight if state.settings.checks_a_client else preflight
        try:
            with keeping(patience):
                found = look(state.settings, state.wanted_families)
        except PreflightError as error:
            reporter = state.config.pluginmanager.getplugin("terminalreporter")
            for line in hide(str(error)).splitlines():
                reporter.write_line(line, red=True)
            pytest.exit("nothing was checked", returncode=NOTHING_PROVED)
        state.header = [(name, hide(value)) for name, value in found.lines]
        if known := self.known.header_line():
            state.header.append(known)
        found.not_approved = {name: hide(why) for name, why in found.not_approved.items()}
        state.found = found

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A hook of xdist, called after our session start and before a worker is started."""
        if self.state.found is not None:
            told = for_workers(self.state.found, self.health.patience)
            node.workerinput[WORKER_INPUT] = told
        if self._workers_folder is None:
            self._workers_folder = TemporaryFolder()
        node.workerinput[WORKER_FOLDER] = self._workers_folder.name

    def pytest_report_header(self) -> list[str]:
        reporter = self.state.config.pluginmanager.getplugin("terminalreporter")
        # Files and logs have lines of any length; a terminal breaks them within words.
        seen = reporter is not None and reporter.isatty
        width = _width_of(reporter) if seen else None
        return header_lines(self.state.header, width)

    # ---- collection

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        state, settings = self.state, self.state.settings
        left_out: list[pytest.Item] = []
        for item in collect_scenarios(
            session, state.wanted_families, state.ids, settings.select, which=state.wanted_file
        ):
            rules = rules_of(item)
            item.user_properties += [(MARKER, rule.id) for rule in rules]
            if not state.ids:  # with ids, only part of a rule may have been collected
                self.known.collected(rules)
            chosen = any(selected(rule.id, settings.select) for rule in rules)
            (items if chosen else left_out).append(item)
        if left_out:
            state.config.hook.pytest_deselected(items=left_out)
        explorations = self.explorations.collect(session)
        yield
        launched = settings.launch is not None or settings.reset is not None
        if settings.subject.startswith("http") and not launched:
            # If the server cannot be repaired, run last what may poison it.
            items.sort(key=lambda item: item.get_closest_marker(MAY_POISON) is not None)
        items += explorations

    # ---- verdicts

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from recorded(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from recorded(item))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        rules = rules_of(item)
        if rules and call.excinfo is not None and needs_no_traceback(call.excinfo.value):
            # pytest would read and parse the sources of every frame, for a text that is replaced.
            vars(item)["_repr_failure_py"] = lambda error, *_, **__: str(error.value)
        report = yield
        vars(item).pop("_repr_failure_py", None)
        if rules:
            phase = Phase(item, call, report, rules)
            result = blank_result(phase)
            if result is not None:
                for step in self.steps:
                    result = step(result, phase)
        self.explorations.tell(item, report)
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
            self.state.results.append(result)
            if result.evidence is not None and isinstance(report.longrepr, str):
                # Here, not where it was made: on the way from a worker only the text survives.
                report.longrepr = FailureText(report.longrepr, result.headline)
        for name, value in getattr(report, NOTES, {}).items():
            self.state.notes[name].append(value)
        if found is not None:
            self.progress.hear(result)
        if not self.state.is_worker:
            self.explorations.hear(report)

    # ---- at the end

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        self.searches.begin()
        done = yield
        if not self.state.is_worker and not session.config.option.collectonly:
            for rule, line in self.known.stale_entries():
                tell_failure(session, "baseline", rule, line)
            for rule, line in self.proof.owed():
                tell_failure(session, "require-verified", rule, line)
        return done

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.state.is_worker:
            self.record.write(session)
            self.known.write()
        codes = [part.exit_code for part in (self.health, self.aftermath, self.proof)]
        if self.ending.exit_code:
            session.exitstatus = self.ending.exit_code
        elif session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = next(filter(None, codes), pytest.ExitCode.OK)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        self.by_cause.hand_back()
        if self.state.results:
            width = _width_of(terminalreporter)
            verbose = self.state.config.option.verbose > 0
            for line in summary_lines(self.record.report, width=width, verbose=verbose):
                terminalreporter.write_line(line, **colour_of(line))
            for line in self.known.notes():
                terminalreporter.write_line(line)
        else:
            verbose = self.state.config.option.verbose > 0
            for line in exploration_lines(self.record.explored, verbose=verbose):
                terminalreporter.write_line(line)
        for line in self.explorations.summary_lines():
            terminalreporter.write_line(line, yellow=True)
        for line, wrong in self.record.lines:
            terminalreporter.write_line(line, red=wrong)
        for line in (*self.aftermath.summary_lines(), *self.health.summary_lines()):
            terminalreporter.write_line(line, red=True)
        for line, wrong in self.proof.summary_lines():
            terminalreporter.write_line(line, red=wrong)

    def pytest_unconfigure(self) -> None:
        self.ending.restore()
        if self._workers_folder is not None:
            self._workers_folder.cleanup()


def _width_of(reporter: Any) -> int:
    """The terminal's width, within what can be read."""
    return min(_WIDEST, max(_NARROWEST, int(reporter._tw.fullwidth)))


def check_names(state: RunState) -> None:
    """Families and rules that the user named must exist: unknown ones were mistyped."""
    settings = state.settings
    for family in settings.families:
        if family not in families():
            raise SettingsError(f"{PREFIX}family: got {family!r}, {expected(family, families())}")
    if state.is_worker:  # the controller has done it, with all existing rules
        return
    # Rules for clients too: a rule that is not checked here is not a typo.
    known = [rule for name in state.families for rule in catalogue(name)]
    _check_patterns("select", settings.select, known)
    _check_patterns("require-verified", settings.require_verified, known)


def _check_patterns(option: str, patterns: tuple[str, ...], known: list[Requirement]) -> None:
    for pattern in patterns:
        if not any(selected(rule.id, (pattern,)) for rule in known):
            names = [name for rule in known for name in (rule.id, rule.name)]
            raise SettingsError(
                f"{PREFIX}{option}: got {pattern!r}, which is no rule's id"
                f"{meant(pattern.rstrip('*'), names, alike=0.75)}; ids look like "
                "sep2672/4.8-11-counter, and * stands for anything"
            )
