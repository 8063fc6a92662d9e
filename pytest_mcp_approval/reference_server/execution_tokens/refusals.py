"""How the verifier of execution tokens says no. Knows no rule and no transport."""

from __future__ import annotations

from ...families.execution_tokens.vocabulary import ExecutionReason


class ExecutionRefusal(Exception):  # noqa: N818  # an answer, not an error
    """The token does not allow this: nothing may run."""

    def __init__(self, reason: ExecutionReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
