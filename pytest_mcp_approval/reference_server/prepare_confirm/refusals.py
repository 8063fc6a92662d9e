"""How the two-step tools say no. Knows no rule and no transport."""

from __future__ import annotations

from ...families.prepare_confirm.vocabulary import TwoStepReason


class ConfirmationRefusal(Exception):  # noqa: N818  # a refusal is an outcome, not an error
    """The token is refused: nothing may happen."""

    def __init__(self, reason: TwoStepReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class NothingToPrepareError(Exception):
    """There is nothing to show a preview of; one line says why."""


class BackEndError(Exception):
    """The back end did not do what it was asked to, or does not say whether it did."""
