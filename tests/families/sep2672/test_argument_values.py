"""Which values count as others, and which ones a schema allows."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.driver import ListedTool
from pytest_mcp_approval.families.sep2672.hostile_values import coerced
from pytest_mcp_approval.families.sep2672.issuing import clearly_fits


@pytest.mark.parametrize("number", [0, 0.0, 1, 7, -3, 1.5, 1e20, 2**53])
def test_what_is_the_same_number_is_no_other_value(number: float):
    others = dict(coerced(number))
    numbers = [one for one in others.values() if type(one) in (int, float)]
    assert numbers
    assert all(float(one) != float(number) for one in numbers)
    assert others["as a truth value"] is True


SCHEMAS: dict[str, dict[str, Any]] = {
    "anything": {"description": "Anything at all"},
    "text": {"type": "string", "minLength": 1, "maxLength": 3},
    "choice": {"type": "string", "enum": ["a", "b"]},
    "whole": {"type": "integer", "minimum": 1, "maximum": 9},
    "truth": {"type": "boolean"},
    "either": {"type": ["string", "null"]},
    "unclear": {"type": "string", "pattern": "x"},
}


@pytest.mark.parametrize(
    ("name", "allowed", "others"),
    [
        ("anything", [None, True, 1, 1.5, "a", [], {}], []),
        ("text", ["a", "abc"], ["", "abcd", 1, True, None, ["a"]]),
        ("choice", ["a", "b"], ["c", 1]),
        ("whole", [1, 9], [0, 10, 1.5, True, "1"]),
        ("truth", [True, False], [0, "true"]),
        ("either", ["a", None], [0, False]),
        ("unclear", [], ["x"]),
        ("undeclared", [], ["a"]),
    ],
)
def test_what_a_schema_clearly_allows(name: str, allowed: list[Any], others: list[Any]):
    tool = ListedTool("tool", {"inputSchema": {"properties": SCHEMAS}}, None, {})
    assert [one for one in (*allowed, *others) if clearly_fits(tool, name, one)] == allowed
