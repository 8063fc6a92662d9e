"""How far a run is, as its user sees it: on a terminal, in a file, with workers, with -q and -v."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report.results import ScenarioResult
from pytest_mcp_approval.session.progress import BETWEEN_LINES, Progress
from tests.inner_runs import plugin_options

METHOD = "--mcp-approval-select=sep2672/4.8-03-method"
DONE = "mcp-approval  1 of 1 rule checked, none failed; sep2672 1 of 1"
RULES = {"a/one": 1, "a/two": 2, "b/three": 1}


class Terminal:
    """As much of pytest's reporter as is written to."""

    def __init__(self, isatty: bool) -> None:
        self.isatty = isatty
        self.lines: list[str] = []
        self._tw = SimpleNamespace(fullwidth=200)

    def write_line(self, line: str) -> None:
        self.lines.append(line)

    def rewrite(self, line: str, **_: Any) -> None:
        self.lines.append(line)

    def flush(self) -> None:
        pass


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def shown(terminal: Terminal, clock: Clock) -> Progress:
    config: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin=lambda _: terminal),
        option=SimpleNamespace(verbose=0, collectonly=False),
    )
    progress = Progress(config, [RULES], clock)
    progress.pytest_xdist_node_collection_finished(["mcp-approval/a/test_it.py::test_it"])
    return progress


def ended(rule: str, name: str, verdict: Verdict = Verdict.PASSED) -> ScenarioResult:
    return ScenarioResult(rules=(rule,), scenario=name, verdict=verdict)


def test_a_plain_line_comes_when_a_family_is_done_and_now_and_then():
    terminal, clock = Terminal(isatty=False), Clock()
    progress = shown(terminal, clock)
    progress.hear(ended("a/one", "1"))
    progress.hear(ended("a/two", "2", Verdict.FAILED))
    assert terminal.lines == []
    clock.seconds = BETWEEN_LINES
    progress.hear(ended("a/two", "2"))  # told twice: still one check
    progress.hear(ended("a/two", "3"))
    progress.hear(ended("b/three", "4"))
    assert terminal.lines == [
        "mcp-approval  1 of 3 rules checked, 1 failed; a 1 of 2",
        "mcp-approval  2 of 3 rules checked, 1 failed; a 2 of 2",
        "mcp-approval  3 of 3 rules checked, 1 failed; b 1 of 1",
    ]


def test_on_a_terminal_one_line_is_kept_up_to_date():
    terminal, clock = Terminal(isatty=True), Clock()
    progress = shown(terminal, clock)
    progress.hear(ended("a/one", "1"))
    progress.hear(ended("a/two", "2"))  # too soon after the last one
    clock.seconds = 1.0
    progress.hear(ended("a/two", "3"))
    assert terminal.lines == [
        "mcp-approval  1 of 3 rules checked, none failed; a 1 of 2",
        "mcp-approval  2 of 3 rules checked, none failed; a 2 of 2",
    ]


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "with a worker"])
def test_a_run_shows_rules_and_no_letters(pytester: pytest.Pytester, workers: tuple[str, ...]):
    run = _run(pytester, *workers)
    run.stdout.fnmatch_lines([DONE, "mcp-approval  1 of 1 rule checked"])
    run.stdout.no_re_match_line(r"^(mcp-approval/\S+ )?\.+")


def test_letters_stay_with_quiet_runs_and_beside_other_tests(pytester: pytest.Pytester):
    run = _run(pytester, "-q")
    run.stdout.re_match_lines([r"^\.+ +\[100%\]"])
    run.stdout.no_fnmatch_line(DONE)
    pytester.makepyfile("def test_mine(): pass")
    run = _run(pytester, "test_letters_stay_with_quiet_runs_and_beside_other_tests.py")
    run.stdout.fnmatch_lines(["mcp-approval/*.py .*"])
    run.stdout.no_fnmatch_line(DONE)


def test_every_check_has_its_line_with_verbose(pytester: pytest.Pytester):
    run = _run(pytester, "-v")
    run.stdout.fnmatch_lines(["mcp-approval/*::* PASSED*"])
    run.stdout.no_fnmatch_line(DONE)


def _run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    run = pytester.runpytest_inprocess(
        *("-p", "no:cacheprovider", *plugin_options(), METHOD),
        *("--mcp-approval-target=reference", *arguments),
    )
    assert run.ret == 0
    return run
