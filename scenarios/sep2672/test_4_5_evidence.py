"""SEP-2672 section 4.5: no tool runs unless its evidence was verified, whatever the answer says.

These scenarios look at what ran, not at what was answered, so they need an effects probe.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import NOT_GIVEN
from pytest_mcp_approval.families.sep2672.faulty_calls import FAULTS, draft, never_enrolled


def _runs_of_attempt_and_honest_call(ceremony, attempt):
    """How often a tool ran, through the attempt and an honest call after it: a tool that was
    started by the attempt and ran a little later is counted too."""
    _, runs = ceremony.approval.runs_during(attempt)
    _, later = ceremony.approval.runs_during(ceremony.honest)
    # A change that cannot be counted is one run at least.
    return (1 if runs is None else runs) + (1 if later is None else later)


def _expect_only_the_honest_run(ceremony, runs, sent):
    ceremony.expect(
        runs == 1,
        sent=f"{sent}, then an honest call",
        expected="the tool run once, by the honest call",
        got=f"the tool run {runs} times",
    )


@requirement("sep2672/4.5-never-executes-unverified")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_call_that_fails_any_check_runs_nothing(ceremony, fault):
    """Each check of section 4.8 in turn. What is answered is not looked at here."""
    ceremony.need_effects()
    ceremony.honest()
    call, evidence = draft(ceremony, fault).prepare()
    runs = _runs_of_attempt_and_honest_call(ceremony, lambda: ceremony.call(call, evidence))
    _expect_only_the_honest_run(ceremony, runs, f"tools/call with {fault.name} (step {fault.step})")


WAYS_AROUND = {
    "as a notification": lambda session, params: session.notify("tools/call", params),
    "as a task": lambda session, params: session.call(
        "tools/call", {**params, "task": {"ttl": 1000}}
    ),
    "with a space behind the tool's name": lambda session, params: session.call(
        "tools/call", {**params, "name": f"{params['name']} "}
    ),
    "with the tool's name in capitals": lambda session, params: session.call(
        "tools/call", {**params, "name": params["name"].upper()}
    ),
}


@requirement("sep2672/4.5-never-executes-unverified")
@pytest.mark.parametrize("evidence", ["none", "forged"])
@pytest.mark.parametrize("way", WAYS_AROUND)
def test_no_way_of_calling_leads_around_the_gate(ceremony, way, evidence):
    """The tool is called in ways that a gate at the front door might not see: without an id, as a
    task (MCP 2025-11-25), under another spelling of its name. Any answer will do."""
    ceremony.need_effects()
    ceremony.honest()
    challenge = ceremony.challenge()
    given = NOT_GIVEN
    if evidence == "forged":
        stranger = never_enrolled(ceremony)
        given = ceremony.evidence(challenge, stranger, ignoring=["allow-credentials"])
    params = {"name": challenge.tool, "arguments": challenge.arguments}
    if given is not NOT_GIVEN:
        params["_meta"] = {words.META_KEY: given}
    runs = _runs_of_attempt_and_honest_call(
        ceremony, lambda: WAYS_AROUND[way](ceremony.session, params)
    )
    _expect_only_the_honest_run(ceremony, runs, f"tools/call {way}, evidence: {evidence}")


@requirement("sep2672/4.5-never-executes-unverified")
def test_evidence_answers_for_its_own_call_only(ceremony):
    """A verified call does not open the gate for the ones after it."""
    ceremony.need_effects()
    ceremony.honest()
    tool = ceremony.tool
    runs = _runs_of_attempt_and_honest_call(
        ceremony,
        lambda: ceremony.session.call(
            "tools/call", {"name": tool.name, "arguments": tool.arguments}
        ),
    )
    _expect_only_the_honest_run(
        ceremony, runs, "tools/call without evidence, after an approved one"
    )
