"""Reports in a pytest run: each scenario is recorded while it runs, and at the end everything that
the user asked for is written, once, where all results have come together.

What the files look like is `report`'s to know.
"""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..catalogue import Requirement, Verdict
from ..config.markers import MARKER
from ..config.options import START
from ..config.replay import options_of_finding, said_again
from ..config.settings import OPTIONS, PREFIX, Settings, SettingsError
from ..report.comparison import ComparisonError, Earlier, read_earlier
from ..report.conversation import conversation_text
from ..report.files import append_step_summary, write_reports
from ..report.model import Report, RunFacts, make_report
from ..report.replay import (
    Finding,
    ReplayError,
    compare_finding,
    file_name,
    leaves_file,
    read_finding,
    write_findings,
)
from ..report.results import ScenarioResult
from ..report.terminal import comparison_lines
from ..support import recording
from ..support.deadline import now
from ..support.text import neutralise
from .failure_text import FailureText
from .secrets_of_run import secrets_of_options

if TYPE_CHECKING:
    from .run import Run

NOT_WRITTEN = 4
"""pytest's exit code for a run that went well, but whose report could not be written."""
_EVERY_CHECK = 2
"""With -vv pytest tells each failed check at length."""
_NOTHING_RAN = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
_NOT_REPEATED = frozenset(
    {
        *("baseline", "compare", "findings", "replay", "report", "require-verified", "select"),
        "write-baseline",
    }
)
"""Options that say what is left behind, not what is judged."""
_DRAWN = frozenset({"header-from", "environment-from"})
"""Options that name secrets by their places. A finding of somebody else's must not have them read
and sent to where it says, so findings bring none along."""
_WITHHELD = {"header": "NAME: VALUE", "environment": "NAME=VALUE"}
"""Options with secrets: what stands for them in a command."""
_LONGEST_LINE = 4_000


_RECORD: pytest.StashKey[recording.Recording] = pytest.StashKey()
KEPT_FILES: pytest.StashKey[list[Path]] = pytest.StashKey()
"""Of a test that failed: what was kept of its page (`browsing`)."""


