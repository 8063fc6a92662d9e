"""What a document leaves open is told as information: a note where a server is open, never a
failure or a warning; passed where it is not."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_runs import Verdicts, plugin_options

SERVERS = "python:tests.families.left_open_servers"
PLAIN = "verifier:tests.families.execution_tokens.plain_verifiers:any_nonce"
LIMITS = (
    "confirmation_tokens/test_6_5_rate_limit.py::test_a_limit_at_one_replica_is_one_at_the_other"
)
CASES = {
    "sep2672/test_left_open.py::test_a_caller_cannot_approve_with_a_further_key_of_its_own": (
        "reference",
        f"{SERVERS}:first_key_free",
        "any caller of a user can enroll a further passkey",
    ),
    "gateway_consent/test_left_open.py::test_the_client_cannot_answer_its_own_question": (
        "reference",
        f"{SERVERS}:with_code",
        "whoever has consentUrl can answer it",
    ),
    "execution_tokens/test_left_open.py::test_whoever_executes_cannot_approve": (
        "reference",
        f"{SERVERS}:arbiter_elsewhere",
        "whoever may execute can have it approved",
    ),
    "execution_tokens/test_left_open.py::test_a_token_for_hosts_needs_a_host": (
        PLAIN,
        "reference",
        "accepted without a host to compare",
    ),
    "prepare_confirm/test_left_open.py::test_nobody_else_confirms": (
        f"{SERVERS}:anybodys_tokens",
        "reference",
        "another user who holds a token can confirm",
    ),
    **{
        f"{LIMITS}[{kind}]": (
            f"{SERVERS}:limits_of_its_own",
            "reference:in-process+sqlite",
            f"{kind} are limited at one replica, and 20 more are served at another",
        )
        for kind in ("issues", "failed validations", "revocations")
    },
    "confirmation_tokens/test_6_1_replicas.py::test_a_pause_at_one_replica_is_one_at_the_other": (
        f"{SERVERS}:limits_of_its_own",
        "reference:in-process+sqlite",
        "is paused at one replica it runs at another",
    ),
}


def verdict(pytester: pytest.Pytester, target: str, scenario: str) -> tuple[str, str]:
    listener = Verdicts()
    pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        f"--mcp-approval-target={target}",
        "--mcp-approval-findings=none",
        "--mcp-approval-clock=auto",
        f"mcp-approval/{scenario}",
        plugins=[listener],
    )
    (found,) = listener.found
    return found["verdict"], found["why"]


@pytest.mark.parametrize(("scenario", "case"), CASES.items(), ids=lambda one: str(one)[:40])
def test_a_server_that_is_open_is_told_so(pytester, scenario, case):
    target, _, told = case
    found, why = verdict(pytester, target, scenario)
    assert found == Verdict.NOT_APPLICABLE
    assert why.startswith("left open by the document: ")
    assert told in why


@pytest.mark.parametrize(("scenario", "case"), CASES.items(), ids=lambda one: str(one)[:40])
def test_a_server_that_is_not_open_passes(pytester, scenario, case):
    _, target, _ = case
    assert verdict(pytester, target, scenario) == (Verdict.PASSED, "")
