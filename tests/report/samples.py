"""Reports to look at: made of real conversations with the reference server, and of hostile text."""

from __future__ import annotations

import base64
import datetime
import json
from functools import cache
from typing import Any

from pytest_mcp_approval.catalogue import Finding, Requirement, Verdict, catalogue
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.report.comparison import Earlier
from pytest_mcp_approval.report.conversation import conversation_text
from pytest_mcp_approval.report.model import Report, RunFacts, make_report
from pytest_mcp_approval.report.results import Results, ScenarioResult
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.secrets import Secrets
from pytest_mcp_approval.target import open_target

RULES = [rule for rule in catalogue("sep2672") if rule.party == "server"]
COUNTER = "sep2672/4.8-11-counter"
HASH = "sep2672/4.8-12-argument-hash"
EXPIRED = "sep2672/4.8-06-challenge-unexpired"
LITERAL = "sep2672/4.2-required-literal"
DEFAULT = "sep2672/4.2-class-default"
STARTED = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
FACTS = RunFacts(
    target="reference",
    header=(
        ("target", "reference  (handshake era, 2025-11-25; acme-trades 1.4)"),
        ("clock", "injected, moves"),
    ),
    started=STARTED,
    seconds=1.5,
    version="0.1.0",
    command="pytest --mcp-approval-target=reference",
)


def result(
    rule: str = COUNTER, verdict: Verdict = Verdict.PASSED, name: str = "test_it", **more: Any
) -> ScenarioResult:
    scenario = f"mcp-approval/sep2672/test_x.py::{name}"
    return ScenarioResult(
        rules=(rule,),
        scenario=scenario,
        verdict=verdict,
        seconds=0.01,
        again=f"pytest {scenario}",
        command=f"pytest {scenario}",
        path="scenarios/sep2672/test_x.py",
        line=7,
        **more,
    )


def finding(
    got: str = "a result, tool run", rule: str = COUNTER, name: str = "test_found", **more: Any
) -> ScenarioResult:
    found = Finding(
        sent="tools/call, signCount 7 (stored 7)",
        expected="-32001 signature_counter_regression, tool not run",
        got=got,
    )
    return result(rule, name=name, **more).with_finding(found)


def report(
    *results: ScenarioResult, facts: RunFacts = FACTS, earlier: Earlier | None = None
) -> Report:
    return make_report(Results(results), RULES, facts, earlier)


def rule_of(full_id: str) -> Requirement:
    return catalogue("sep2672")[full_id]


@cache
def real_conversation() -> str:
    """An enrolment, an approved call, the same evidence again, and a clock that is moved."""
    target = open_target("reference", Settings(targets=("reference",)))
    try:
        recorded = recording.begin()
        approval = Approval(target)
        passkey = approval.enrol("security-key")
        tool = next(tool for tool in approval.tools() if tool.gated and tool.arguments)
        request = approval.challenge(tool.name, tool.arguments)
        evidence = passkey.sign(request)
        assert approval.call(request, evidence).executed
        assert approval.call(request, evidence).refused_because("challenge_consumed")
        target.clock.advance(61)
        return conversation_text(recorded, Secrets(), passed=False, family="sep2672")
    finally:
        recording.end()
        target.close()


def typical() -> Report:
    """Every verdict once, with a real conversation where something failed."""
    told = real_conversation()
    return report(
        finding(conversation=told),
        result(COUNTER, name="test_fine", conversation=told),
        result(HASH, name="test_hash", conversation=told),
        result(EXPIRED, Verdict.NOT_VERIFIED, "test_expired", why="needs a clock: none"),
        result(DEFAULT, Verdict.WARNING, "test_default", why="a reading allows it"),
        result(LITERAL, Verdict.NOT_APPLICABLE, "test_literal", why="no such tool"),
        result("sep2672/4.8-03-method", Verdict.HARNESS_ERROR, "test_method", why="KeyError: 'x'"),
        finding(rule="sep2672/4.8-09-class", name="test_class").with_verdict(
            Verdict.KNOWN, "ticket 12"
        ),
    )


def steps(*given: dict[str, Any]) -> str:
    return json.dumps({"steps": list(given)})


def exchange(sent: str, received: str, **more: Any) -> dict[str, Any]:
    """A step, as a conversation has it."""
    return {
        "kind": "exchange",
        "at": 0.01,
        "seconds": 0.001,
        "method": "tools/call",
        "outcome": "a result",
        "sent": {"bytes": len(sent), "text": sent},
        "received": {"bytes": len(received), "text": received},
        **more,
    }


def hex_of(encoded: str) -> str:
    """The bytes of a base64url text, in hexadecimal digits."""
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).hex()


def earlier_of(verdicts: dict[str, Verdict], failed: int = 1) -> Earlier:
    """An earlier run that said this of rules."""
    rules = {
        rule: (verdict, failed if verdict is Verdict.FAILED else 0)
        for rule, verdict in verdicts.items()
    }
    return Earlier("old.json", "2026-01-01T00:00:00+00:00", "reference", rules)
