"""Servers that serve well enough, and are a nuisance otherwise; and what a gigabyte costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hostile_servers.visits import MANY, TOUR, HostileServers, processes_marked

TARGET_LOST = 11
CALL: dict[str, Any] = {"at": "tools/call", "tool": "place_trade"}
MOST_BYTES = 200 * 1024 * 1024


def test_a_flood_of_errors_is_read_and_forgotten(hostile: HostileServers) -> None:
    visit = hostile.visit("stdio", at="begin", first=2, do="stderr flood")
    visit.expect_told()
    assert visit.shape == "......"
    assert visit.exit_code == 0


def test_one_that_ignores_every_request_to_leave(hostile: HostileServers) -> None:
    """It ignores SIGTERM and the end of its input, and hangs: it is ended all the same."""
    visit = hostile.visit("stdio", timeout=5, at="finish", in_checks=True, times=1, do="deaf")
    visit.expect_told()
    assert visit.shape.count("n") == 1
    assert set(visit.shape) == {".", "n"}
    assert visit.exit_code == TARGET_LOST


def test_children_do_not_outlive_the_run(hostile: HostileServers) -> None:
    """Neither those in the group of the command nor those that left it; all ignore SIGTERM."""
    visit = hostile.visit("stdio", at="begin", do="offspring")
    visit.expect_told()
    assert visit.shape == "......"
    assert visit.times("offspring") >= 4  # `visit` has seen that none of them is left
    assert visit.exit_code == 0


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_gigabyte_is_not_kept(hostile: HostileServers, kind: str) -> None:
    visit = hostile.visit(kind, apart=True, in_checks=True, times=3, at="challenge", do="gigabyte")
    visit.expect_told()
    assert "approval/challenge/create: too large: more than 8388608 bytes" in visit.last_word
    assert visit.exit_code == TARGET_LOST
    assert visit.peak <= MOST_BYTES


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_errors_of_seven_megabytes_are_not_kept(hostile: HostileServers, kind: str) -> None:
    visit = hostile.visit(
        kind, *TOUR, MANY, apart=True, first=2, **CALL, do="huge error", timeout=60
    )
    visit.expect_told()
    assert "(7000000 characters)" in visit.text
    assert visit.peak <= 2 * MOST_BYTES


def test_a_run_that_is_interrupted_leaves_nothing(hostile: HostileServers) -> None:
    """Ctrl-C while the target hangs."""
    with hostile.server("stdio", at="challenge", first=2, do="hang") as (target, mark, folder):
        code, text = hostile.interrupted(target, folder, mark)
        assert processes_marked(mark) == []
    assert code == 2
    assert "INTERNALERROR" not in text
