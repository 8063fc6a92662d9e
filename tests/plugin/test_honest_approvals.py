"""Before the first verdict: an approval that succeeds and shows no effect is a matter of settings,
not a failure of the server."""

from __future__ import annotations

import contextlib

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.preflight import Preflight, PreflightError
from pytest_mcp_approval.session import honest_approvals
from pytest_mcp_approval.target import open_target

SERVERS = "python:tests.families.elicitation.stream_servers"


def approved(factory: str, effects: str | None = "tool:list_done") -> Preflight:
    text = f"{SERVERS}:{factory}"
    settings = Settings(
        targets=(text,), tools={"delete_user": {}}, clock="none", effects=effects, timeout=3.0
    )
    found = Preflight(offered=["elicitation"])
    with contextlib.closing(open_target(text, settings)) as target:
        honest_approvals.approve_honestly(target, found)
    return found


@pytest.fixture
def twice(monkeypatch) -> None:
    """As for a server that has a state of its own."""
    monkeypatch.setattr(honest_approvals, "_TWICE", ("python",))


@pytest.mark.usefixtures("twice")
def test_an_effect_every_time_is_an_approval():
    found = approved("asks_on_the_sessions_stream")
    assert found.approved == ["elicitation"]
    assert found.lines == [("approved", "once, honestly: elicitation")]


@pytest.mark.usefixtures("twice")
def test_arguments_that_work_once_stop_the_run():
    with pytest.raises(PreflightError) as told:
        approved("deletes_once")
    text = str(told.value)
    assert "succeeds, and --mcp-approval-effects shows nothing of it" in text
    assert "the first time it ran, the second time: delete_user, approved" in text
    assert "Name arguments that have an effect every time" in text


def test_a_probe_that_shows_nothing_stops_the_run():
    with pytest.raises(PreflightError, match="is it the right effects probe"):
        approved("changes_nothing")


def test_without_a_probe_the_answer_is_believed():
    assert approved("changes_nothing", effects=None).approved == ["elicitation"]
