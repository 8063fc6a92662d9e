"""The healthy reference passes every rule of confirmation tokens, over transports and stores."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from tests.combinations import NEW, OLD, chosen
from tests.inner_runs import WHOLE, Verdicts, bare_options, sample_over

FAMILY = "confirmation_tokens"
RULES = {rule.id for rule in catalogue(FAMILY) if rule.party == "server"}

COMBINATIONS = chosen(
    ("in-process", "sqlite", NEW), ("http", "memory", OLD), ("stdio", "sqlite", NEW)
)

# In parts, so that the machine's cores share them; over stdio the skew starts many servers.
PARTS = {
    "tokens": ("1.*", "2.*", "3.*"),
    "validation": ("4.*",),
    "window": ("5.1-skew-window",),
    "range": ("5.1-skew-range",),
    "warning": ("5.1-skew-warning",),
    "lifetime": ("5.1-default*", "5.1-max*", "5.1-no*", "5.2*", "5.3*", "5.4*"),
    "storage": ("5.5*",),
    "security": ("6.1*", "6.2*", "6.3*"),
    "books": ("6.4*", "6.5*", "7*"),
}
OVER_STDIO = ("tokens", "validation")
"""The rest takes a minute more over stdio, where every variant is a process: `make matrix`."""

# Each of these starts a server of its own, which as a process takes a second or more.
SPARED = " and ".join(f"not [{one}]" for one in ("5", "60", "120", "-1", "301", "3600"))


def patterns_of(part: str) -> tuple[str, ...]:
    return tuple(f"{FAMILY}/{pattern}" for pattern in PARTS[part])


@pytest.mark.parametrize(
    ("transport", "store", "protocol", "part"),
    [
        (*combination, part)
        for combination in COMBINATIONS
        for part in PARTS
        if WHOLE or combination[0] != "stdio" or part in OVER_STDIO
    ],
)
def test_every_rule_passes(suite, transport: str, store: str, protocol: str, part: str):
    listener = Verdicts()
    patterns = patterns_of(part)
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        "--mcp-approval-timeout=30",
        *(f"--mcp-approval-select={pattern}" for pattern in patterns),
        "-q",
        *bare_options(),
        *(["-k", SPARED] if transport == "stdio" and not WHOLE else []),
        target=f"reference:{transport}+{store}",
        plugins=[listener, *sample_over(transport)],
    )
    assert result.ret == 0
    bad = {
        (one["scenario"], one["verdict"], one["why"])
        for one in listener.found
        if one["verdict"] in (Verdict.FAILED, Verdict.WARNING, Verdict.HARNESS_ERROR)
        # A pipe of a server without a file has no replica: that alone cannot be looked at.
        or (one["verdict"] == Verdict.NOT_VERIFIED and (transport, store) != ("stdio", "memory"))
    }
    assert bad == set()
    passed = {
        rule for one in listener.found if one["verdict"] == Verdict.PASSED for rule in one["rules"]
    }
    owed = {rule for rule in RULES if selected(rule, patterns)}
    assert passed == owed, "every rule was verified, by one scenario at least"


def test_the_parts_are_the_whole():
    for rule in RULES:
        assert sum(selected(rule, patterns_of(part)) for part in PARTS) == 1, rule
