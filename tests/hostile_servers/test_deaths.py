"""Servers that die, at each point of the ceremony: for good, or to be started again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hostile_servers.visits import MANY, TOUR, HostileServers

TARGET_LOST = 11
PREFLIGHT_FAILED = 10

CALL: dict[str, Any] = {"at": "tools/call", "tool": "place_trade"}
POINTS: dict[str, tuple[dict[str, Any], int]] = {
    # The position of the first check that needs it: all before it are judged.
    "opening": ({"at": "opening", "do": "die", "first": 2}, 0),
    "listing": ({"at": "tools/list", "do": "die", "first": 3}, 0),
    "begin": ({"at": "begin", "do": "die", "in_checks": True}, 1),
    "finish": ({"at": "finish", "do": "die", "in_checks": True}, 2),
    "challenge": ({"at": "challenge", "do": "die", "in_checks": True}, 2),
    "call": ({**CALL, "do": "die", "in_checks": True}, 2),
    "call, after its effect": ({**CALL, "do": "die after", "in_checks": True}, 2),
}
"""Each has worked before, in the preflight."""


def test_a_death_in_a_look_at_honest_use_costs_no_check(hostile: HostileServers) -> None:
    """The tools are listed before the first check, which then meets a server started anew."""
    plan, _ = POINTS["listing"]
    visit = hostile.visit("stdio", times=1, **plan)
    visit.expect_told()
    assert visit.times("deaths") == 1
    assert visit.shape == "." * len(TOUR)


@pytest.mark.parametrize("point", [one for one in POINTS if one != "listing"])
def test_a_command_that_dies_once_is_started_again(hostile: HostileServers, point: str) -> None:
    plan, before = POINTS[point]
    visit = hostile.visit("stdio", times=1, **plan)
    visit.expect_told()
    assert visit.shape == "." * before + "n" + "." * (len(TOUR) - before - 1)
    assert "command exited with 3: out of luck" in visit.last_word
    assert "Because of that, 1 check of 1 rule could not be made" in visit.text
    assert visit.exit_code == TARGET_LOST
    assert visit.times("starts") == 3  # for the preflight, for the run, and after its death


@pytest.mark.parametrize("point", POINTS)
def test_a_command_that_stays_dead_is_given_up(
    hostile: HostileServers, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, before = POINTS[point]
    shown: list[object] = []
    monkeypatch.setattr(pytest.ExceptionInfo, "getrepr", lambda *_, **__: shown.append(point))
    visit = hostile.visit("stdio", *TOUR, MANY, stays_dead=True, **plan)
    visit.expect_told()
    assert visit.shape == "." * before + "n" * (len(visit.verdicts) - before)
    assert len(visit.verdicts) > 15
    assert visit.last_word.startswith("the target is gone: ")
    assert "out of luck for good" in visit.last_word
    assert visit.exit_code == TARGET_LOST
    # Nobody tries to start it once for every check.
    assert visit.times("starts") <= 2 + 3 + 1
    assert shown == [], "no traceback either: nobody would see it"


@pytest.mark.parametrize("point", ["begin", "call, after its effect"])
def test_a_server_that_is_started_again_by_others_is_found_again(
    hostile: HostileServers, point: str
) -> None:
    plan, before = POINTS[point]
    visit = hostile.visit("supervised", times=1, **plan)
    visit.expect_told()
    assert visit.shape == "." * before + "n" + "." * (len(TOUR) - before - 1)
    assert visit.exit_code == TARGET_LOST


@pytest.mark.parametrize("point", ["opening", "challenge", "call, after its effect"])
def test_a_server_that_stays_dead_is_given_up(hostile: HostileServers, point: str) -> None:
    plan, before = POINTS[point]
    visit = hostile.visit("http", *TOUR, MANY, **plan)
    visit.expect_told()
    assert visit.shape == "." * before + "n" * (len(visit.verdicts) - before)
    assert visit.last_word.startswith("the target is gone: http://127.0.0.1:")
    assert "connection refused" in visit.last_word
    assert "Is the server still running?" in visit.text
    assert visit.exit_code == TARGET_LOST


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_a_server_that_dies_before_anything_was_judged(hostile: HostileServers, kind: str) -> None:
    visit = hostile.visit(kind, at="opening", do="die", stays_dead=True)
    visit.expect_told()
    assert visit.exit_code == PREFLIGHT_FAILED
    assert visit.last_word == ""
    assert "mcp-approval  cannot speak to the target: " in visit.text


def test_one_that_dies_in_every_check_is_given_up_in_the_end(hostile: HostileServers) -> None:
    """It can be started each time, and then has nothing to say: that is no use either."""
    visit = hostile.visit(
        "stdio",
        "test_4_8_verification.py",
        rules=["4.8-01-evidence-present", "4.8-03-method"],
        in_checks=True,
        **CALL,
        do="die",
    )
    visit.expect_told()
    assert set(visit.shape) == {"n"}
    assert "the target is gone: it broke off in 10 checks in a row" in visit.last_word
    assert visit.times("deaths") == 10 < len(visit.verdicts)
    assert visit.exit_code == TARGET_LOST


def test_a_death_is_a_finding_where_it_answers_the_request(hostile: HostileServers) -> None:
    """It dies of one kind of request only, and is well before and after: that is its answer."""
    visit = hostile.visit("stdio", TOUR[-1], effects=False, **CALL, do="die of no evidence")
    visit.expect_told()
    assert visit.exit_code == 1
    assert [one["verdict"] for one in visit.verdicts] == ["failed"]
    assert "got       the connection was closed: command exited with 3: out of luck" in visit.text


@pytest.mark.parametrize("kind", ["stdio", "supervised"])
@pytest.mark.parametrize("habit", ["die", "die after"])
def test_one_that_dies_now_and_then_is_not_accused(
    hostile: HostileServers, kind: str, habit: str
) -> None:
    """At each second call, whatever it is about; here that is the one which must be refused. Asked
    again, the very call is answered, so that the death was no answer to it."""
    plan = {**CALL, "do": habit, "every": 2, "in_checks": True}
    visit = hostile.visit(kind, TOUR[-1], effects=False, **plan)
    visit.expect_told()
    assert visit.shape == "n"
    assert "; and then: asked the very same again, it did not break off: " in visit.last_word
    assert visit.exit_code == TARGET_LOST


def test_what_was_judged_stands_beside_a_failure(hostile: HostileServers) -> None:
    """A rule that is broken decides the exit code; that the target was lost is still said."""
    replay = "test_8_2_exactly_once.py::test_a_replay_on_the_same_connection_gets_no_second_run"
    rules = ["4.8-01-evidence-present", "8.2.3-exactly-once"]
    plan = {**CALL, "do": "lie, then die", "in_checks": True, "first": 2}
    visit = hostile.visit("stdio", TOUR[-1], replay, rules=rules, **plan)
    visit.expect_told()
    assert visit.exit_code == 1
    assert visit.shape == "Xn"
    assert "got       a result, tool not run" in visit.text
    assert "out of luck" in visit.last_word


def test_under_xdist_each_worker_gives_it_up(hostile: HostileServers) -> None:
    visit = hostile.visit(
        "http",
        *TOUR,
        MANY,
        first=2,
        options=["-n", "2"],
        apart=True,
        at="challenge",
        do="die",
    )
    visit.expect_told()
    assert visit.last_word.startswith("the target is gone: http://127.0.0.1:")
    assert visit.exit_code == TARGET_LOST


def test_tests_of_the_users_own_fail_with_one_line(hostile: HostileServers) -> None:
    """They would treat a skip as a pass."""
    assert hostile.pytester is not None
    path = hostile.pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_of_mine(approval, number):
            assert approval.tools()
        """
    )
    visit = hostile.visit(
        "stdio", options=[str(path)], first=5, at="tools/list", do="die", stays_dead=True
    )
    assert visit.exit_code == 1
    assert visit.text.count("the target is gone: env") >= 4
    assert visit.text.count("Traceback") == 0
