"""Arguments made from a schema: the smallest that satisfy it, or none at all."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.target.arguments import example_arguments


def schema(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (schema([]), {}),
        (schema([], a={"type": "string"}), {}),
        (schema(["a"], a={"type": "string"}), {"a": "test"}),
        (schema(["a"], a={"type": "string", "minLength": 6}), {"a": "testxx"}),
        (schema(["a"], a={"type": "string", "maxLength": 2}), {"a": "te"}),
        (schema(["a"], a={"type": "string", "format": "date"}), {"a": "2030-01-01"}),
        (schema(["a"], a={"type": "integer"}), {"a": 1}),
        (schema(["a"], a={"type": "integer", "minimum": 5}), {"a": 5}),
        (schema(["a"], a={"type": "integer", "exclusiveMinimum": 5}), {"a": 6}),
        (schema(["a"], a={"type": "number", "maximum": 0}), {"a": 0}),
        (schema(["a"], a={"type": "boolean"}), {"a": False}),
        (schema(["a"], a={"enum": ["x", "y"]}), {"a": "x"}),
        (schema(["a"], a={"const": 7}), {"a": 7}),
        (schema(["a"], a={"type": "string", "default": "d"}), {"a": "d"}),
        (schema(["a"], a={"type": "string", "examples": ["e"]}), {"a": "e"}),
        (schema(["a"], a={"type": ["null", "string"]}), {"a": None}),
        (schema(["a"], a={"anyOf": [{"type": "integer"}, {}]}), {"a": 1}),
        (schema(["a"], a={"type": "array", "items": {"type": "string"}}), {"a": []}),
        (
            schema(["a"], a={"type": "array", "items": {"type": "string"}, "minItems": 2}),
            {"a": ["test", "test"]},
        ),
        (schema(["a"], a=schema(["b"], b={"type": "integer"})), {"a": {"b": 1}}),
        (
            {**schema(["a"], a={"$ref": "#/$defs/x"}), "$defs": {"x": {"type": "boolean"}}},
            {"a": False},
        ),
    ],
)
def test_the_smallest_arguments(given: dict[str, Any], made: dict[str, Any]):
    assert example_arguments(given) == made


@pytest.mark.parametrize(
    "given",
    [
        None,
        "object",
        {"type": "array"},
        schema(["a"], a={"type": "string", "pattern": "^[A-Z]{3}$"}),
        schema(["a"], a={"type": "quux"}),
        schema(["a"], a={"$ref": "https://example.org/x"}),
        schema(["a"], a={"$ref": "#/missing"}),
        {"$ref": "#"},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
    ],
)
def test_what_cannot_be_made_up_is_left(given: Any):
    assert example_arguments(given) is None


def test_a_schema_that_refers_to_itself_ends():
    looping = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/x"}}}
    assert example_arguments({**looping, "x": {"$ref": "#/x"}}) is None
