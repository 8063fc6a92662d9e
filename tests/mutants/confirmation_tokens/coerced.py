"""Servers that make one type of another before they compare, bind or bound it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import OperationCall
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.1-skew-range", because="a start with a tolerance of[^§]*a server that serves")
class NegativeTolerancesArePositive(SettingsReader):
    """Drops the sign of a tolerance."""

    def tolerance(self, value: Any) -> float:
        return super().tolerance(abs(value) if isinstance(value, (int, float)) else value)


# ---- the first answer


@broken(kills="3.3-required-response", because=r"CONFIRMATION_REQUIRED[^§]*success\W+0")
class SuccessIsZero(ConfirmationGate):
    """Writes truth values as its database does: 0 where false belongs."""

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        asked = super().require_confirmation(call)

        class Asked(TokenRefusal):
            def to_answer(self) -> dict[str, Any]:
                return {**super().to_answer(), "success": 0}

        return Asked(asked.code, asked.message, **asked.details)