class Reporting:
    """The hooks of a run that have to do with what it leaves behind."""

    def __init__(self, config: pytest.Config, settings: Settings, run: Run) -> None:
        self.config = config
        self.settings = settings
        self.run = run
        self.secrets = run.secrets
        self.command = _own_options(config)
        self.earlier: Earlier | None = None
        self.replayed: Finding | None = None
        directory = settings.directory
        try:
            if settings.compare is not None:
                name = os.path.relpath(settings.compare, directory)
                earlier = read_earlier(settings.compare, name)
                hidden = self.secrets.hide_all(vars(earlier) | {"rules": None})
                self.earlier = replace(earlier, **(hidden | {"rules": earlier.rules}))
            if settings.replay is not None:
                name = os.path.relpath(settings.replay, directory)
                self.replayed = read_finding(settings.replay, name)
        except (ComparisonError, ReplayError) as error:
            option = "compare" if isinstance(error, ComparisonError) else "replay"
            raise SettingsError(f"{PREFIX}{option}: {error}") from None
        if self.replayed is not None:
            _check_withheld(self.replayed, settings)
        recording.begin_run()
        self.started = datetime.datetime.now(datetime.UTC)
        self._began = now()
        self._lines: list[tuple[str, bool]] = []
        self._stats: dict[str, list[Any]] = {}
        self._failed: list[Any] = []
        """What pytest counts as failed, and which of it that is."""

    def shown(self, lines: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Lines of the header, without secrets."""
        return [(name, self.secrets.hide(value)) for name, value in lines]

    def hidden(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The same without secrets."""
        return {name: self.secrets.hide(text) for name, text in texts.items()}

    # ---- while scenarios run

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _recorded(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from _recorded(item))

    def complete(
        self,
        judged: ScenarioResult,
        item: pytest.Item,
        rules: list[Requirement],
    ) -> ScenarioResult:
        """A result with all that a report shows of it, and with nothing that it must not."""
        command = f"{self.command} {shlex.quote(item.nodeid)}"
        again, file = command, ""
        if self.settings.findings is not None and leaves_file(judged.verdict):
            file = file_name(rules[0].id, item.nodeid)
            if self.replayed is None:
                path = os.path.relpath(self.settings.findings / file, self.settings.directory)
                repeated = said_again(self._options(), with_headers=bool(self.settings.headers))
                again = shlex.join(["pytest", f"{PREFIX}replay={path}", *repeated])
        taken = item.stash.get(_RECORD, None)
        text = ""
        if taken is not None:
            passed = judged.verdict is Verdict.PASSED
            text = conversation_text(taken, self.secrets, passed=passed)
            # It is told, and items live as long as the run.
            del item.stash[_RECORD]
        place, line = _location(item)
        complete = replace(
            judged,
            again=again,
            command=command,
            replay=file,
            path=place,
            line=line,
            files=self._kept(item),
            conversation=text,
        )
        return complete.fit_to_show(self.secrets)

    def _kept(self, item: pytest.Item) -> tuple[str, ...]:
        """What the browser left of a page, if the scenario had one and failed."""
        start = self.settings.directory
        kept = item.stash.get(KEPT_FILES, [])
        return tuple(Path(os.path.relpath(path, start)).as_posix() for path in kept)

    # ---- at the end

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.run.is_worker:
            return
        if not self.run.results:
            if self.replayed is not None and session.exitstatus in _NOTHING_RAN:
                self._say_replayed(session, self.replayed)
            return
        report = self.report
        written, problems = write_reports(report, self.settings.reports)
        if self.replayed is None:
            problems += filter(None, [append_step_summary(report, dict(os.environ))])
        if self.settings.findings is not None and self.replayed is None:
            problem = write_findings(
                self.settings.findings, report, self._options(), self._withheld()
            )
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

    def lines(self) -> list[tuple[str, bool]]:
        """What is said of it all in the terminal; the second: whether it is bad news."""
        return self._lines

    def _say(self, line: str, *, wrong: bool = False) -> None:
        if line:
            # A finding or an earlier report may be somebody else's.
            self._lines.append((neutralise(line, _LONGEST_LINE), wrong))

    # ---- in the terminal

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Generator[None, Any, Any]:
        """Failed checks are told by cause, in the summary. pytest's own section of failures would
        tell each of them again: it does not get them, unless it was asked for details."""
        option = self.config.option
        self._stats = terminalreporter.stats
        self._failed = self._stats.get("failed", [])
        others = [one for one in self._failed if not _is_finding(one)]
        by_cause = option.tbstyle in ("auto", "no") and option.verbose < _EVERY_CHECK
        if by_cause and len(others) < len(self._failed):
            self._stats["failed"] = others
        try:
            return (yield)
        finally:
            self.hand_back_failures()

    def hand_back_failures(self) -> None:
        """For the short summary: the line of each failed check (FAILED ...) stays."""
        if self._failed:
            self._stats["failed"] = self._failed

    @cached_property
    def report(self) -> Report:
        """The run as every reporter sees it; made when all results are there."""
        hide = self.secrets.hide
        try:
            ours = version("pytest-mcp-approval")
        except PackageNotFoundError:
            ours = ""
        facts = RunFacts(
            target=hide(self.settings.targets[0]),
            header=tuple(self.run.header),
            started=self.started,
            seconds=now() - self._began,
            strict=self.settings.strict,
            select=self.settings.select,
            version=ours,
            command=hide(self.command),
            directory=self.settings.directory,
        )
        return make_report(self.run.results, self.run.rules(), facts, self.earlier)

    def _say_replayed(self, session: pytest.Session, finding: Finding) -> None:
        result = next((one for one in self.run.results if one.scenario == finding.scenario), None)
        word, line = compare_finding(finding, result)
        self._say(f"replay    {line}", wrong=word != "fixed")
        if word == "changed" and session.exitstatus in _NOTHING_RAN:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _options(self) -> dict[str, Any]:
        """The options of this run, as a replay needs them."""
        found = {}
        for option in OPTIONS:
            value = self.config.getoption(option.destination)
            if value and option.name not in _NOT_REPEATED | _DRAWN | set(_WITHHELD):
                found[option.name] = self.secrets.hide_all(value)
        return found

    def _withheld(self) -> dict[str, list[str]]:
        return {
            "header": list(self.settings.headers),
            "environment": list(self.settings.environment),
        }


def record_of(item: pytest.Item) -> recording.Recording | None:
    """What happened in a scenario so far."""
    return item.stash.get(_RECORD, None)


def _is_finding(report: Any) -> bool:
    """Whether it is a check that found something; others failed otherwise."""
    return hasattr(report, "mcp_approval") and isinstance(report.longrepr, FailureText)


def _recorded(item: pytest.Item) -> Generator[None, Any, Any]:
    """One phase of a scenario, into its record."""
    if item.get_closest_marker(MARKER) is None:
        return (yield)
    recording.resume(item.stash.setdefault(_RECORD, recording.Recording()))
    try:
        return (yield)
    finally:
        recording.end()


def _check_withheld(finding: Finding, settings: Settings) -> None:
    """A replay without the token that the run had would find something else."""
    for option, given in (("header", settings.headers), ("environment", settings.environment)):
        known = {name.lower() for name in given}
        for name in finding.withheld.get(option, ()):
            if name.lower() not in known:
                form = _WITHHELD[option].replace("NAME", name)
                raise SettingsError(
                    f"{PREFIX}replay: the run had {option} {name!r}, whose value is not kept: "
                    f"add {PREFIX}{option}='{form}', or {PREFIX}{option}-from"
                )


def replay_options(
    path: Path, name: str, given: Mapping[str, Any], own: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """The options that a finding brings along, and its scenario. `given` stands on the command
    line, `own` in the user's settings files."""
    try:
        finding = read_finding(path, name)
    except ReplayError as error:
        raise SettingsError(f"{PREFIX}replay: {error}") from None
    known = {option.name for option in OPTIONS} - _NOT_REPEATED - _DRAWN - set(_WITHHELD)
    kept = {k: v for k, v in finding.options.items() if k in known}
    secrets = secrets_of_options({**own, **given})
    return options_of_finding(name, kept, given, own, secrets.hide_all), finding.scenario


def _location(item: pytest.Item) -> tuple[str, int]:
    """A scenario's file from pytest's root where it is below it, else as its id has it."""
    line = (item.reportinfo()[1] or 0) + 1
    with_id = item.nodeid.partition("::")[0]
    try:
        path = item.path.relative_to(item.config.rootpath)
    except ValueError:
        return with_id, line
    # An environment below the root is no part of the user's repository.
    return (with_id if "site-packages" in path.parts else path.as_posix()), line


def _own_options(config: pytest.Config) -> str:
    """pytest with the options of this run that are ours, without what narrows it or is secret."""
    kept = [START] if config.getoption("mcp_approval") else []
    for option in OPTIONS:
        value = config.getoption(option.destination)
        if not value or option.name in _NOT_REPEATED:
            continue
        if option.name in _WITHHELD:
            kept.append(f"{PREFIX}{option.name}={_WITHHELD[option.name]}")
        elif option.flag:
            kept.append(f"{PREFIX}{option.name}")
        else:
            values = value if isinstance(value, list) else [value]
            kept += [f"{PREFIX}{option.name}={one}" for one in values]
    return shlex.join(["pytest", *kept])
