"""The bite of the suite: each broken server is found out, by its own rule, for its own reason."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue, families
from tests.inner_runs import Verdicts, plugin_options
from tests.mutants.registry import MUTANTS, Mutant

for path in sorted(
    path for family in families() for path in Path(__file__).parent.glob(f"{family}_*.py")
):
    importlib.import_module(f"tests.mutants.{path.stem}")


def judge(pytester: pytest.Pytester, target: str, *options: str) -> list[dict[str, Any]]:
    """What the packaged scenarios say about a target."""
    verdicts = Verdicts()
    arguments = [f"--mcp-approval-target={target}", "-p", "no:xdist", "-q", "--tb=native", *options]
    arguments += plugin_options()
    pytester.inline_run(*arguments, plugins=[verdicts])
    return verdicts.found


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)
def test_a_broken_server_is_found_out(pytester: pytest.Pytester, mutant: Mutant):
    rule = catalogue(mutant.kills.partition("/")[0])[mutant.kills]
    results = judge(
        pytester, mutant.target_in(pytester.path), f"--mcp-approval-select={mutant.kills}"
    )
    assert results, "no scenario ran"
    wanted = Verdict.FAILED if rule.level == "MUST" else Verdict.WARNING
    findings = [one for one in results if one["verdict"] == wanted]
    assert findings, f"{mutant.fault} -- nobody noticed: {sorted({o['verdict'] for o in results})}"
    texts = ["\n".join((one["evidence"] or {"why": one["why"]}).values()) for one in findings]
    assert any(re.search(mutant.because, text) for text in texts), texts


def test_every_rule_that_binds_a_server_has_a_mutant():
    owed = {rule.id for name in families() for rule in catalogue(name) if rule.party == "server"}
    killed = {mutant.kills for mutant in MUTANTS.values()}
    assert killed - owed == set(), "a mutant names no rule"
    assert owed - killed == set(), "rules without a mutant"
