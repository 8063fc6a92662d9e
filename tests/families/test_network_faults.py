"""A server that looks and then marks is found out when a request arrives twice; the reference
server passes. Without the option the scenarios are not collected."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.server.memory import MemoryTable
from pytest_mcp_approval.reference_server.server.tables import holds
from tests.inner_session import InnerSession

FUNCTIONS = {
    "sep2672": "an_approval_runs_once_at_most",
    "confirmation_tokens": "a_token_runs_once_at_most",
    "prepare_confirm": "a_preview_is_confirmed_once_at_most",
    "execution_tokens": "a_token_runs_once_at_most",
    "elicitation": "a_yes_runs_once_at_most",
    "gateway_consent": "a_consent_serves_one_call_at_most",
}
SCENARIOS = {
    family: f"mcp-approval/{family}/test_network_faults.py::test_over_a_bad_network_{words}"
    for family, words in FUNCTIONS.items()
}
BETWEEN = 0.1
"""Seconds between looking and marking: both copies of a request look before either marks."""


@pytest.fixture(scope="module")
def inner_session(tmp_path_factory):
    opened = InnerSession(tmp_path_factory.mktemp("inner"))
    yield opened
    opened.close()


def judged(session: InnerSession, *families: str, **options: Any) -> list[dict[str, Any]]:
    given = {"target": ["reference:http"], "network_faults": True, **options}
    verdicts = session.judge(
        ids=[SCENARIOS[one] for one in families],
        family=list(families),
        findings="none",
        browser="none",
        **given,
    )
    return verdicts.found


@pytest.fixture
def looks_and_then_marks(monkeypatch):
    add, change, use_up = MemoryTable.add, MemoryTable.change, Decisions.use_up

    def slow_add(self: Any, record: Any) -> bool:
        if not self.shape.name.endswith(("nonces", "spent")):
            return add(self, record)
        if self.get(getattr(record, self.shape.key)) is not None:
            return False
        time.sleep(BETWEEN)
        add(self, record)
        return True

    def slow_change(self: Any, key: Any, where: Any = {}, **values: Any) -> bool:  # noqa: B006
        if not {"consumed_at", "use_count"} & values.keys():
            return change(self, key, where, **values)
        kept = self.get(key)
        if kept is None or not holds(where, kept):
            return False
        time.sleep(BETWEEN)
        change(self, key, {}, **values)
        return True

    def slow_use_up(self: Decisions, *subject: str) -> bool | None:
        found = self.decided_once(*subject)
        time.sleep(BETWEEN)
        use_up(self, *subject)
        return found

    monkeypatch.setattr(MemoryTable, "add", slow_add)
    monkeypatch.setattr(MemoryTable, "change", slow_change)
    monkeypatch.setattr(Decisions, "use_up", slow_use_up)


@pytest.mark.usefixtures("looks_and_then_marks")
def test_a_server_that_runs_a_doubled_request_twice_is_found(inner_session, monkeypatch, tmp_path):
    from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
    from tests.mutants.prepare_confirm.parts import Renews

    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("execute", "renewed"):  # goes by ids alone, as most servers do
        monkeypatch.setattr(PreparationGate, name, getattr(Renews, name), raising=False)
    found = judged(inner_session, *SCENARIOS)
    assert len(found) == len(SCENARIOS)
    for one in found:
        assert one["verdict"] == Verdict.FAILED, (one["scenario"], one["why"])
        assert "the request" in one["evidence"]["sent"]


def test_the_reference_server_passes(inner_session, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = judged(inner_session, *SCENARIOS)
    assert {one["verdict"] for one in found} == {Verdict.PASSED}
    assert len(found) == len(SCENARIOS)


def test_nobody_gets_them_without_asking(inner_session):
    assert judged(inner_session, "execution_tokens", network_faults=False) == []


def test_a_target_that_is_not_reached_over_http_gets_one_line(inner_session):
    judged(inner_session, "execution_tokens", target=["reference"])
    said = [line for line in inner_session.written.splitlines() if "network-faults" in line]
    assert said, inner_session.written
    assert "expected one that is reached over HTTP" in " ".join(inner_session.written.split())
