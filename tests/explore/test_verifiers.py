"""Verifiers of execution tokens that are no servers: a walk finds nothing in a healthy one, and a
defect in a broken one."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.families.base.exploration import BrokenRule
from tests.explore.exploring import explored, opened
from tests.mutants.execution_tokens.commands import SHIPPED
from tests.mutants.registry import load_mutants

Walk = list[tuple[str, dict[str, Any]]]
BASH = f"command:bash {SHIPPED / 'verify.sh'}"
CALLABLES = "verifier:tests.families.execution_tokens.callables:"
APPROVE = ("approve", {"number": 0})
CALL = ("call", {"number": 0})
REPLAY = ("replay", {"number": 0})
LATER = ("wait", {"seconds": 301})
RESTART: tuple[str, dict[str, Any]] = ("restart", {})
AT_ONCE = ("at_once", {"number": 0, "copies": 5, "beside": 1})
ANOTHER_SIGNATURE = ("forge", {"number": 0, "change": 1})
ANOTHER_CONTENT = ("change", {"number": 0, "change": 0})
CHANGED = ("fuzz", {"number": 0, "change": {"kind": "body", "place": 0, "at": 2}})
COMMANDS: dict[str, tuple[str, Walk]] = {
    "BashKeepsNoLog": ("nonce-replay", [APPROVE, CALL, REPLAY]),
    "BashComparesTheBeginning": ("signature", [APPROVE, ANOTHER_SIGNATURE]),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_walk_tells_a_broken_command_from_a_healthy_one(name, tmp_path):
    rule, walk = COMMANDS[name]
    with opened(BASH) as target:
        assert len(run_walk(target, "execution_tokens", walk)) == len(walk)
    broken = load_mutants()[name].target_in(tmp_path)
    with opened(broken) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "execution_tokens", walk)
    assert raised.value.rule == f"execution_tokens/{rule}"


def test_a_walk_with_a_healthy_callable():
    walk = [APPROVE, APPROVE, AT_ONCE, APPROVE, ANOTHER_CONTENT, CHANGED, APPROVE, LATER, CALL]
    with opened(CALLABLES + "verify") as target:
        told = run_walk(target, "execution_tokens", walk)
    assert len(told) == len(walk)
    assert "1 results" in told[2] or "2 results" in told[2]
    assert "refused" in told[-1]


def test_a_callable_that_forgets_is_found_by_a_restart():
    walk = [APPROVE, CALL, RESTART, REPLAY]
    with opened(CALLABLES + "verify") as target:
        assert len(run_walk(target, "execution_tokens", walk)) == len(walk)
    with opened(CALLABLES + "forgetful") as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "execution_tokens", walk)
    assert raised.value.rule == "execution_tokens/nonce-restart"


def test_nothing_is_found_in_a_healthy_callable():
    with opened(CALLABLES + "verify") as target:
        explorer = explored(target, "execution_tokens", 8)
    assert not explorer.findings
    made = {name for name, count in explorer.explored.transitions.items() if count}
    assert len(made) >= 6
