"""The bite of the suite: each broken server is found out, by its own rule, for its own reason.

And each scenario bites: it fails on one of them at least (notes.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.config.registry import built_in
from tests.inner_runs import ROOT
from tests.inner_session import InnerSession
from tests.mutants.judging import Judged, judge, text_of
from tests.mutants.notes import found_by, scenario_functions, shown_failing, still_true
from tests.mutants.registry import Mutant, load_mutants, wanted_verdict
from tests.mutants.search_order import function_of, search_order
from tests.mutants.shown_elsewhere import NOT_SHOWN_YET, SHOWN_ELSEWHERE

MUTANTS = load_mutants()
RENEW = "renew the notes: python -m tests.mutants.notes"


@pytest.fixture(scope="module")
def inner_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InnerSession]:
    """For all mutants that this process judges, one after the other."""
    opened = InnerSession(tmp_path_factory.mktemp("inner"))
    yield opened
    opened.close()


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_broken_server_is_found_out(
    inner_session: InnerSession,
    mutant: Mutant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("HOME", str(tmp_path))
    noted = found_by().get(mutant.name, [])
    # The first finds it out, some only by the look at the target afterwards.
    functions = {*map(function_of, noted[1:])}
    judged = judge(inner_session, mutant, tmp_path, first=noted, functions=functions)
    assert judged.results, f"no scenario ran: {inner_session.written}"
    wanted = wanted_verdict(mutant)
    findings = [one for one in judged.results if one["verdict"] == wanted]
    verdicts = sorted({one["verdict"] for one in judged.results})
    assert findings, f"{mutant.fault} -- nobody noticed: {verdicts}"
    assert judged.finder is not None, (
        "found out, but not for its reason, or only in what was sent and expected",
        [text_of(one) for one in findings],
    )
    assert functions - judged.failed.keys() == set(), f"noted, and did not fail. {RENEW}"


def test_every_rule_that_is_judged_has_a_mutant():
    owed = {rule.id for name in built_in() for rule in catalogue(name) if rule.id in covered(name)}
    killed = {mutant.kills for mutant in MUTANTS.values()}
    assert killed - owed == set(), "a mutant names no rule"
    assert owed - killed == set(), "rules without a mutant"


def test_every_scenario_is_shown_failing():
    """One that fails on no broken server may be one that cannot fail."""
    shown = shown_failing(found_by())
    excused = SHOWN_ELSEWHERE.keys() | NOT_SHOWN_YET.keys()
    assert scenario_functions().keys() - shown - excused == set(), (
        f"{RENEW}; for what it does not find, write a mutant, or mend the scenario"
    )
    assert excused & shown == set(), "these do fail here"
    assert excused - scenario_functions().keys() == set(), "no such scenario"
    assert all((ROOT / file).is_file() for file in SHOWN_ELSEWHERE.values())


def test_notes_are_of_mutants_and_scenarios_that_exist():
    notes = found_by()
    assert notes.keys() == MUTANTS.keys(), RENEW
    assert still_true(notes, MUTANTS, scenario_functions()) == notes, RENEW
    for mutant, noted in notes.items():
        family = MUTANTS[mutant].kills.partition("/")[0]
        assert all(one.startswith(f"mcp-approval/{family}/") for one in noted), mutant


def test_what_found_a_mutant_out_comes_first_and_then_one_case_of_each_scenario():
    ids = ["one[1]", "one[2]", "one[3]", "two", "three[1]", "three[2]"]
    items: Any = [type("Item", (), {"nodeid": name})() for name in ids]
    assert [one.nodeid for one in search_order(items)] == [
        *("one[1]", "two", "three[1]", "one[2]", "three[2]", "one[3]"),
    ]
    assert [one.nodeid for one in search_order(items, ["three[2]", "one[3]"])] == [
        *("three[2]", "one[3]", "one[1]", "three[1]", "one[2]", "two"),
    ]
    assert sorted(one.nodeid for one in search_order(items, ["gone"])) == sorted(ids)


def test_what_is_gone_is_not_noted():
    notes = {
        "Kept": ["f::one[a]", "f::two", "f::gone[b]"],
        "Empty": ["f::gone"],
        "Gone": ["f::one"],
    }
    assert still_true(notes, ["Kept", "Empty", "New"], ["f::one", "f::two"]) == {
        "Kept": ["f::one[a]", "f::two"]
    }
    assert shown_failing(notes) == {"f::one", "f::two", "f::gone"}


def said(scenario: str, verdict: str, got: str, sent: str = "a call") -> dict[str, Any]:
    evidence = {"sent": sent, "expected": "a refusal", "got": got}
    return {"scenario": scenario, "verdict": verdict, "why": got, "evidence": evidence}


def test_a_mutant_is_judged_until_it_is_found_out_and_what_is_asked_for_has_failed():
    mutant = Mutant("Any", "here", "prepare_confirm/missing-token", "it ran", "a fault")
    judged = Judged(mutant, {"f::two"})
    first, second, third = (
        type("Item", (), {"nodeid": f"f::{n}[x]"})() for n in ("one", "two", "three")
    )
    judged.results.append(said("f::one[x]", "failed", "another word"))
    assert not judged.needless(first), "not yet for its reason"
    judged.results.append(said("f::one[y]", "warning", "it ran"))
    assert not judged.needless(first), "a warning where a failure is due"
    judged.results.append(said("f::one[u]", "failed", "another word", sent="it ran"))
    assert not judged.needless(first), "what was sent is no reason"
    judged.results.append(said("f::one[z]", "failed", "it ran"))
    assert judged.needless(first)
    assert not judged.is_done()
    assert [judged.needless(one) for one in (first, second, third)] == [True, False, True]
    judged.results.append(said("f::two[x]", "failed", "after this, honest calls fail: it ran"))
    assert not judged.is_done(), "it was found afterwards, not by the scenario"
    judged.results.append(said("f::two[y]", "warning", "too late"))
    assert judged.is_done()
    assert judged.failed == {"f::one": "f::one[x]", "f::two": "f::two[y]"}
