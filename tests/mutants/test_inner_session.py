"""The session in which mutants are judged one after the other: none leaves anything to the next."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.support.secrets import hide
from tests.inner_session import InnerSession
from tests.mutants.prepare_confirm import tokens  # noqa: F401  # registers it
from tests.mutants.registry import MUTANTS

RULE = "prepare_confirm/missing-token"
BROKEN = MUTANTS["DoesWithoutAToken"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[InnerSession]:
    opened = InnerSession(tmp_path)
    yield opened
    opened.close()


def judged(session: InnerSession, target: str, **options: Any) -> set[str]:
    verdicts = session.judge(
        target=[target], select=[RULE], findings="none", browser="none", **options
    )
    return {str(one["verdict"]) for one in verdicts.found}


def state(session: InnerSession) -> tuple[Any, ...]:
    named = session.config.pluginmanager.list_name_plugin()
    plugins = {name for name, plugin in named if plugin is not None}
    return plugins, dict(vars(session.config.option)), Path.cwd()


def test_a_healthy_server_passes_after_a_broken_one(session: InnerSession, tmp_path: Path):
    assert BROKEN.kills == RULE
    before = state(session)
    assert Verdict.FAILED in judged(session, BROKEN.target_in(tmp_path))
    assert state(session) == before
    assert judged(session, "reference") == {Verdict.PASSED}
    assert Verdict.FAILED in judged(session, BROKEN.target_in(tmp_path))
    assert state(session) == before


def test_a_run_that_the_preflight_ends_has_no_verdicts_and_ends_nothing_else(
    session: InnerSession,
):
    before = state(session)
    assert judged(session, "python:tests.mutants.no_such_module:Server") == set()
    assert "no_such_module" in session.written
    assert state(session) == before
    assert judged(session, "reference") == {Verdict.PASSED}
    assert "no_such_module" not in session.written


def test_the_secrets_of_a_run_are_forgotten_with_it(session: InnerSession):
    told = "a-secret-that-one-run-was-told"
    judged(session, "reference", header=[f"Authorization: Bearer {told}"])
    assert hide(told) == told


def test_it_ends_where_enough_was_heard(session: InnerSession, tmp_path: Path):
    target = BROKEN.target_in(tmp_path)
    options: dict[str, Any] = {"select": [RULE], "findings": "none", "browser": "none"}
    whole = session.judge(target=[target], **options).found
    backwards = session.judge(
        target=[target],
        order=lambda items: items[::-1],
        enough=lambda: True,
        **options,
    ).found
    assert len(whole) > 1
    assert [one["scenario"] for one in backwards] == [whole[-1]["scenario"]]


def test_it_leaves_out_what_is_skipped(session: InnerSession, tmp_path: Path):
    target = BROKEN.target_in(tmp_path)
    options: dict[str, Any] = {"select": [RULE], "findings": "none", "browser": "none"}
    whole = [one["scenario"] for one in session.judge(target=[target], **options).found]
    others = session.judge(target=[target], skip=lambda item: item.nodeid in whole[::2], **options)
    assert len(whole) > 2
    assert [one["scenario"] for one in others.found] == whole[1::2]


def test_it_leaves_the_process_as_it_was(tmp_path: Path):
    def process() -> tuple[Any, ...]:
        return list(sys.path), set(os.environ) - {"PYTEST_CURRENT_TEST"}, Path.cwd()

    before = process()
    opened = InnerSession(tmp_path)
    judged(opened, BROKEN.target_in(tmp_path))
    opened.close()
    assert process() == before
