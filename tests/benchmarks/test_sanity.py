"""Figures that cannot be true are not written down."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks import runs, sanity, suite
from benchmarks.waiting import together

SEP2672 = {"scenarios": [{"rules": ["sep2672/4.2-listed"]}, {"rules": ["sep2672/4.8-order"]}]}
TOLD = "59 passed      2 checks in 4.0 s\nwaited 3.000 s of 5.000 s in 12 calls\n"


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_share_is_a_part_of_a_whole(value: float):
    assert sanity.share(value, "waiting") == value


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (sanity.share, (4.38, "waiting")),
        (sanity.share, (-0.01, "waiting")),
        (sanity.share, (math.nan, "waiting")),
        (sanity.ratio, (0.0, "waiting")),
        (sanity.ratio, (math.inf, "waiting")),
        (sanity.ratio, (math.nan, "waiting")),
        (sanity.measured, (0.0, "waiting")),
        (sanity.measured, (6.0, "waiting", 5.0)),
        (sanity.count, (158, 1038, "waiting")),
        (sanity.count, (0, 0, "waiting")),
        (sanity.named, ("sep2672", "gateway_consent", "waiting")),
    ],
)
def test_what_cannot_be_true_ends_a_benchmark_with_one_line(check: Any, arguments: Any):
    with pytest.raises(SystemExit, match=r"benchmark: nothing was written: waiting: got .+") as end:
        check(*arguments)
    assert "\n" not in str(end.value.code)


def test_what_wraps_a_thing_is_not_quicker_than_the_thing():
    with pytest.raises(SystemExit, match=r"waiting: got 0\.08, expected at least 0\.9"):
        sanity.measured(0.08, "waiting", at_least=0.9)


def test_the_figures_of_a_run_are_those_of_its_family():
    found = suite.figures("sep2672", TOLD, SEP2672)
    assert found == {"checks": 2, "calls": 12, "checks per second": 0.5, "waiting": 0.6}


@pytest.mark.parametrize(
    ("output", "report", "problem"),
    [
        (TOLD.replace("2 checks", "158 checks"), SEP2672, "checks of sep2672: got 158"),
        (TOLD + "9 checks in 1.0 s\n", SEP2672, "families on the terminal: got 2"),
        (TOLD, {"scenarios": [{"rules": ["prepare_confirm/pairs"]}] * 2}, "the families of the"),
        (TOLD.replace("waited 3", "waited 7"), SEP2672, "a share between 0 and 1"),
        (TOLD.replace("in 4.0 s", "in 9.0 s"), SEP2672, "seconds in checks: got 9"),
        (TOLD.replace("waited", "slept"), SEP2672, "how long was waited"),
    ],
)
def test_a_run_that_tells_two_things_has_no_figures(output: str, report: Any, problem: str):
    with pytest.raises(SystemExit, match=problem):
        suite.figures("sep2672", output, report)


def test_two_workers_are_at_most_twice_as_fast():
    assert suite.speed(30.0, 20.0)["speed-up"] == 1.5
    with pytest.raises(SystemExit, match="two workers: got 30"):
        suite.speed(30.0, 1.0)


def a_run(output: str) -> runs.Run:
    return runs.Run(9.0, 5.0, output)


WHOLE = (
    "59 passed      20 checks in 4.0 s\nx passed  4 checks in 1.5 s\nwaited 3.0 s of 5.0 s in 9 "
    "calls\n== 20 passed, 1 not verified, 3 not applicable, 7 deselected, 2 warnings in 6.00s ==\n"
)


def test_a_run_has_the_checks_of_all_its_families():
    assert (a_run(WHOLE).checks, a_run(WHOLE).waiting) == (24, 0.6)


@pytest.mark.parametrize(
    ("output", "figure", "problem"),
    [
        (WHOLE.replace("== 20 passed", "== 7620 passed"), "checks", "got 24, expected the 7624"),
        (WHOLE.replace("4 checks in", "9 checks in"), "checks", "got 29, expected the 24"),
        ("no tests ran in 0.01s\n", "checks", "got 0"),
        (WHOLE.replace("waited 3.0", "waited 8.0"), "waiting", "got 1.60"),
        (WHOLE.replace("waited", "slept"), "waiting", "how long was waited"),
    ],
)
def test_a_run_with_other_tests_or_doubtful_counts_has_no_figures(
    output: str, figure: str, problem: str
):
    with pytest.raises(SystemExit, match=problem):
        getattr(a_run(output), figure)


def test_a_family_is_measured_without_the_tests_of_this_project(pytestconfig: pytest.Config):
    """Without a path, pytest would run what `testpaths` names as well."""
    assert pytestconfig.getini("testpaths")
    assert suite.of_family("sep2672")[len(suite.PYTEST)] == "mcp-approval/sep2672"


def test_calls_that_wait_at_the_same_time_are_counted_once():
    assert together([(0, 4), (1, 2), (3, 6), (8, 9)]) == 7
    assert together([]) == 0
