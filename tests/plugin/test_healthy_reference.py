"""The healthy reference passes every rule: over every transport, on every store, in both eras."""

from __future__ import annotations

import os

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from tests.inner_runs import Verdicts

SERVER_RULES = {rule.id for rule in catalogue("sep2672") if rule.party == "server"}


NEW, OLD = "2026-07-28", "2025-11-25"
# Every transport, every store and each era on both.
COVERING = [
    ("in-process", "memory", NEW),
    ("in-process", "sqlite", OLD),
    ("http", "memory", OLD),
    ("stdio", "memory", NEW),
]
# The others take some minutes more: `make matrix` runs them too.
REST = [
    ("http", "sqlite", NEW),
    ("stdio", "sqlite", OLD),
    ("in-process", "memory", OLD),
    ("in-process", "sqlite", NEW),
    ("http", "sqlite", OLD),
    ("http", "memory", NEW),
    ("stdio", "memory", OLD),
    ("stdio", "sqlite", NEW),
]
COMBINATIONS = [*COVERING, *(REST if os.environ.get("MCP_APPROVAL_MATRIX") else [])]


# In parts, so that the machine's cores share them and none takes long.
PARTS = {
    "enrolment": ("4.2*", "4.3*", "4.4-*", "4.4.1*", "4.4.2*", "4.10*"),
    "challenges": ("4.4.3*", "4.5*", "4.6*", "4.7*"),
    "verification": ("4.8*", "8*"),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("transport", "store", "protocol"), COMBINATIONS)
def test_every_rule_passes(suite, transport: str, store: str, protocol: str, part: str):
    listener = Verdicts()
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        *(f"--mcp-approval-select={pattern}" for pattern in PARTS[part]),
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
    owed = {rule for rule in SERVER_RULES if selected(rule, PARTS[part])}
    passed = {
        rule for one in listener.found if one["verdict"] == Verdict.PASSED for rule in one["rules"]
    }
    assert passed == owed, "every rule was verified, by one scenario at least"
    assert len(listener.found) > 200


def test_the_parts_are_the_whole():
    for rule in SERVER_RULES:
        assert sum(selected(rule, patterns) for patterns in PARTS.values()) == 1, rule
