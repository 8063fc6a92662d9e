"""Servers that hang, at each point of the ceremony, drip, or talk without ever answering.

What is lost to them is bounded: for each check the stated time and a little, and then no more.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.hostile_servers.visits import MANY, TOUR, HostileServers
from tests.wire.hostile import HostileServer, drips

TARGET_LOST = 11
PREFLIGHT_FAILED = 10
SECONDS = 4.0
"""What the servers get for an answer. Enough for an honest one on a machine that is busy."""
OVERHEAD = 4.0
"""For each affected check, on top of that: to end a server and to start it again, but not to wait
once more."""

CALL: dict[str, Any] = {"at": "tools/call", "tool": "place_trade"}
POINTS: dict[str, dict[str, Any]] = {
    "begin": {"at": "begin", "in_checks": True},
    "finish": {"at": "finish", "in_checks": True},
    "challenge": {"at": "challenge", "in_checks": True},
    "call": {**CALL, "in_checks": True},
}


def lost_seconds(visit) -> list[float]:
    return [one["seconds"] for one in visit.of("not verified")]


@pytest.mark.parametrize("point", POINTS)
def test_a_command_that_hangs_costs_its_time_once_a_check(
    hostile: HostileServers, point: str
) -> None:
    """Once: it is ended, started again, and judged from then on."""
    visit = hostile.visit("stdio", timeout=SECONDS, times=1, do="hang", **POINTS[point])
    visit.expect_told()
    assert set(visit.shape) == {".", "n"}
    assert visit.shape.count("n") == 1
    assert lost_seconds(visit)[0] < SECONDS + OVERHEAD
    assert f"no answer in time: nothing within {SECONDS:g} s" in visit.last_word
    assert f"If it is only slow: --mcp-approval-timeout=SECONDS (now {SECONDS:g})." in visit.text
    assert visit.exit_code == TARGET_LOST


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_one_that_hangs_for_good_is_given_up(hostile: HostileServers, kind: str) -> None:
    """From some request on it answers nothing at all, not even a new opening."""
    visit = hostile.visit(kind, MANY, timeout=SECONDS, first=40, do="hang")
    visit.expect_told()
    judged = visit.shape.index("n")
    assert judged > 0
    assert visit.shape == "." * judged + "n" * (len(visit.verdicts) - judged)
    assert visit.last_word.startswith("the target is gone: ")
    assert f"nothing within {SECONDS:g} s" in visit.last_word
    assert max(lost_seconds(visit)) < 2 * SECONDS + OVERHEAD
    at_once = [one for one in lost_seconds(visit) if one < SECONDS]
    assert len(at_once) >= len(lost_seconds(visit)) - 4
    assert visit.exit_code == TARGET_LOST


def test_one_method_that_is_never_answered_is_waited_for_less_and_less(
    hostile: HostileServers,
) -> None:
    """All else is answered, so that it is not gone: but nobody waits a dozen times for nothing."""
    visit = hostile.visit("http", MANY, timeout=SECONDS, first=2, do="mute", **CALL)
    visit.expect_told()
    assert set(visit.shape) == {"n"}
    taken = lost_seconds(visit)
    assert max(taken) < SECONDS + OVERHEAD
    assert "the target is gone: it broke off in 10 checks in a row" in visit.last_word
    assert visit.exit_code == TARGET_LOST


@pytest.mark.parametrize(
    ("kind", "habit"),
    [
        ("stdio", "flood"),
        ("http", "flood"),
        ("http", "endless stream"),
        ("stdio", "drip"),
        ("http", "drip"),
    ],
)
def test_talk_is_no_answer(hostile: HostileServers, kind: str, habit: str) -> None:
    """Notifications, comments or single bytes without end: the stated time counts, not the talk."""
    visit = hostile.visit(kind, timeout=SECONDS, in_checks=True, times=1, do=habit, at="challenge")
    visit.expect_told()
    assert visit.shape == "..n..."
    assert lost_seconds(visit)[0] < SECONDS + OVERHEAD
    assert visit.last_word.startswith(
        "the target broke off during the run: approval/challenge/create: "
    )
    assert visit.exit_code == TARGET_LOST


def test_nobody_waits_for_effects_that_drip(hostile: HostileServers) -> None:
    """The effects at a URL are read within the stated time, too."""
    with HostileServer(drips(b"HTTP/1.1 200 OK\r\n\r\n[", b" ")) as server:
        visit = hostile.visit(
            "http",
            *TOUR[:2],
            timeout=SECONDS,
            effects=False,
            options=[f"--mcp-approval-effects={server.url}"],
        )
    visit.expect_told()
    assert visit.exit_code == PREFLIGHT_FAILED
    assert "effects cannot be read: effects at http://127.0.0.1:" in visit.text
    assert f"no whole answer within {SECONDS:g} s" in visit.text
    assert visit.seconds < 30
