"""Servers that take one name for another that is like it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenType
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="2.1-quota", because="with the quota token of bulk_export[^§]*operation run")
class ResumesByTheFirstWord(ConfirmationGate):
    """A quota token resumes every operation whose name begins with the same word."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        first = record.operation.partition("_")[0]
        if record.type is TokenType.CONFIRMATION or first != attempt.operation.name.split("_")[0]:
            super().check_operation(record, attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash("", params, operation.critical)
