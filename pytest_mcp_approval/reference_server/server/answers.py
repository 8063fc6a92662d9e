"""How an extension answers: by the result of a tool, or no by a JSON-RPC error. Knows no rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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


def tool_result(content: Mapping[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """The result of tools/call: structured, and the same as text."""
    return {
        "content": [{"type": "text", "text": json.dumps(content)}],
        "structuredContent": content,
        "isError": is_error,
    }
