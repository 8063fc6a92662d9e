"""Exploration in a pytest run: one item for each family and worker, and a result for each find.

A find is a result of the rule that it breaks, like that of a scenario: with a verdict, its four
lines, a file to replay it and a place in the baseline. xdist lets a worker report only on the item
that it runs, so finds travel on that item's report, and the controller reports each as a test.
`explore` invents the walks. Makes no verdict.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from ..catalogue import NotVerified, Verdict, requirement
from ..catalogue.marking import rules_of
from ..catalogue.requirements import selected
from ..config.registry import FamilyError, registered
from ..config.settings import PREFIX
from ..config.values import USUAL_BUDGET
from ..explore.coverage import Explored
from ..explore.findings import (
    ROLE,
    ExploredFinding,
    has_model,
    read_steps,
    run_walk,
    test_text,
    walk_json,
)
from ..families.base.exploration import EndOfWalk
from ..report.replay import RecordedFinding
from ..report.results import ScenarioResult
from ..support.connection import is_loopback
from ..support.deadline import now
from ..support.text import neutralise
from ..target import Target
from .collection import ScenarioFolder
from .failure_text import tell_report
from .judging import blank_result
from .phase import NOTES, Phase, Step, keep_record
from .start import ROOT
from .state import RunState

_FOUND = "mcp_approval_explored"
"""The attribute of a report that has what an exploration found."""
_EXPLORED: pytest.StashKey[tuple[Explored, list[ExploredFinding]]] = pytest.StashKey()
_FAMILY: pytest.StashKey[str] = pytest.StashKey()
_RATE_TO_OTHERS = 20.0
"""Requests a second to another machine, unless the user says otherwise."""
_LONGEST = 600
_BETWEEN_LINES = 15.0
_BETWEEN_REDRAWS = 0.2
_EXTRA = "pip install 'pytest-mcp-approval[explore]'"


class ExplorationFinding(pytest.Item):
    """The item of a find: it has run already."""

    def runtest(self) -> None:
        """Nothing: the exploration did it."""

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, 0, self.nodeid


class Explorations:
    """The explorations of one run."""

    def __init__(
        self, state: RunState, steps: tuple[Step, ...], replayed: RecordedFinding | None
    ) -> None:
        """`steps`: from a find to what the run says about it."""
        self.state = state
        self._steps = steps
        self._replayed = replayed

    # ---- before

    def collect(self, session: pytest.Session) -> list[pytest.Item]:
        return list(self._items(session))

    def _items(self, session: pytest.Session) -> Iterator[pytest.Item]:
        state = self.state
        asked = bool(state.settings.explore) or any(f"/{ROLE}" in one for one in state.ids)
        families = [one for one in state.wanted_families if has_model(one)] if asked else []
        walk = self._replayed.walk if self._replayed is not None else None
        if walk is not None:
            yield from self._replay(session, walk)
            return
        if families:
            _need_hypothesis()
        for family in families:
            for number in range(_workers(state.config)):
                item = self._item(session, family, f"walks[{number}]", _explore)
                if not state.ids or any(_names(one, item.nodeid) for one in state.ids):
                    item.stash[_FAMILY] = family
                    item.user_properties.append(("mcp_approval_share", len(families)))
                    yield item

    def _replay(self, session: pytest.Session, walk: Any) -> Iterator[pytest.Item]:
        assert self._replayed is not None
        scenario, rules = self._replayed.result.scenario, self._replayed.result.rules
        family = rules[0].partition("/")[0]
        try:
            steps = read_steps(walk)
            registered(family)
        except (ValueError, TypeError, FamilyError) as error:
            raise pytest.UsageError(f"{PREFIX}replay: this finding has no walk: {error}") from None

        def walk_again(approval_turn: Target) -> None:
            try:
                run_walk(approval_turn, family, steps)
            except EndOfWalk as end:
                raise NotVerified(f"the walk could not be made again: {end}") from end

        item = self._item(session, family, scenario.partition("::")[2], walk_again)
        item.add_marker(requirement(*rules))
        yield item

    def _item(self, session: pytest.Session, family: str, name: str, run: Any) -> pytest.Function:
        place = f"{ROOT}/{family}/{ROLE}"
        folder = ScenarioFolder.from_parent(session, name=place, nodeid=place)
        return pytest.Function.from_parent(folder, name=name, callobj=run)

    # ---- after

    def tell(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Put what was found on the report."""
        if report.when == "call" and _FAMILY in item.stash and report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            told_why = [item.stash[_FAMILY], why.removeprefix("Skipped: ")]
            vars(report).setdefault(NOTES, {})["unexplored"] = told_why
        if report.when != "call" or _EXPLORED not in item.stash:
            return
        explored, findings = item.stash[_EXPLORED]
        told = [one for one in (self._result(item, found) for found in findings) if one]
        setattr(report, _FOUND, told)
        counted = replace(explored, findings=len(told))
        vars(report).setdefault(NOTES, {})["explored"] = counted.to_json()

    def _result(self, item: pytest.Item, found: ExploredFinding) -> dict[str, Any] | None:
        """A find as a report of its own, as plain data."""
        broken = found.broken
        if not selected(broken.rule, self.state.settings.select):
            return None
        family = item.stash[_FAMILY]
        parent = item.parent
        assert parent is not None
        own = ExplorationFinding.from_parent(
            parent, name=found.name, nodeid=f"{parent.nodeid}::{found.name}"
        )
        own.add_marker(requirement(broken.rule))
        if found.record is not None:
            keep_record(own, found.record)

        def fail() -> None:
            raise broken

        call = pytest.CallInfo.from_call(fail, when="call")
        report = pytest.TestReport.from_item_and_call(own, call)
        phase = Phase(own, call, report, rules_of(own))
        result = blank_result(phase)
        assert result is not None
        result = replace(
            result,
            steps=found.told,
            walk=walk_json(found.walk),
            test=test_text(family, found),
        )
        for step in self._steps:
            result = step(result, phase)
            if step is self._steps[0]:
                result = _as_found(result, found)
        return {
            "nodeid": own.nodeid,
            "outcome": report.outcome,
            "longrepr": report.longrepr if isinstance(report.longrepr, str) else None,
            "wasxfail": getattr(report, "wasxfail", None),
            "mcp_approval": report.mcp_approval,
            NOTES: getattr(report, NOTES, {}),
        }

    def summary_lines(self) -> list[str]:
        """Which families were not explored, and why."""
        told = dict(self.state.notes["unexplored"])
        hide = self.state.secrets.hide
        return [
            f"explore   {family}  not explored: {neutralise(hide(why), _LONGEST)}"
            for family, why in told.items()
        ]

    def hear(self, report: pytest.TestReport) -> None:
        """Report each find as a test of its own. Called where all results arrive."""
        for told in getattr(report, _FOUND, ()):
            # Another worker may have found the same.
            if all(one.scenario != told["nodeid"] for one in self.state.results):
                tell_report(self.state.config, told)


