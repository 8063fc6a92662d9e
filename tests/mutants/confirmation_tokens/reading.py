"""Gates that read tokens or parameters otherwise than they came; no mutants of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
)


class ReadsTokens(ConfirmationGate):
    """Looks up what it makes of the text that came as a token."""

    def read(self, token: str) -> str:
        raise NotImplementedError

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if isinstance(attempt.token, str):
            attempt = replace(attempt, token=self.read(attempt.token))
        return super().find(attempt)


class ReadsParameters(ConfirmationGate):
    """Binds a token to what it makes of the values of the parameters."""

    def read(self, value: Any) -> Any:
        raise NotImplementedError

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return super().hash_of(operation, {name: self.read(one) for name, one in params.items()})


def at_every_depth(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value, with all that is in it and is no list or object changed."""
    if isinstance(value, dict):
        return {name: at_every_depth(one, change) for name, one in value.items()}
    if isinstance(value, list):
        return [at_every_depth(one, change) for one in value]
    return change(value)
