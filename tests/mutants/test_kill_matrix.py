"""The bite of the suite: each broken server is found out, by its own rule, for its own reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.config.registry import built_in, registered
from tests.inner_browser import shared_browser
from tests.inner_session import InnerSession
from tests.mutants.notes import FINDER, TRIED, found_by, renewed
from tests.mutants.registry import MUTANTS, Mutant
from tests.mutants.search_order import function_of, search_order

for path in sorted(Path(__file__).parent.glob("*/*.py")):
    importlib.import_module(f"tests.mutants.{path.parent.name}.{path.stem}")


@pytest.fixture(scope="module")
def inner_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InnerSession]:
    """For all mutants that this process judges, one after the other."""
    opened = InnerSession(tmp_path_factory.mktemp("inner"))
    yield opened
    opened.close()


def text_of(result: dict[str, Any]) -> str:
    """All that a scenario says of what it found."""
    return "\n".join((result["evidence"] or {"why": result["why"]}).values())


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_broken_server_is_found_out(
    inner_session: InnerSession,
    mutant: Mutant,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    rule = catalogue(mutant.kills.partition("/")[0])[mutant.kills]
    must = rule.level == "MUST" and not mutant.warned
    wanted = Verdict.FAILED if must else Verdict.WARNING
    on_a_page = rule.party == "client" or "browser" in rule.needs
    monkeypatch.setenv("HOME", str(tmp_path))

    def says_so(result: dict[str, Any]) -> bool:
        return result["verdict"] == wanted and bool(re.search(mutant.because, text_of(result)))

    results = inner_session.judge(
        *([shared_browser()] if on_a_page else []),
        order=partial(search_order, found_by=found_by().get(mutant.name)),
        enough=says_so,  # whether it is found out is all that is asked
        target=[mutant.target_in(tmp_path)],
        select=[mutant.kills],
        findings="none",
        browser=None if on_a_page else "none",
    ).found
    assert results, f"no scenario ran: {inner_session.written}"
    findings = [one for one in results if one["verdict"] == wanted]
    assert findings, f"{mutant.fault} -- nobody noticed: {sorted({o['verdict'] for o in results})}"
    finder = next((one for one in findings if says_so(one)), None)
    assert finder is not None, [text_of(one) for one in findings]
    request.node.user_properties += [(TRIED, len(results)), (FINDER, finder["scenario"])]


def test_every_rule_that_is_judged_has_a_mutant():
    owed = {rule.id for name in built_in() for rule in catalogue(name) if rule.id in covered(name)}
    killed = {mutant.kills for mutant in MUTANTS.values()}
    assert killed - owed == set(), "a mutant names no rule"
    assert owed - killed == set(), "rules without a mutant"


def test_what_found_a_mutant_out_comes_first_and_then_one_case_of_each_scenario():
    ids = ["one[1]", "one[2]", "one[3]", "two", "three[1]", "three[2]"]
    items: Any = [type("Item", (), {"nodeid": name})() for name in ids]
    assert [one.nodeid for one in search_order(items)] == [
        *("one[1]", "two", "three[1]", "one[2]", "three[2]", "one[3]"),
    ]
    assert [one.nodeid for one in search_order(items, "three[2]")] == [
        *("three[2]", "three[1]", "one[1]", "two", "one[2]", "one[3]"),
    ]
    assert sorted(one.nodeid for one in search_order(items, "gone")) == sorted(ids)


def test_notes_are_of_mutants_and_scenarios_that_exist():
    """A rule's other scenarios are tried anyway; here what was renamed is noticed."""
    assert found_by().keys() <= MUTANTS.keys()
    for mutant, scenario in found_by().items():
        _, family, place = scenario.split("/", 2)
        file, _, function = function_of(place).partition("::")
        assert family == MUTANTS[mutant].kills.partition("/")[0]
        text = (registered(family).scenarios / file).read_text(encoding="utf-8")
        assert f"def {function}(" in text, (mutant, scenario)


def test_notes_are_renewed_by_a_run():
    told = {"Kept": (1, "a"), "Moved": (5, "b"), "New": (3, "c"), "Quick": (2, "d")}
    report = ElementTree.Element("testsuite")
    for mutant, (tried, finder) in told.items():
        case = ElementTree.SubElement(report, "testcase", name=f"test_it[{mutant}]")
        for name, value in ((TRIED, str(tried)), (FINDER, finder)):
            ElementTree.SubElement(case, "property", name=name, value=value)
    ElementTree.SubElement(report, "testcase", name="test_another")
    notes = renewed({"Kept": "a", "Moved": "old", "Gone": "x"}, report)
    assert notes == {"Kept": "a", "Moved": "b", "New": "c"}
