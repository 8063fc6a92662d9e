"""The healthy reference gateway passes every rule, over transports and stores, in both eras."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from tests import fewer_cases
from tests.combinations import NEW, OLD, chosen
from tests.inner_browser import shared_browser
from tests.inner_runs import WHOLE, Verdicts, bare_options, sample_over

FAMILY = "gateway_consent"
RULES = {rule.id for rule in catalogue(FAMILY) if rule.party == "server"}

COMBINATIONS = chosen(
    ("in-process", "sqlite", NEW), ("http", "memory", OLD), ("stdio", "sqlite", NEW)
)

# In parts, so that the machine's cores share them and none takes long.
PARTS = {
    "consent": ("consent-required", "all-platforms", "two-layers"),
    "callers": ("caller-*", "key-collision", "tool-isolation"),
    "decisions": ("authorize-all", "deny", "remember", "storage-shape"),
    "fields": ("dialog-fields", "oauth-authorize"),
    "injection": ("dialog-injection",),
    "storage": ("stored-encrypted", "never-logged"),
    "app's oauth": ("oauth-pkce", "oauth-token"),
    "gateway's oauth": ("oauth-callback", "aai-tools-only-consented"),
    "keys": ("api-key", "app-credential"),
    "cookies": ("cookie",),
}
WITH_BROWSER = ("fields", "injection")
ELSEWHERE = {
    "http": ("consent", "callers", "decisions", "gateway's oauth"),
    # Every variant is a process there, and takes its time.
    "stdio": ("consent",),
}
"""What hangs on how MCP travels, by transport; all the rest too in `make matrix`."""


def patterns_of(part: str) -> tuple[str, ...]:
    return tuple(f"{FAMILY}/{pattern}" for pattern in PARTS[part])


@pytest.mark.parametrize(
    ("transport", "store", "protocol", "part"),
    [
        (*combination, part)
        for combination in COMBINATIONS
        for part in PARTS
        if WHOLE or part in ELSEWHERE.get(combination[0], PARTS)
    ],
)
def test_every_rule_passes(suite, transport: str, store: str, protocol: str, part: str):
    listener = Verdicts()
    patterns = patterns_of(part)
    browser = [shared_browser()] if part in WITH_BROWSER else []
    result = suite.run(
        f"--mcp-approval-protocol={protocol}",
        "--mcp-approval-timeout=30",
        *(f"--mcp-approval-select={pattern}" for pattern in patterns),
        "-q",
        *bare_options(),
        target=f"reference:{transport}+{store}",
        # Over stdio many servers are started, in the old era one for each client.
        plugins=[
            listener,
            *browser,
            *([fewer_cases] if transport == "stdio" else sample_over(transport)),
        ],
    )
    assert result.ret == 0
    bad = {
        (one["scenario"], one["verdict"], one["why"])
        for one in listener.found
        if one["verdict"] in (Verdict.FAILED, Verdict.WARNING, Verdict.HARNESS_ERROR)
        # A pipe of a server without a file keeps nothing over a restart, and in the old era it has
        # one client: that cannot be looked at.
        or (one["verdict"] == Verdict.NOT_VERIFIED and (transport, store) != ("stdio", "memory"))
    }
    assert bad == set()
    passed = {
        rule for one in listener.found if one["verdict"] == Verdict.PASSED for rule in one["rules"]
    }
    owed = {rule for rule in RULES if selected(rule, patterns)}
    if (transport, store, protocol) == ("stdio", "memory", OLD):
        assert passed <= owed
    else:
        assert passed == owed, "every rule was verified, by one scenario at least"


def test_the_parts_are_the_whole():
    for rule in RULES:
        assert sum(selected(rule, patterns_of(part)) for part in PARTS) == 1, rule
