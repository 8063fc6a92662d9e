"""The rules as data, and the tie between rules and scenarios, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import UnknownRequirementError, catalogue, families
from pytest_mcp_approval.catalogue.requirements import scenarios_folder, selected


def ids_in(path: Path) -> set[str]:
    """The ids that a scenario file names in its decorators."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "requirement":
            found |= {
                argument.value for argument in node.args if isinstance(argument, ast.Constant)
            }
    return found


@pytest.mark.parametrize("family", families())
def test_every_server_rule_has_a_scenario_and_every_scenario_a_rule(family: str):
    named = set[str]()
    for path in (scenarios_folder() / family).glob("test_*.py"):
        named |= ids_in(path)
    rules = catalogue(family)
    assert named - {rule.id for rule in rules} == set()
    assert {rule.id for rule in rules if rule.party == "server"} - named == set()


@pytest.mark.parametrize("family", families())
def test_every_scenario_is_tied_to_a_rule(family: str):
    for path in (scenarios_folder() / family).glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                ties = [
                    one
                    for one in node.decorator_list
                    if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "requirement"
                ]
                assert len(ties) == 1, f"{path.name}: {node.name}"


def test_a_rule_says_where_it_stands():
    rules = catalogue("sep2672")
    assert rules["sep2672/4.8-11-counter"].place == "SEP-2672 §4.8 step 11"
    assert rules["sep2672/4.4.1-ttl"].place == "SEP-2672 §4.4.1"
    assert rules["sep2672/8.1.3-rewritten-call"].section == "8.1.3"


def test_every_rule_is_one_line_of_words():
    for family in families():
        for rule in catalogue(family):
            assert "\n" not in rule.rule
            assert 10 < len(rule.rule) < 100, rule.id


def test_an_unknown_id_or_family_is_told():
    with pytest.raises(UnknownRequirementError, match="got 'sep2672/x', expected an id of sep2672"):
        catalogue("sep2672")["sep2672/x"]
    with pytest.raises(UnknownRequirementError, match="got family 'x', expected one of"):
        catalogue("x")


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        ((), True),
        (("sep2672/4.8*",), True),
        (("4.8*",), True),
        (("sep2672/4.8-11-counter",), True),
        (("sep2672/4.1*",), False),
        (("*/4.7*", "*counter"), True),
    ],
)
def test_patterns_choose(patterns: tuple[str, ...], chosen: bool):
    assert selected("sep2672/4.8-11-counter", patterns) is chosen
