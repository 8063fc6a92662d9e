"""What a run leaves behind: each result with its conversation and its commands, and at the end
every file that the user asked for. Files are written once, by the process that has all results.

The package `report` knows what the files look like. Makes no verdict.
"""

from __future__ import annotations

import datetime
import os
import shlex
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pytest

from ..catalogue import Verdict
from ..explore.coverage import Explored, together
from ..report.comparison import Earlier, read_earlier
from ..report.conversation import conversation_text
from ..report.files import append_step_summary, write_reports
from ..report.json_file import is_told
from ..report.model import Report, RunFacts, make_report
from ..report.replay import KEPT, RecordedFinding, compare_finding, file_name, write_findings
from ..report.results import ScenarioResult
from ..report.terminal import comparison_lines
from ..support import recording
from ..support.deadline import now
from ..support.text import neutralise
from ..support.version import own_version
from .phase import KEPT_FILES, Phase
from .provenance import ci_lines, settings_place
from .running_again import command_of, options_to_keep, replay_command, withheld_names
from .state import RunState

NOT_WRITTEN = 4
"""pytest's exit code for a run that went well, but whose report could not be written."""
_NOTHING_RAN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_LONGEST_LINE = 4_000


class RunRecord:
    """What a run leaves behind, from its beginning to its end."""

    def __init__(self, state: RunState, replayed: RecordedFinding | None) -> None:
        self.state = state
        self.settings = state.settings
        self.command = command_of(state.config, state.given)
        self.earlier = _earlier_run(state)
        self.replayed = replayed
        recording.begin_run()
        self.started = datetime.datetime.now(datetime.UTC)
        self._began = now()
        kinds = {path.suffix.lower() for path in self.settings.reports}
        self._tells_all = ".html" in kinds
        """Only the HTML page shows what was said in checks that are in order."""
        self._tells_wrong = self.settings.findings is not None or bool(kinds & {".html", ".json"})
        self.lines: list[tuple[str, bool]] = []
        """Lines for the terminal, each with whether it is bad news."""

    def complete(self, result: ScenarioResult, phase: Phase) -> ScenarioResult:
        """The result with everything that a report shows, and without secrets."""
        item, secrets = phase.item, self.state.secrets
        command = f"{self.command} {shlex.quote(item.nodeid)}"
        again, file = command, ""
        if self.settings.findings is not None and result.verdict in KEPT:
            file = file_name(result.rules[0], item.nodeid)
            if self.replayed is None:
                again = replay_command(self.state, file)
        taken, text = phase.record, ""
        if taken is not None:
            if self._tells_all or (self._tells_wrong and is_told(result)):
                passed = result.verdict is Verdict.PASSED
                family = phase.rules[0].family
                text = conversation_text(taken, secrets, passed=passed, family=family)
            phase.drop_record()
        place, line = _location(item)
        complete = replace(
            result,
            again=again,
            command=command,
            replay=file,
            path=place,
            line=line,
            files=(*self._kept(item), *self._test_beside(file, result)),
            conversation=text,
        )
        return complete.fit_to_show(secrets)

    def _kept(self, item: pytest.Item) -> tuple[str, ...]:
        """The files that the browser left, if the scenario had a page and failed."""
        start = self.settings.directory
        kept = item.stash.get(KEPT_FILES, [])
        return tuple(Path(os.path.relpath(path, start)).as_posix() for path in kept)

    def _test_beside(self, file: str, result: ScenarioResult) -> tuple[str, ...]:
        """The test that is written beside a finding of an exploration."""
        folder = self.settings.findings
        if not (file and result.test and folder is not None):
            return ()
        path = (folder / file).with_suffix(".py")
        return (Path(os.path.relpath(path, self.settings.directory)).as_posix(),)

    # ---- at the end

    def write(self, session: pytest.Session) -> None:
        """Write every file, and note what to say about them."""
        if not self.state.results and not self.explored:
            if self.replayed is not None and session.exitstatus in _NOTHING_RAN:
                self._say_replayed(session, self.replayed)
            return
        report = self.report
        written, problems = write_reports(report, self.settings.reports)
        if self.replayed is None:
            problems += filter(None, [append_step_summary(report, dict(os.environ))])
        if self.settings.findings is not None and self.replayed is None:
            problem = write_findings(self.settings.findings, report)
            self._say(f"note      {problem}" if problem else "")
        if report.comparison is not None:
            for line in comparison_lines(report.comparison):
                self._say(line)
        if self.replayed is not None:
            self._say_replayed(session, self.replayed)
        for path in written:
            self._say(f"report    {os.path.relpath(path, self.settings.directory)}")
        for problem in problems:
            self._say(f"report    {problem}", wrong=True)
        if problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = NOT_WRITTEN

    def _say(self, line: str, *, wrong: bool = False) -> None:
        if line:
            # A finding or an earlier report may come from somebody else.
            self.lines.append((neutralise(line, _LONGEST_LINE), wrong))

    def _say_replayed(self, session: pytest.Session, finding: RecordedFinding) -> None:
        found = {one.scenario: one for one in reversed(self.state.results)}
        word, line = compare_finding(finding.result, found.get(finding.result.scenario))
        self._say(f"replay    {line}", wrong=word != "fixed")
        if word == "changed" and session.exitstatus in _NOTHING_RAN:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @property
    def explored(self) -> tuple[Explored, ...]:
        """What explorations exercised; call it when all reports are there."""
        return together(map(Explored.from_json, self.state.notes["explored"]))

    @property
    def _silent(self) -> list[tuple[str, str]]:
        return self.state.found.silent if self.state.found is not None else []

    @cached_property
    def report(self) -> Report:
        """The run as every reporter sees it; call it when all results are there."""
        hide = self.state.secrets.hide
        facts = RunFacts(
            target=hide(self.settings.subject),
            header=(*self.state.header, *ci_lines(os.environ)),
            silent=tuple((hide(name), why) for name, why in self._silent),
            started=self.started,
            seconds=now() - self._began,
            explored=self.explored,
            strict=self.settings.strict,
            select=self.settings.select,
            version=own_version(),
            command=hide(self.command),
            directory=self.settings.directory,
            settings_place=settings_place(self.state.config.rootpath, self.settings.directory),
            options=options_to_keep(self.state.given, self.state.secrets),
            withheld=withheld_names(self.settings),
        )
        return make_report(self.state.results, self.state.rules(), facts, self.earlier)


def _earlier_run(state: RunState) -> Earlier | None:
    """The report to compare with, without secrets of this run."""
    path = state.settings.compare
    if path is None:
        return None
    earlier = read_earlier(path, os.path.relpath(path, state.settings.directory))
    hidden = state.secrets.hide_all(vars(earlier) | {"rules": None})
    return replace(earlier, **(hidden | {"rules": earlier.rules}))


def _location(item: pytest.Item) -> tuple[str, int]:
    """A scenario's file relative to pytest's root if it is below it, else as in its id."""
    line = (item.reportinfo()[1] or 0) + 1
    with_id = item.nodeid.partition("::")[0]
    try:
        path = item.path.relative_to(item.config.rootpath)
    except ValueError:
        return with_id, line
    # A virtual environment below the root is not part of the user's repository.
    return (with_id if "site-packages" in path.parts else path.as_posix()), line
