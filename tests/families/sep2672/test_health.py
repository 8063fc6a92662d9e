"""The honest approval of SEP-2672: "" for a server that is well, else the step that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.health import honest_approval
from pytest_mcp_approval.target import open_target
from pytest_mcp_approval.target.reference import ReferenceTarget


@pytest.fixture
def target() -> Iterator[ReferenceTarget]:
    opened = open_target("reference", Settings(targets=("reference",)))
    assert isinstance(opened, ReferenceTarget)
    yield opened
    opened.close()


def _failing(*_: Any) -> Any:
    raise TypeError("transports.some is not a function")


def test_a_server_that_is_well_serves_twice(target: ReferenceTarget):
    assert honest_approval(target) == ""
    assert honest_approval(target) == ""


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("begin_enrolment", "approval/enroll/begin: "),
        ("finish_enrolment", "an honest enrolment was refused: "),
        ("create_challenge", "approval/challenge/create for "),
        ("verify", "tools/call place_trade with honest evidence: "),
    ],
)
def test_the_step_that_fails_is_named(
    target: ReferenceTarget, step: str, said: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(target.server.extension("sep2672").gate, step, _failing)
    assert honest_approval(target).startswith(said)


def test_a_target_that_keeps_everything_keeps_one_passkey(
    target: ReferenceTarget, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(target, "can_reset", False)
    enrolled = _counted(target, monkeypatch)
    assert [honest_approval(target) for _ in range(3)] == ["", "", ""]
    assert len(enrolled) == 1
    target.server.reset()  # its passkey is unknown now: a new one may work
    assert honest_approval(target) == ""
    assert len(enrolled) == 2


def test_a_kept_passkey_still_shows_that_enrolment_fails(
    target: ReferenceTarget, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(target, "can_reset", False)
    assert honest_approval(target) == ""
    monkeypatch.setattr(target.server.extension("sep2672").gate, "begin_enrolment", _failing)
    assert honest_approval(target).startswith("approval/enroll/begin: ")


def test_without_a_tool_that_may_run_it_says_what_to_configure(target: ReferenceTarget):
    target.known_arguments = {}
    target.settings = replace(target.settings, tools={})
    with pytest.raises(NotVerified, match="--mcp-approval-tool NAME=JSON"):
        honest_approval(target)


def _counted(target: ReferenceTarget, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    gate = target.server.extension("sep2672").gate
    finish: Callable[..., Any] = gate.finish_enrolment
    seen: list[Any] = []

    def counting(*given: Any) -> Any:
        seen.append(given)
        return finish(*given)

    monkeypatch.setattr(gate, "finish_enrolment", counting)
    return seen
