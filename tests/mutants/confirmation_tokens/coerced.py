"""Servers that make one type of another before they compare, bind or bound it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.1-skew-range", because="a start with a tolerance of[^§]*a server that serves")
class NegativeTolerancesArePositive(SettingsReader):
    """Drops the sign of a tolerance."""

    def tolerance(self, value: Any) -> float:
        return super().tolerance(abs(value) if isinstance(value, (int, float)) else value)
