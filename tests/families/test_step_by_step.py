"""Servers whose store is wrong only after kill -9, or beside a replica, are found out; the same
scenarios pass on the reference server, in a process of its own with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.families.base import crashes
from pytest_mcp_approval.target.reference import ReferenceStdioTarget
from tests.inner_session import InnerSession
from tests.warm_python import warm_python

SCENARIOS = {
    "sep2672": ("test_8_2_step_by_step.py", "an_approval_serves_once"),
    "confirmation_tokens": ("test_6_1_step_by_step.py", "a_token_serves_once"),
    "prepare_confirm": ("test_two_step_step_by_step.py", "a_preview_is_confirmed_once"),
    "execution_tokens": ("test_step_by_step.py", "a_token_serves_once"),
    "elicitation": ("test_step_by_step.py", "a_yes_serves_once"),
    "gateway_consent": ("test_step_by_step.py", "a_consent_serves_one_call"),
}
KILLED = {
    family: f"mcp-approval/{family}/{file}::test_killed_between_any_two_steps_{words}_at_most"
    for family, (file, words) in SCENARIOS.items()
}
HANDED_ROUND = {
    family: f"mcp-approval/{family}/{file}::test_handed_round_the_replicas_{words}"
    for family, (file, words) in SCENARIOS.items()
    if family != "gateway_consent"  # its processes share no consent for one call
}
QUOTA_TOKEN = (
    "mcp-approval/confirmation_tokens/test_6_1_replicas.py::"
    "test_a_quota_token_of_one_replica_is_good_once_for_both"
)
NOT_USUAL = {"gateway_consent": "consents-kept"}


@pytest.fixture(scope="module")
def inner_session(tmp_path_factory):
    opened = InnerSession(tmp_path_factory.mktemp("inner"))
    yield opened
    opened.close()


def judged(session: InnerSession, family: str, scenario: str) -> dict[str, Any]:
    verdicts = session.judge(
        ids=[scenario],
        target=["reference:stdio+sqlite"],
        family=[family],
        findings="none",
        browser="none",
    )
    (found,) = verdicts.found
    return found


@pytest.fixture
def broken(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(crashes, "_MOMENTS", (0.004,))  # each is another start

    def broken(fault: str) -> None:
        program = (*warm_python(), "-m", "tests.families.crashing_server")
        monkeypatch.setattr(ReferenceStdioTarget, "program", program)
        monkeypatch.setenv("FAULT", fault)

    return broken


@pytest.mark.parametrize("family", KILLED)
def test_what_is_lost_by_a_kill_is_found(inner_session, broken, family):
    broken(NOT_USUAL.get(family, "write-behind"))
    found = judged(inner_session, family, KILLED[family])
    assert found["verdict"] == Verdict.FAILED, found["why"]
    assert "kill -9" in found["evidence"]["sent"]


@pytest.mark.parametrize("family", HANDED_ROUND)
def test_what_a_replica_does_not_tell_the_others_is_found(inner_session, broken, family):
    broken("marks-in-memory")
    found = judged(inner_session, family, HANDED_ROUND[family])
    assert found["verdict"] == Verdict.FAILED, found["why"]
    assert "begun at replica" in found["evidence"]["sent"]


@pytest.mark.parametrize(
    ("fault", "verdict"), {"marks-in-memory": Verdict.FAILED, "": Verdict.PASSED}.items()
)
def test_a_quota_token_that_serves_at_each_replica_is_found(inner_session, broken, fault, verdict):
    broken(fault)
    found = judged(inner_session, "confirmation_tokens", QUOTA_TOKEN)
    assert found["verdict"] == verdict, found["why"]
    if fault:
        assert "and then at the first" in found["evidence"]["sent"]


def test_a_server_that_writes_at_once_passes(inner_session, broken):
    """The same program without a fault."""
    broken("")
    family = "execution_tokens"
    for scenario in (KILLED[family], HANDED_ROUND[family]):
        assert judged(inner_session, family, scenario)["verdict"] == Verdict.PASSED


def test_what_a_document_lets_a_server_forget_is_told(inner_session, broken):
    """A gateway keeps consents for one call in memory."""
    broken("")
    found = judged(inner_session, "gateway_consent", KILLED["gateway_consent"])
    assert found["verdict"] == Verdict.NOT_APPLICABLE
    told = "left open by the document: after kill -9 the server has forgotten that a client was"
    assert found["why"].startswith(told)


def test_the_files_are_where_this_says():
    root = Path(__file__).parents[2] / "scenarios"
    for family, (file, _) in SCENARIOS.items():
        text = (root / family / file).read_text(encoding="utf-8")
        assert KILLED[family].rpartition("::")[2] in text