def _as_found(result: ScenarioResult, found: ExploredFinding) -> ScenarioResult:
    assert result.evidence is not None
    shrunk = f", shrunk from {found.found_with}" if found.found_with > len(found.walk) else ""
    sent = (
        f"{result.evidence.sent} (exploration, after {found.after} walks: "
        f"{len(found.told)} steps{shrunk})"
    )
    verdict = Verdict.WARNING if found.broken.warning else result.verdict
    return replace(result, verdict=verdict, evidence=replace(result.evidence, sent=sent))


# ---- the item itself


def _explore(approval_turn: Target, request: pytest.FixtureRequest) -> None:
    """Explore one family at the server."""
    from ..explore.budget import Budget
    from ..explore.databases import DatabaseError, open_databases
    from ..explore.engine import Explorer
    from ..explore.findings import model_of
    from .state import state_of

    item, target = request.node, approval_turn
    family, state = item.stash[_FAMILY], state_of(request.config)
    settings = state.settings
    share = dict(item.user_properties).get("mcp_approval_share", 1)
    problem = registered(family).part("health").honest_approval(target)
    if problem:
        raise NotVerified(f"nothing can be explored, since an honest approval fails: {problem}")
    named_seed, own_seed = _seed(request.config, item.nodeid)
    with contextlib.ExitStack() as opened:
        try:
            database = open_databases(settings.explore_databases, settings.directory)
        except DatabaseError as error:
            raise NotVerified(str(error)) from None
        explorer = Explorer(
            model_of(family),
            target,
            Budget((settings.explore or USUAL_BUDGET) / share, requests_a_second(target)),
            own_seed,
            database=database,
            progress=opened.enter_context(_progress(request.config)),
        )
        explored = explorer.run()
    item.stash[_EXPLORED] = replace(explored, seeds=(named_seed,)), explorer.findings


def requests_a_second(target: Target) -> float | None:
    """The most that may be sent: what the user says, else little to other machines."""
    named = target.settings.explore_rate
    if named is not None:
        return named
    host = urlsplit(target.spec.url).hostname if target.spec.url else None
    return None if host is None or is_loopback(host) else _RATE_TO_OTHERS


def _seed(config: pytest.Config, nodeid: str) -> tuple[int, int]:
    """What --hypothesis-seed says, or a new one; and what follows from it for this item."""
    given = str(config.getoption("hypothesis_seed", None) or "")
    named = int(given) if given.isdecimal() else random.SystemRandom().getrandbits(32)
    return named, random.Random(f"{named} {nodeid}").getrandbits(32)


def _workers(config: pytest.Config) -> int:
    told = getattr(config, "workerinput", None)
    return int(told["workercount"]) if told is not None else 1


def _names(given: str, nodeid: str) -> bool:
    return nodeid == given or nodeid.startswith((f"{given}[", f"{given}::", f"{given}/"))


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise pytest.UsageError(f"{PREFIX}explore needs Hypothesis: {_EXTRA}") from None


@contextlib.contextmanager
def _progress(config: pytest.Config) -> Iterator[Any]:
    """How far the exploration is: one line that is written again and again on a terminal, elsewhere
    a line now and then. Workers have none."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    capture = config.pluginmanager.getplugin("capturemanager")
    if reporter is None or config.option.verbose < 0:
        yield lambda _: None
        return
    last = now()

    def show(explored: Explored) -> None:
        nonlocal last
        every = _BETWEEN_REDRAWS if reporter.isatty else _BETWEEN_LINES
        if now() - last < every:
            return
        last = now()
        line = f"explore   {explored.family}  {explored.line}"
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            if reporter.isatty:
                reporter.rewrite(line[: reporter._tw.fullwidth - 1], erase=True)
            else:
                reporter.ensure_newline()
                reporter.write_line(line)
            reporter.flush()

    try:
        yield show
    finally:
        if reporter.isatty:
            with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
                reporter.rewrite("", erase=True)
