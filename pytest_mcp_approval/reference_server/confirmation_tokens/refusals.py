"""The gate's refusals, in the form of sections 3.3 and 4.2. Knows no transport."""

from __future__ import annotations

from typing import Any


class TokenRefusal(Exception):  # noqa: N818  # a refusal is an answer, not an error
    """The answer `{"success": false, "error": ...}`."""

    def __init__(self, code: str, message: str, **details: Any) -> None:
        super().__init__(f"{code}: {message}")
        self.code = str(code)
        self.message = message
        self.details = details

    def to_answer(self) -> dict[str, Any]:
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            error["details"] = dict(self.details)
        return {"success": False, "error": error}
