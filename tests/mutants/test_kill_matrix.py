"""The bite of the suite: each broken server is found out, by its own rule, for its own reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.config.registry import built_in
from tests.inner_browser import shared_browser
from tests.inner_session import InnerSession
from tests.mutants.registry import MUTANTS, Mutant
from tests.mutants.search_order import search_order

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
    notes, note = getattr(request.config, "cache", None), f"kill-matrix/{mutant.name}"

    def says_so(result: dict[str, Any]) -> bool:
        return result["verdict"] == wanted and bool(re.search(mutant.because, text_of(result)))

    results = inner_session.judge(
        *([shared_browser()] if on_a_page else []),
        order=partial(search_order, found_by=notes.get(note, None) if notes else None),
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
    if notes:
        notes.set(note, finder["scenario"])
    request.node.user_properties += [("rule", mutant.kills), ("scenarios", len(results))]


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
