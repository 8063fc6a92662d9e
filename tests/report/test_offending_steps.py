"""Which step of a conversation a finding is about: the last answer before it was found."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade
from pytest_mcp_approval.families.base.scenario import Several
from pytest_mcp_approval.report.conversation import conversation_text
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import now
from pytest_mcp_approval.support.exchanges import Excerpt, Exchange
from pytest_mcp_approval.support.secrets import Secrets


@pytest.fixture
def recorded() -> Iterator[recording.Recording]:
    yield recording.begin()
    recording.end()


def exchange(name: str) -> None:
    body = Excerpt.of(b"{}")
    recording.add(Exchange(name, body, body, "a result", "", now()))


def look(tool: str | None = None) -> None:
    """At the effects; by a tool that is an exchange, too."""
    if tool is not None:
        exchange(tool)
    recording.note("effects", "looked", count=1, digest="x", tool=tool)


def found(grade: Grade = Grade.BROKEN) -> Finding:
    return Finding(sent="a", expected="b", got="c", grade=grade)


def marked(recorded: recording.Recording, *, passed: bool = False) -> list[str]:
    told = json.loads(conversation_text(recorded, Secrets(), passed=passed))
    assert all(step["kind"] != "finding" for step in told["steps"])
    return [step["method"] for step in told["steps"] if step.get("offending")]


@pytest.mark.parametrize("tool", [None, "list_effects"])
def test_it_is_the_last_answer_and_not_a_look_at_the_effects(recorded, tool):
    exchange("honest")
    look(tool)
    exchange("replayed")
    look(tool)
    recording.note("clock", "released")
    found()
    exchange("afterwards")
    assert marked(recorded) == ["replayed"]


def test_each_of_several_findings_has_its_step_and_the_sum_has_none(recorded):
    several = Several()
    for name in ("one", "two", "three"):
        exchange(name)
        with several.one(name):
            if name != "two":
                raise found(Grade.RAN)
    exchange("honest")
    with pytest.raises(Finding):
        several.settle()
    assert marked(recorded) == ["one", "three"]


def test_a_scenario_that_passed_after_all_has_none(recorded):
    exchange("tried")
    found()
    assert marked(recorded, passed=True) == []


def test_without_any_answer_nothing_is_marked(recorded):
    look()
    found()
    assert marked(recorded) == []


def test_what_was_left_out_of_a_long_conversation_keeps_its_place(recorded):
    for number in range(recording.KEPT_FIRST + recording.KEPT_LAST + 10):
        exchange(str(number))
        if number == 3:
            found()
    told = json.loads(conversation_text(recorded, Secrets(), passed=False))
    place = told["leftOut"]["after"]
    before, after = told["steps"][place - 1], told["steps"][place]
    assert int(after["method"]) - int(before["method"]) - 1 == told["leftOut"]["steps"]
    assert marked(recorded) == ["3"]
