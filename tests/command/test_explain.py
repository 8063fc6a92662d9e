"""`mcp-approval explain`: every rule can be explained, from the catalogue's data."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.catalogue.defects import known_defects
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.catalogue.scenario_texts import scenario_texts
from pytest_mcp_approval.command.explain import explain_lines, find_rules, readings_of
from pytest_mcp_approval.config.registry import built_in
from tests.command.conftest import Command

RULES = [rule for family in built_in() for rule in catalogue(family)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_can_be_explained(rule):
    text = "\n".join(explain_lines(rule, whole=True))
    flat = " ".join(text.split())
    assert rule.id in text
    assert rule.place in text
    assert " ".join(rule.rule.split()) in flat
    assert " ".join(rule.fault.split())[1:] in flat
    assert rule.fix
    assert rule.fix in flat
    if rule.id in covered(rule.family):
        assert scenario_texts(rule)
        assert "checks" in text
    for defect in known_defects(rule.family).get(rule.id, ()):
        assert defect in flat


def test_a_rule_is_found_by_what_people_type():
    counter = "sep2672/4.8-11-counter"
    for word in (counter, "4.8-11-counter", "4.8-11*"):
        assert [one.id for one in find_rules(word)] == [counter]
    assert len(find_rules("sep2672")) == len(catalogue("sep2672"))
    assert counter in {one.id for one in find_rules("counter")}


def test_readings_are_those_that_name_the_rule():
    rules = catalogue("sep2672")
    told = readings_of(rules["sep2672/4.8-11-counter"], rules)
    assert any("steps 11 and 14" in text for text in told)
    assert not any("step 1 " in text or "Step 10" in text for text in told)
    assert len(told) < len(rules.readings) / 2
    for text in readings_of(rules["sep2672/4.10-code"], rules):
        assert "4.10" in text


def test_the_command_shows_one_rule_or_a_list(command: Command):
    one = command("explain", "4.8-11-counter")
    assert one.code == 0
    assert "broken by   - Off by one" in one.out
    assert "(--all)" in one.out
    assert len(command("explain", "4.8-11-counter", "--all").out) > len(one.out)
    listed = command("explain", "sep2672").out.splitlines()
    assert len(listed) == len(catalogue("sep2672"))
    assert command("explain").out.splitlines()[: len(built_in())] == [
        f"{name:<22}{f'{len(catalogue(name))} rules':<10} {catalogue(name).document}"
        for name in built_in()
    ]
    readings = command("explain", "sep2672", "--readings").out
    assert f"{len(catalogue('sep2672').readings):>2}. " in readings
