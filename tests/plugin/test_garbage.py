"""While scenarios run, garbage is searched for less often; afterwards as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_mcp_approval.session.garbage import SeldomSearches
from tests.plugin.conftest import Suite


@pytest.fixture(autouse=True)
def _as_in_a_new_process() -> Iterator[None]:
    """The tests themselves have frozen what they loaded."""
    threshold = gc.get_threshold()
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
    yield
    gc.freeze()
    gc.set_threshold(*threshold)


def test_less_often_and_not_through_what_is_there() -> None:
    searches = SeldomSearches()
    searches.begin()
    assert gc.get_threshold() == (10_000, 10, 10)
    assert gc.get_freeze_count() > 1000
    for _ in range(2):
        searches.end()
        assert gc.get_threshold() == (700, 10, 10)
        assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("threshold", [0, 50_000])
def test_whoever_has_chosen_otherwise_is_not_overruled(threshold: int) -> None:
    gc.set_threshold(threshold)
    searches = SeldomSearches()
    searches.begin()
    assert gc.get_threshold()[0] == threshold
    assert gc.get_freeze_count() == 0
    searches.end()
    assert gc.get_threshold()[0] == threshold


def test_what_somebody_else_froze_stays_frozen() -> None:
    gc.freeze()
    searches = SeldomSearches()
    searches.begin()
    assert gc.get_threshold()[0] == 700
    searches.end()
    assert gc.get_freeze_count() > 1000


def test_a_run_ends_as_it_began(suite: Suite) -> None:
    seen: list[int] = []

    class Watching:
        def pytest_runtest_call(self) -> None:
            seen.append(gc.get_threshold()[0])

    scenario = "mcp-approval/sep2672/test_4_2_annotation.py::test_required_is_the_literal_verified"
    suite.run(scenario, "--mcp-approval-findings=none", plugins=[Watching()])
    assert set(seen) == {10_000}
    assert (gc.get_threshold()[0], gc.get_freeze_count()) == (700, 0)
