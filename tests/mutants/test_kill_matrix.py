"""The bite of the suite: each broken server is found out, by its own rule, for its own reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.config.registry import built_in, registered
from tests.inner_browser import shared_browser
from tests.inner_runs import Verdicts, bare_options
from tests.mutants.finders import PROPERTY, TriedFirst, finders
from tests.mutants.registry import MUTANTS, Mutant

for path in sorted(Path(__file__).parent.glob("*/*.py")):
    importlib.import_module(f"tests.mutants.{path.parent.name}.{path.stem}")


def judge(pytester: pytest.Pytester, mutant: Mutant, *plugins: object) -> None:
    """Have the packaged scenarios of its rule look at a broken server."""
    arguments = [f"--mcp-approval-target={mutant.target_in(pytester.path)}"]
    arguments += [f"--mcp-approval-select={mutant.kills}", "--mcp-approval-findings=none"]
    arguments += ["-q", "--tb=native", *bare_options()]
    rule = catalogue(mutant.kills.partition("/")[0])[mutant.kills]
    if rule.party == "client" or "browser" in rule.needs:
        plugins = (*plugins, shared_browser())
    else:
        arguments.append("--mcp-approval-browser=none")
    pytester.inline_run(*arguments, plugins=plugins)


def text_of(result: dict[str, Any]) -> str:
    """All that a scenario says of what it found."""
    return "\n".join((result["evidence"] or {"why": result["why"]}).values())


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_broken_server_is_found_out(
    pytester: pytest.Pytester, mutant: Mutant, record_property: Callable[[str, object], None]
):
    rule = catalogue(mutant.kills.partition("/")[0])[mutant.kills]
    must = rule.level == "MUST" and not mutant.warned
    wanted = Verdict.FAILED if must else Verdict.WARNING

    def says_so(result: dict[str, Any]) -> bool:
        return result["verdict"] == wanted and bool(re.search(mutant.because, text_of(result)))

    # Whether it is found out is all that is asked: what comes after that is not run.
    verdicts = Verdicts(enough=says_so)
    judge(pytester, mutant, verdicts, TriedFirst(finders().get(mutant.name)))
    results = verdicts.found
    assert results, "no scenario ran"
    findings = [one for one in results if one["verdict"] == wanted]
    assert findings, f"{mutant.fault} -- nobody noticed: {sorted({o['verdict'] for o in results})}"
    finder = next((one for one in findings if says_so(one)), None)
    assert finder is not None, [text_of(one) for one in findings]
    record_property(PROPERTY, finder["scenario"])
    record_property("rule", mutant.kills)


def test_every_rule_that_is_judged_has_a_mutant():
    owed = {rule.id for name in built_in() for rule in catalogue(name) if rule.id in covered(name)}
    killed = {mutant.kills for mutant in MUTANTS.values()}
    assert killed - owed == set(), "a mutant names no rule"
    assert owed - killed == set(), "rules without a mutant"


def test_the_finders_are_mutants_and_scenarios_that_exist():
    assert set(finders()) - set(MUTANTS) == set(), "gone: write finders.toml anew"
    for mutant, scenario in finders().items():
        _, family, file, function = re.split("::|/", scenario.partition("[")[0])
        text = (registered(family).scenarios / file).read_text(encoding="utf-8")
        assert f"\ndef {function}(" in text, f"{mutant}: gone: write finders.toml anew"
