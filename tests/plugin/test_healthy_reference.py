"""The healthy reference passes every rule: over every transport, on every store, in both eras."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from tests.combinations import NEW, OLD, chosen
from tests.inner_runs import WHOLE, Verdicts, bare_options, sample_over

SERVER_RULES = {rule.id for rule in catalogue("sep2672") if rule.party == "server"}


# Every transport, every store and each era. In this process every case of every scenario; another
# transport has nothing to say to a case that differs from the last one in its arguments alone, so
# that the first of each stands for all.
COMBINATIONS = chosen(
    ("in-process", "sqlite", NEW), ("http", "memory", OLD), ("stdio", "memory", NEW)
)


def cases(combinations, parts, over_stdio):
    """Each combination with each part; over stdio only some, unless everything is wanted."""
    return [
        (*combination, part)
        for combination in combinations
        for part in parts
        if WHOLE or combination[0] != "stdio" or part in over_stdio
    ]


# In parts, so that the machine's cores share them and none takes long.
PARTS = {
    "enrolment": ("4.2*", "4.3*", "4.4-*", "4.4.1*", "4.4.2*", "4.10*"),
    "challenges": ("4.4.3*", "4.5*", "4.6*", "4.7*"),
    "verification": ("4.8*", "8*"),
}


@pytest.mark.parametrize(
    ("transport", "store", "protocol", "part"),
    cases(COMBINATIONS, PARTS, {"challenges", "verification"}),
)
def test_every_rule_passes(suite, transport: str, store: str, protocol: str, part: str):
    listener = Verdicts()
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        *(f"--mcp-approval-select={pattern}" for pattern in PARTS[part]),
        "--mcp-approval-browser=none",  # the page's turn is in test_healthy_page.py
        "-q",
        *bare_options(),
        target=f"reference:{transport}+{store}",
        plugins=[listener, *sample_over(transport)],
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
    assert len(listener.found) > (200 if WHOLE or transport == "in-process" else 40)


# The two-step tools. Over stdio many servers are started: every rule, in more parts.
TWO_STEP_RULES = {rule.id for rule in catalogue("prepare_confirm") if rule.party == "server"}
TWO_STEP_PARTS = {
    "forgeries": ("signature", "missing-token", "failed-execution"),
    "life": ("one-time", "secret-key"),
    "expiry": ("expired", "cleanup"),
    "steps": (
        *("preview", "confirm-executes", "pairs", "concurrent"),
        *("action-bound", "nonce", "token-format", "not-logged"),
    ),
}
TWO_STEP_COMBINATIONS = chosen(
    ("in-process", "sqlite", NEW), ("http", "memory", OLD), ("stdio", "sqlite", OLD)
)


@pytest.mark.parametrize(
    ("transport", "store", "protocol", "part"),
    cases(TWO_STEP_COMBINATIONS, TWO_STEP_PARTS, {"steps"}),
)
def test_every_rule_of_two_steps_passes(
    suite, transport: str, store: str, protocol: str, part: str
):
    listener = Verdicts()
    patterns = tuple(f"prepare_confirm/{name}" for name in TWO_STEP_PARTS[part])
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        "--mcp-approval-timeout=30",
        *(f"--mcp-approval-select={pattern}" for pattern in patterns),
        "-q",
        *bare_options(),
        target=f"reference:{transport}+{store}",
        plugins=[listener, *sample_over(transport)],
    )
    assert result.ret == 0
    good = (Verdict.PASSED, Verdict.NOT_VERIFIED, Verdict.NOT_APPLICABLE)
    assert {one["scenario"] for one in listener.found if one["verdict"] not in good} == set()
    passed = {
        rule for one in listener.found if one["verdict"] == Verdict.PASSED for rule in one["rules"]
    }
    assert passed >= {rule for rule in TWO_STEP_RULES if selected(rule, patterns)}


def test_the_parts_are_the_whole():
    named = sorted(f"prepare_confirm/{one}" for part in TWO_STEP_PARTS.values() for one in part)
    assert named == sorted(TWO_STEP_RULES)
    for rule in SERVER_RULES:
        assert sum(selected(rule, patterns) for patterns in PARTS.values()) == 1, rule
