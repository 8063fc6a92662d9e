"""The healthy reference passes every rule of ADR-006, and so do the verifiers that ship."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from tests.combinations import NEW, OLD, chosen
from tests.inner_runs import WHOLE, Verdicts, bare_options, sample_over

FOLDER = Path(verifiers.__file__).parent
RULES = {rule.name for rule in catalogue("execution_tokens")}
COMMANDS = {"bash": f"bash {FOLDER / 'verify.sh'}", "node": f"node {FOLDER / 'verify.mjs'}"}
# In parts, so that the machine's cores share them and none takes long.
PARTS = {
    "strings": ("canonical-string", "test-vector", "cross-language"),
    "signatures": ("signature", "default-secret"),
    "times": ("expiry", "nonce-required"),
    "nonces": ("nonce-replay", "nonce-restart", "nonce-race"),
    "scopes": ("content-at-execution", "scope-host", "scope-action"),
}
COMBINATIONS = [
    *(("in-process+sqlite", NEW, part) for part in PARTS),
    *(("http+sqlite", OLD, part) for part in ("nonces", "scopes")),
    *(("stdio+sqlite", NEW, part) for part in ("nonces", "times")),
]
VERIFIED = [
    *(("bash", part) for part in ("strings", "times", "nonces", "scopes")),
    *(("node", part) for part in ("strings", "signatures", "nonces")),
]
# The others take some minutes more: `make matrix` runs them too.
if WHOLE:
    COMBINATIONS = [
        (f"{transport}+{store}", protocol, part)
        for transport, store, protocol in chosen()
        for part in PARTS
    ]
    COMMANDS["python"] = f"{sys.executable} {FOLDER / 'verify.py'}"
    VERIFIED = [(language, part) for language in COMMANDS for part in PARTS]


def check(
    suite,
    target: str,
    part: str,
    *options: str,
    unverified: frozenset[str] = frozenset(),
    plugins: Sequence[object] = (),
):
    listener = Verdicts()
    result = suite.run(
        *(f"--mcp-approval-select=execution_tokens/{name}" for name in PARTS[part]),
        *("-q", "--mcp-approval-timeout=60", *bare_options()),
        *options,
        target=target,
        plugins=[listener, *plugins],
    )
    fine = (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    bad = {
        (one["scenario"], one["verdict"], one["why"])
        for one in listener.found
        if one["verdict"] not in fine
        and not (one["verdict"] == Verdict.NOT_VERIFIED and set(one["rules"]) <= unverified)
    }
    assert bad == set()
    assert result.ret == 0
    passed = {
        rule.partition("/")[2]
        for one in listener.found
        if one["verdict"] == Verdict.PASSED
        for rule in one["rules"]
    }
    assert passed == set(PARTS[part]), "every rule was verified, by one scenario at least"


@pytest.mark.parametrize(("target", "protocol", "part"), COMBINATIONS)
def test_the_reference_passes_every_rule(suite, target: str, protocol: str, part: str):
    unverified = set()
    if not (shutil.which("bash") and shutil.which("node")):
        unverified.add("execution_tokens/cross-language")
    check(
        suite,
        f"reference:{target}",
        part,
        f"--mcp-approval-protocol={protocol}",
        unverified=frozenset(unverified),
        plugins=sample_over(target.partition("+")[0]),
    )


@pytest.mark.parametrize(("language", "part"), VERIFIED)
def test_a_shipped_verifier_passes_every_rule(suite, language: str, part: str):
    if not shutil.which(COMMANDS[language].split()[0]):
        pytest.skip(f"{language} is not installed")
    unverified = {"execution_tokens/cross-language"}
    from pytest_mcp_approval.clock.faketime import find_library

    if find_library() is None:
        unverified.add("execution_tokens/expiry")
    check(suite, f"command:{COMMANDS[language]}", part, unverified=frozenset(unverified))


def test_the_parts_are_the_whole():
    assert sorted(name for part in PARTS.values() for name in part) == sorted(RULES)
