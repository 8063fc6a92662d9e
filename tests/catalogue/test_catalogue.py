"""The rules as data, and the tie between rules and scenarios, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import UnknownRequirementError, catalogue
from pytest_mcp_approval.catalogue.requirements import named_in, read_catalogue, selected
from pytest_mcp_approval.config.registry import FamilyError, built_in, registered


def ids_in(path: Path) -> set[str]:
    """The ids that a scenario file names in its decorators."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "requirement":
            found |= {
                str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)
            }
    return found


@pytest.mark.parametrize("family", built_in())
def test_every_server_rule_has_a_scenario_and_every_scenario_a_rule(family: str):
    named = set[str]()
    for path in registered(family).scenarios.glob("test_*.py"):
        named |= ids_in(path)
    rules = catalogue(family)
    assert named - {rule.id for rule in rules} == set()
    assert {rule.id for rule in rules if rule.party == "server"} - named == set()


@pytest.mark.parametrize("family", built_in())
def test_every_scenario_is_tied_to_a_rule(family: str):
    for path in registered(family).scenarios.glob("test_*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert is_tied(node), f"{path.name}: {node.name}"


def is_tied(scenario: ast.FunctionDef) -> bool:
    """By one decorator, or each of its cases by one."""
    ties = [one for one in scenario.decorator_list if is_call(one, "requirement")]
    inside = [one for decorator in scenario.decorator_list for one in ast.walk(decorator)]
    cases = [one for one in inside if is_call(one, "param")]
    of_cases = [one for case in cases for one in ast.walk(case) if is_call(one, "requirement")]
    return (len(ties) == 1 and not of_cases) or (not ties and len(of_cases) == len(cases) > 0)


def is_call(node: ast.AST, name: str) -> bool:
    called = getattr(node, "func", None)
    return name in (getattr(called, "id", ""), getattr(called, "attr", ""))


def test_a_rule_says_where_it_stands():
    rules = catalogue("sep2672")
    assert rules["sep2672/4.8-11-counter"].place == "SEP-2672 §4.8 step 11"
    assert rules["sep2672/4.4.1-ttl"].place == "SEP-2672 §4.4.1"
    assert rules["sep2672/8.1.3-rewritten-call"].section == "8.1.3"


def test_every_rule_is_one_line_of_words():
    for family in built_in():
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


WHOLE = """family = "small"
document = "A small page"
[[requirement]]
id = "1-first"
level = "MUST"
watch = "it does the first thing"
fault = "it does not"
[[requirement]]
id = "2-second"
level = "SHOULD"
party = "client"
watch = "it does the second thing"
needs = ["clock"]
fault = "it does not"
"""


def test_a_small_file_is_read(tmp_path: Path):
    path = tmp_path / "requirements.toml"
    path.write_text(WHOLE)
    rules = read_catalogue("small", path)
    assert list(rules.requirements) == ["small/1-first", "small/2-second"]
    first, second = rules
    assert (first.party, first.rule, first.needs) == ("server", first.watch, ())
    assert (second.party, second.needs, second.place) == ("client", ("clock",), "A small page §2")


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        ('family = "small"', "", ": got no 'family', expected"),
        ('family = "small"', 'family = "big"', " family: got 'big', expected 'small'"),
        ('document = "A small page"', "", ": got no 'document', expected"),
        ('document = "A small page"', "document = 7", " document: got 7, expected text"),
        ("document", "documents", ": got 'documents', did you mean 'document'?"),
        (WHOLE[WHOLE.index("[[") :], "", ": got no 'requirement', expected [[requirement]]"),
        (WHOLE[WHOLE.index("[[") :], "requirement = []", " requirement: got [], expected [[req"),
        (WHOLE[WHOLE.index("[[") :], "requirement = 7", " requirement: got 7, expected [[req"),
        ('id = "1-first"', "", " requirement[0]: got no 'id', expected"),
        ('id = "1-first"', 'id = "a/b"', " requirement[0].id: got 'a/b', expected an id"),
        ('id = "2-second"', 'id = "1-first"', ": got the id '1-first' 2 times, expected it once"),
        ('"SHOULD"', '"OUGHT"', " requirement[1].level: got 'OUGHT', expected one of MUST, SHOULD"),
        ('"client"', '"guest"', " requirement[1].party: got 'guest', expected one of server,"),
        ('fault = "it does not"', "", " requirement[0]: got no 'fault', expected"),
        ('fault = "it does not"', 'fault = ""', " requirement[0].fault: got '', expected text"),
        ('fault = "it does not"', 'fault = "  "', " requirement[0].fault: got '  ', expected text"),
        ('document = "A small page"', 'document = " "', " document: got ' ', expected text"),
        ('needs = ["clock"]', "needs = 7", " requirement[1].needs: got 7, expected text"),
        ('needs = ["clock"]', "needs = {}", " requirement[1].needs: got {}, expected a list"),
        (
            'needs = ["clock"]',
            'need = ["clock"]',
            " requirement[1]: got 'need', did you mean 'needs'?",
        ),
        ("[[requirement]]", "[[requirement", ": no TOML: "),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line(tmp_path: Path, line: str, instead: str, said: str):
    path = tmp_path / "requirements.toml"
    assert line in WHOLE
    path.write_text(WHOLE.replace(line, instead, 1))
    with pytest.raises(FamilyError) as caught:
        read_catalogue("small", path)
    assert str(caught.value).startswith(f"{path}{said}")
    assert "\n" not in str(caught.value)


def test_rules_are_found_in_either_quotes(tmp_path: Path):
    path = tmp_path / "test_it.py"
    path.write_text("@requirement('small/1-first')\n@requirement(\"small/2-second\")\n")
    assert named_in(path, "small") == {"small/1-first", "small/2-second"}
