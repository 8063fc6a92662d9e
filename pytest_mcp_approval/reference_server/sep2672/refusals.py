"""How the gate of SEP-2672 says no (section 4.10). Knows no rule and no transport."""

from __future__ import annotations

from typing import Any

from ...families.sep2672.vocabulary import ERROR_CODE, Reason

INVALID_PARAMS = -32602


class ApprovalRefusal(Exception):  # noqa: N818 - a refusal is an outcome, not an error of the code
    """The approval is refused: nothing may run."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def to_error(self) -> dict[str, Any]:
        """The `error` member of the JSON-RPC answer."""
        return {"code": ERROR_CODE, "message": self.message, "data": {"reason": self.reason.value}}


class InvalidParamsError(ValueError):
    """The params of an approval method are not what section 4.4 describes."""

    def to_error(self) -> dict[str, Any]:
        """The `error` member of the JSON-RPC answer."""
        return {"code": INVALID_PARAMS, "message": str(self)}
