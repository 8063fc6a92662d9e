"""Before the first verdict: what is said, what is run, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.preflight import NotOffered, Preflight, PreflightError
from pytest_mcp_approval.families.prepare_confirm.health import honest_approval
from pytest_mcp_approval.families.prepare_confirm.preflight import look
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.exchanges import Exchange
from pytest_mcp_approval.target import Target, open_target

SETTINGS = Settings(targets=("reference",))


@pytest.fixture
def target_with() -> Iterator[Callable[..., Target]]:
    opened: list[Target] = []

    def make(known: bool = True, target: str = "reference", **settings: Any) -> Target:
        opened_target = open_target(target, replace(SETTINGS, **settings))
        if not known:
            opened_target.known_settings = {}  # as a server that nobody here has ever seen
        opened.append(opened_target)
        return opened_target

    yield make
    for target in opened:
        target.close()


def attempts(target: Target) -> list[Any]:
    reply = target.session().call("tools/call", {"name": "list_confirmations", "arguments": {}})
    return reply.result["structuredContent"]["attempts"]


def test_a_preview_is_tried_and_nothing_is_confirmed(target_with):
    target, found = target_with(), Preflight()
    look(target, found)
    lines = dict(found.lines)
    assert lines["pairs"] == (
        "close_projects (reversible), delete_projects (irreversible), delete_user (irreversible)"
    )
    assert lines["clock"] == "injected, moves (checked +3600 s)"
    assert {one["outcome"] for one in attempts(target)} == {"previewed"}


def test_nothing_is_run_that_was_not_named(target_with):
    target, found = target_with(known=False), Preflight()
    look(target, found)
    assert dict(found.lines)["pairs"].count("never run") == 3
    assert found.missing == [
        "arguments for a pair (--mcp-approval-tool prepare_close_projects=JSON)"
    ]
    assert attempts(target) == []


def test_three_lines_are_enough(target_with):
    """What the documentation promises: arguments alone, everything else is found."""
    target = target_with(known=False, tools={"prepare_delete_user": {"username": "john.doe"}})
    found = Preflight()
    look(target, found)
    assert honest_approval(target) == ""
    assert [one["tool"] for one in attempts(target) if one["outcome"] == "done"] == [
        "confirm_delete_user"
    ]


def test_a_server_without_pairs_is_left_alone(target_with):
    other = target_with(target="python:tests.families.prepare_confirm.without_pairs:make")
    recorded = recording.begin()
    try:
        with pytest.raises(NotOffered, match="lists no prepare_x with a confirm_x"):
            look(other, Preflight())
    finally:
        recording.end()
    methods = [one.method for _, one in recorded.happenings if isinstance(one, Exchange)]
    assert "tools/list" in methods
    assert "tools/call" not in methods


def test_tools_that_are_not_there_stop_the_run(target_with):
    table = {"prepare_confirm": {"pairs": {"x": {"prepare": "plan", "confirm": "go"}}}}
    with pytest.raises(PreflightError, match="names tools that the server does not list: plan, go"):
        look(target_with(family_settings=table), Preflight())


def test_a_table_that_cannot_be_meant_stops_the_run(target_with):
    table = {"prepare_confirm": {"colour": "red"}}
    with pytest.raises(PreflightError, match="got 'colour', expected one of"):
        look(target_with(family_settings=table), Preflight())


def test_an_honest_use_that_fails_is_told(target_with):
    target = target_with(known=False, tools={"prepare_delete_user": {"username": "nobody"}})
    found = Preflight()
    look(target, found)
    assert (
        "not possible: prepare_delete_user gave no confirmation_token"
        in dict(found.lines)["prepare"]
    )
