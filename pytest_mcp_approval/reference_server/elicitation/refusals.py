"""How the gate says no. Knows no rule and no transport."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ..server.answers import INVALID_PARAMS, ErrorAnswer


class RefusalReason(StrEnum):
    """Why nothing was done."""

    MISSING_CAPABILITY = "missing_capability"
    UNREACHABLE = "unreachable"
    INVALID_STATE = "invalid_request_state"
    EXPIRED = "request_state_expired"
    OTHER_USER = "request_state_of_another_user"
    OTHER_REQUEST = "request_state_of_another_request"
    USED = "request_state_used"
    MALFORMED = "malformed_answer"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    NOT_APPROVED = "not_approved"
    CLIENT_ERROR = "client_error"
    UNANSWERED = "unanswered"
    NOT_FINISHED = "page_not_finished"


class ElicitationRefusal(ErrorAnswer):
    """Nothing was done. An error of the protocol, or the result of a tool that says so: what a
    person decided is for the model to read."""

    def __init__(
        self,
        reason: RefusalReason,
        message: str,
        *,
        as_result: bool,
        code: int = INVALID_PARAMS,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.as_result = as_result
        self.code = code
        self.data = dict(data or {})

    def to_error(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "message": str(self),
            "data": {"reason": str(self.reason), **self.data},
        }

    def to_content(self) -> dict[str, Any]:
        """As the result of a tool."""
        return {"done": False, "reason": str(self.reason), "message": str(self)}


class ToolBackEndError(Exception):
    """The tool itself failed, after it was approved."""
