"""Before the first verdict: what asks, how, and what can never work; one line each, and no hang."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.preflight import NotOffered, Preflight, PreflightError
from pytest_mcp_approval.families.elicitation.driver import Elicitation
from pytest_mcp_approval.families.elicitation.health import glance, honest_approval
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion
from pytest_mcp_approval.families.elicitation.preflight import look
from pytest_mcp_approval.families.elicitation.settings import ElicitingTool
from pytest_mcp_approval.target import Target, open_target

SERVERS = "tests.families.elicitation.asking_servers"
ON_STREAM = "python:tests.families.elicitation.stream_servers:asks_on_the_sessions_stream"
NAMED = {"elicitation": {"tools": {"delete_user": {"arguments": {"id": "test-1"}}}}}


@pytest.fixture
def opened() -> Iterator[Callable[..., Target]]:
    made: list[Target] = []

    def make(name: str, table: dict[str, Any] | None = None, **settings: Any) -> Target:
        text = name if name.startswith(("reference", "python:")) else f"python:{SERVERS}:{name}"
        tables = {} if table is None else table
        target = open_target(
            text, Settings(targets=(text,), family_settings=tables, clock="none", **settings)
        )
        made.append(target)
        return target

    yield make
    for target in made:
        target.close()


def lines_of(target: Target) -> dict[str, str]:
    found = Preflight()
    look(target, found)
    return dict(found.lines)


def test_the_reference_is_told_in_two_lines(opened):
    target = open_target("reference", Settings(targets=("reference",)))
    try:
        said = lines_of(target)
    finally:
        target.close()
    assert said["asks"] == (
        "erase_account (form: confirm = true), suspend_account (form: confirm = true), wire_money "
        "(form: decision = approve), publish_release (form: accept alone approves), rotate_keys "
        "(url)"
    )
    assert said["state"] == "answers are taken for 5 minutes or more, and not for 15 minutes"


def test_a_tool_that_never_asks_is_told(opened):
    target = opened("never_asks", NAMED)
    assert lines_of(target)["asks"] == "delete_user (ASKS NOBODY: a result: Deleted.)"
    assert honest_approval(target) == "delete_user: expected a question, got a result: Deleted."
    assert glance(target) == "delete_user: expected a question, got a result: Deleted."


def test_a_form_that_nobody_can_answer_is_told(opened):
    target = opened("nobody_can_answer", NAMED)
    said = "delete_user (form that NOBODY CAN ANSWER: code has 9 characters at least)"
    assert lines_of(target)["asks"] == said
    assert honest_approval(target) == (
        "nobody can answer the form of delete_user: code has 9 characters at least; if somebody "
        "can: approve = { MEMBER = VALUE } in [elicitation.tools.delete_user]"
    )


def test_endless_questions_end(opened):
    target = opened("asks_for_ever", NAMED)
    assert lines_of(target)["asks"] == "delete_user (form: yes = true)"
    assert honest_approval(target) == (
        "delete_user asks without end: after 8 honest answers it asks again: Sure?"
    )


def test_a_mode_that_was_not_declared_is_told(opened):
    target = opened("asks_by_voice", NAMED)
    said = "delete_user (in an unknown mode, WHICH WAS NOT DECLARED)"
    assert lines_of(target)["asks"] == said


def test_an_answer_that_never_arrives_is_told_in_time(opened):
    target = opened("without_sessions", NAMED, timeout=1.0)
    began = time.monotonic()
    said = lines_of(target)
    assert said["asks"] == "delete_user (form: yes = true)"
    assert said["answers"].startswith(
        "NEVER ARRIVE: delete_user asked, a decline was sent, and the call did not end within 1 s"
    )
    assert time.monotonic() - began < 30


def test_a_named_tool_that_asks_needs_no_table(opened):
    target = opened("two_rounds", tools={"delete_user": {"id": "test-1"}})
    assert lines_of(target)["asks"] == "delete_user (form: yes = true)"
    assert honest_approval(target) == ""


def test_a_server_of_which_nothing_is_named_is_not_claimed(opened):
    with pytest.raises(NotOffered, match="no tool that asks by elicitation is named"):
        lines_of(opened("two_rounds"))
    with pytest.raises(NotVerified, match="needs a tool that asks and may be run"):
        honest_approval(opened("two_rounds"))


def test_a_named_tool_that_asks_nobody_is_told_with_its_answer(opened):
    said = r"no question came from list_done \(called with your arguments: a result"
    with pytest.raises(NotOffered, match=said):
        lines_of(opened("two_rounds", tools={"list_done": {}}))


def test_a_named_tool_that_is_not_listed_is_a_mistake(opened):
    table = {"elicitation": {"tools": {"delete_usr": {"arguments": {}}}}}
    with pytest.raises(PreflightError, match="names tools that the server does not list: delete_u"):
        lines_of(opened("two_rounds", table))


def test_a_tool_without_arguments_is_never_called(opened):
    table = {"elicitation": {"tools": {"delete_user": {}}}}
    found = Preflight()
    look(opened("two_rounds", table), found)
    assert dict(found.lines)["asks"] == "delete_user (never called: it has no arguments)"
    assert found.missing == ["arguments for delete_user (--mcp-approval-tool delete_user=JSON)"]


def test_a_question_on_the_sessions_stream_is_heard_at_once(opened):
    """Servers drop it if nobody listens: whoever listens only after a while hears nothing."""
    target = opened(ON_STREAM, tools={"delete_user": {}}, timeout=3.0)
    assert lines_of(target)["asks"] == "delete_user (form: yes = true)"
    assert honest_approval(target) == ""


def test_where_a_tool_asks_is_learned_for_each(opened):
    target = opened(ON_STREAM, timeout=3.0)
    with contextlib.closing(Elicitation(target)) as driver:
        calls = (("archive_user", True), ("archive_user", False), ("delete_user", True))
        for name, listens in calls:
            client = driver.new_client()
            asked = driver.ask(ElicitingTool(name, {}), client=client)
            assert isinstance(asked, AskedQuestion)
            assert client.listening is listens
            assert asked.decline().nothing_ran
