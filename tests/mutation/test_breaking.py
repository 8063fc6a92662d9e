"""A mutation is in the server while it lasts, and nowhere afterwards; of a shared module, never in
the suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_mcp_approval.config.registry import built_in
from pytest_mcp_approval.families.sep2672 import vocabulary
from pytest_mcp_approval.reference_server.confirmation_tokens import refusals
from pytest_mcp_approval.reference_server.execution_tokens import hosts
from pytest_mcp_approval.reference_server.sep2672 import challenges
from tests.inner_session import InnerSession
from tests.mutation.breaking import broken
from tests.mutation.modules import module_names, source_of
from tests.mutation.operators import mutations
from tests.mutation.worker import Watch, options_for

REFUSALS = "pytest_mcp_approval.reference_server.confirmation_tokens.refusals"
HOSTS = "pytest_mcp_approval.reference_server.execution_tokens.hosts"
GATE = "pytest_mcp_approval.reference_server.sep2672.gate"
VOCABULARY = "pytest_mcp_approval.families.sep2672.vocabulary"
OPTIONS = {**options_for("sep2672", None), "select": ["sep2672/4.8-03-method"]}


def number_of(module: str, function: str, what: str) -> int:
    found = mutations(source_of(module).read_text(encoding="utf-8"))
    return next(one.number for one in found if one.function == function and what in one.what)


def test_a_function_has_the_broken_code_while_it_lasts():
    whole = hosts.host_of("https://Example.com/a")
    with broken(HOSTS, number_of(HOSTS, "host_of", "returns None"), "host_of"):
        assert hosts.host_of("https://Example.com/a") is None
    assert hosts.host_of("https://Example.com/a") == whole


def test_the_suite_keeps_its_own_copy_of_what_both_use():
    server: Any = challenges
    given = ("tool", {"a": 1}, "server")
    whole = vocabulary.action_hash(*given)
    with broken(VOCABULARY, number_of(VOCABULARY, "action_hash", "returns None"), "action_hash"):
        assert server.words.action_hash(*given) is None
        assert vocabulary.action_hash(*given) == whole
    assert server.words.action_hash(*given) == whole


def test_a_method_may_lose_its_super():
    function = "TokenRefusal.__init__"
    with broken(REFUSALS, number_of(REFUSALS, function, "super()"), function):
        assert str(refusals.TokenRefusal("CODE", "text")) == "('CODE', 'text')"
    assert "CODE: text" in str(refusals.TokenRefusal("CODE", "text"))


def test_every_module_exists():
    for family in built_in():
        for name in module_names(family):
            assert mutations(source_of(name).read_text(encoding="utf-8")) is not None


def test_a_scenario_notices_and_passes_again_afterwards(tmp_path: Path):
    function = "ApprovalGate.step_03_method"
    session = InnerSession(tmp_path)
    try:
        with broken(GATE, number_of(GATE, function, "raise"), function):
            watch = Watch({})
            session.judge(watch, enough=watch.is_enough, **OPTIONS)
            assert watch.finder is not None
        after = Watch({})
        session.judge(after, **OPTIONS)
        assert after.finder is None
        assert after.checked > 1
    finally:
        session.close()
