"""Calls that ask several questions, at once or one after the other: a walk finds nothing in a
healthy server of this kind, and a defect in a broken one."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.families.base.exploration import BrokenRule
from tests.explore.exploring import explored, opened

Walk = list[tuple[str, dict[str, Any]]]
SERVERS = "python:tests.explore.several_questions:"
HANDSHAKE = "2025-11-25"
APPROVE = ("approve", {"number": 0})
CALL = ("call", {"number": 0})  # the newest question
FIRST_AGAIN = ("call", {"number": 1})
NO = ("say_no", {"number": 0, "action": "decline"})
WAIT: tuple[str, dict[str, Any]] = ("open_call", {"number": 0})
YES_INSIDE = ("answer_inside", {"number": 0, "action": "accept"})
NO_INSIDE = ("answer_inside", {"number": 0, "action": "decline"})
CASES: list[tuple[str, str, str, str | None, Walk]] = [
    ("Twice", "CountsAnswers", "asks-first", None, [APPROVE, CALL, FIRST_AGAIN]),
    (
        "Twice",
        "BindsTheFirstOnly",
        "state-arguments",
        None,
        [APPROVE, CALL, ("change", {"number": 0, "change": 0})],
    ),
    ("Twice", "RunsAtBoth", "asks-first", None, [APPROVE, CALL]),
    ("Twice", "RunsAtBoth", "accept-runs-once", HANDSHAKE, [WAIT, YES_INSIDE, YES_INSIDE]),
    ("Twice", "TheSecondIsPolite", "decline", None, [APPROVE, CALL, NO]),
    ("Twice", "TheSecondIsPolite", "decline", HANDSHAKE, [WAIT, YES_INSIDE, NO_INSIDE]),
    (
        "Twice",
        "TheSecondServesForEver",
        "single-use",
        None,
        [APPROVE, CALL, CALL, ("replay", {"number": 0})],
    ),
    ("Beside", "AnyYesWillDo", "decline", None, [APPROVE, NO]),
    (
        "Beside",
        "AnyYesWillDo",
        "missing-answers",
        None,
        [APPROVE, ("answer_nothing", {"number": 0, "others": True})],
    ),
]


@pytest.mark.parametrize(("healthy", "broken", "rule", "protocol", "walk"), CASES)
def test_a_walk_tells_a_broken_server_from_a_healthy_one(healthy, broken, rule, protocol, walk):
    with opened(SERVERS + healthy, protocol) as target:
        assert len(run_walk(target, "elicitation", walk)) == len(walk)  # each step was possible
    with opened(SERVERS + broken, protocol) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "elicitation", walk)
    assert raised.value.rule == f"elicitation/{rule}"


def test_an_answer_that_another_question_has_followed_answers_nothing_else():
    """In an open call that waits for the second answer: which then still counts."""
    again: tuple[str, dict[str, Any]] = ("answer_too_late", {"number": 0})
    with opened(SERVERS + "Twice", HANDSHAKE) as target:
        told = run_walk(target, "elicitation", [WAIT, YES_INSIDE, again, YES_INSIDE, again])
    assert "nothing within" in told[2] or "no answer" in told[2]
    assert "tool run" in told[3]


@pytest.mark.parametrize(
    ("server", "protocol", "walks"),
    [("Twice", None, 5), ("Twice", HANDSHAKE, 2), ("Beside", None, 5)],
)
def test_nothing_is_found_in_a_healthy_server(server, protocol, walks):
    with opened(SERVERS + server, protocol) as target:
        explorer = explored(target, "elicitation", walks)
    assert not explorer.findings
