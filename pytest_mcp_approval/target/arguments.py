"""Arguments made from a tool's inputSchema, for users who opted in to running tools with them.

Only what is required is filled in, with the smallest value that the schema describes. Knows JSON
Schema as tools use it, and gives up (None) if it would have to guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEPTH = 8
_FORMATS = {
    "date": "2030-01-01",
    "date-time": "2030-01-01T00:00:00Z",
    "email": "test@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


class CannotGenerateError(ValueError):
    """The schema asks for something that cannot be made up."""


def example_arguments(schema: Any) -> dict[str, Any] | None:
    """The smallest arguments that satisfy an inputSchema; None if they cannot be made up."""
    if not isinstance(schema, Mapping):
        return None
    try:
        made = _example(schema, schema, _DEPTH)
    except CannotGenerateError:
        return None
    return made if isinstance(made, dict) else None


def _example(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if depth == 0 or schema is False:
        raise CannotGenerateError("too deep, or nothing allowed")
    if not isinstance(schema, Mapping):
        return "test"
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    if isinstance(schema.get("$ref"), str):
        return _example(_referred(schema["$ref"], root), root, depth - 1)
    for name in ("oneOf", "anyOf"):
        if isinstance(schema.get(name), list) and schema[name]:
            return _example(schema[name][0], root, depth - 1)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    makers = {"object": _object, "array": _array, "string": _string}
    if kind in makers:
        return makers[kind](schema, root, depth)
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    raise CannotGenerateError(f"type {kind!r}")


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {
        name: _example(properties.get(name, {}), root, depth - 1)
        for name in schema.get("required") or []
    }


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> list[Any]:
    count = schema.get("minItems", 0)
    if not isinstance(count, int) or count > 100:
        raise CannotGenerateError("minItems")
    return [_example(schema.get("items", {}), root, depth - 1) for _ in range(count)]


def _string(schema: Mapping[str, Any], _: Mapping[str, Any], __: int) -> str:
    if "pattern" in schema:
        raise CannotGenerateError("pattern")
    text = _FORMATS.get(str(schema.get("format")), "test")
    least = schema.get("minLength", 0)
    if isinstance(least, int) and len(text) < least <= 10_000:
        text = text.ljust(least, "x")
    most = schema.get("maxLength")
    return text[:most] if isinstance(most, int) else text


def _number(schema: Mapping[str, Any]) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    step = 1 if "exclusiveMinimum" in schema else 0
    most = schema.get("maximum", 1)
    value = least + step if isinstance(least, (int, float)) else 1
    return max(value, 1) if isinstance(most, (int, float)) and most >= 1 >= value else value


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    if not reference.startswith("#/"):
        raise CannotGenerateError(reference)
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(found, Mapping) or part not in found:
            raise CannotGenerateError(reference)
        found = found[part]
    return found
