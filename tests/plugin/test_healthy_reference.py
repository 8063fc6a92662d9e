"""The healthy reference passes every rule: over every transport, on every store, in both eras."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from tests.inner_runs import Verdicts

SERVER_RULES = {rule.id for rule in catalogue("sep2672") if rule.party == "server"}


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("transport", ["in-process", "http", "stdio"])
def test_every_rule_passes(suite, transport: str, store: str, protocol: str):
    listener = Verdicts()
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        "-q",
        target=f"reference:{transport}+{store}",
        plugins=[listener],
    )
    assert result.ret == 0
    bad = {
        (one["scenario"], one["verdict"], one["why"])
        for one in listener.found
        if one["verdict"] in (Verdict.FAILED, Verdict.WARNING, Verdict.HARNESS_ERROR)
    }
    assert bad == set()
    judged = {rule for one in listener.found for rule in one["rules"]}
    assert judged == SERVER_RULES
    passed = {
        rule for one in listener.found if one["verdict"] == Verdict.PASSED for rule in one["rules"]
    }
    assert SERVER_RULES - passed == set(), "rules that nothing has verified"
    assert len(listener.found) >= 300
