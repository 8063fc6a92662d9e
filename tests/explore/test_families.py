"""Exploration of each family: nothing at the healthy reference, and something at broken ones.

Found within few walks, with a fixed seed: the defects are those of tests/mutants.
"""

from __future__ import annotations

import pytest

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.families.base.exploration import BrokenRule
from tests.explore.exploring import explored, mutant, opened

HEALTHY_WALKS = 10
WALKS = 150
FOUND = {
    "sep2672": [
        *("ConsumesBeforeTheHash", "ConsumesFirst", "DropsTransports"),
        *("ExcludesTheNewestOnly", "ForgetsUse", "ForgetsUseAtRestart", "LooksAtTheSignatureOnly"),
        *("NoSeparators", "OffersWithoutTransports", "RandomInsteadOfHash"),
        *("UpdatesBeforeTheHash", "UsesAnotherCode"),
    ],
    "confirmation_tokens": ["GatesByVerb", "RunsRetriesAgain", "TogglesTheMark"],
    "elicitation": [
        "ReplaysInItsLifetime",
        "RunsThenAsks",
        "TakesADeclineForASkip",
    ],
    "execution_tokens": ["HasALogForEachClient", "KeepsNoLog"],
    "gateway_consent": ["AllToolsForEverybody", "KeyedByAppOnly"],
    "prepare_confirm": ["ComparesTheNoun", "NeverSpends"],
}


@pytest.mark.parametrize("family", FOUND)
def test_nothing_is_found_in_a_healthy_server(family):
    with opened() as target:
        explorer = explored(target, family, HEALTHY_WALKS)
    assert not explorer.findings
    assert explorer.walks == HEALTHY_WALKS
    # It was alive: most of its steps were about approvals that were given.
    assert sum(1 for count in explorer.explored.transitions.values() if count) >= 4
    assert sum(explorer.explored.rules.values()) >= HEALTHY_WALKS


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, names in FOUND.items() for name in names]
)
def test_a_defect_is_found(family, name):
    with opened(mutant(name)) as target:
        explorer = explored(target, family, WALKS)
    (found,) = explorer.findings
    assert found.broken.rule.startswith(f"{family}/")
    assert found.told
    assert len(found.walk) <= found.found_with  # how much shorter depends on the time
    # What is kept is what was seen when it was made again.
    assert len(found.told) >= len(found.walk)
    assert found.record is not None


@pytest.mark.parametrize(
    ("name", "at", "rule"),
    [
        ("EnrolsWithoutAType", 0, "4.4.2-response-verified"),
        ("EnrolsWithoutAChallenge", 5, "4.4.2-challenge-must-match"),
        ("EnrolsWithoutAnOrigin", 10, "4.4.2-response-verified"),
    ],
)
def test_what_is_inside_a_structure_is_changed_too(name, at, rule):
    """A member of the client data is left out, inside its base64."""
    change = {"kind": "inside", "place": 0, "at": at}
    step = ("fuzz_method", {"method": "approval/enroll/finish", "change": change})
    with opened() as target:
        (told,) = run_walk(target, "sep2672", [step])
    assert "clientDataJSON: without" in told
    with opened(mutant(name)) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "sep2672", [step])
    assert raised.value.rule == f"sep2672/{rule}"
