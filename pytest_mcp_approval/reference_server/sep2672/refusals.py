"""How the gate of SEP-2672 says no (section 4.10). Knows no rule and no transport."""

from __future__ import annotations

from typing import Any

from ...families.sep2672.vocabulary import ERROR_CODE, Reason
from ..server.answers import ErrorAnswer


class ApprovalRefusal(ErrorAnswer):
    """The approval is refused: nothing may run."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message

    def to_error(self) -> dict[str, Any]:
        return {"code": ERROR_CODE, "message": self.message, "data": {"reason": self.reason.value}}
