"""The shapes of MCP that extensions share: entries of tools, arguments, results, and refusals as
JSON-RPC errors. Knows no rule."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

INVALID_PARAMS = -32602


class ErrorAnswer(Exception):  # noqa: N818 - a refusal is an outcome, not an error of the code
    """The answer to a request is this error."""

    def to_error(self) -> dict[str, Any]:
        """The `error` member of the JSON-RPC answer."""
        raise NotImplementedError


class InvalidParamsError(ErrorAnswer, ValueError):
    """The params of a method, or the arguments of a tool, are not what it describes."""

    def to_error(self) -> dict[str, Any]:
        return {"code": INVALID_PARAMS, "message": str(self)}


def invalid(name: str, value: Any, expected: str) -> NoReturn:
    """Refuse the value of an argument."""
    raise InvalidParamsError(f"{name}: got {ascii(value)[:40]}, expected {expected}")


def tool_listing(
    name: str,
    title: str,
    description: str,
    properties: Mapping[str, Any] | None = None,
    required: Iterable[str] = (),
    *,
    read_only: bool = False,
    destructive: bool = True,
) -> dict[str, Any]:
    """An entry of tools/list. What changes things counts as destructive, unless it only adds."""
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": dict(properties or {}),
            "required": list(required),
        },
        "annotations": {
            "readOnlyHint": read_only,
            "destructiveHint": destructive and not read_only,
        },
    }


def object_arguments(arguments: Any) -> Mapping[str, Any]:
    """The arguments of a call; an empty object if there are none."""
    given = {} if arguments is None else arguments
    if not isinstance(given, Mapping):
        raise InvalidParamsError(f"arguments: got {type(given).__name__}, expected an object")
    return given


def tool_result(content: Mapping[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """The result of tools/call: structured, and the same as text."""
    return {
        "content": [{"type": "text", "text": json.dumps(content)}],
        "structuredContent": content,
        "isError": is_error,
    }
