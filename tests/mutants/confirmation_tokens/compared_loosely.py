"""Servers that take two things for the same because they look alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import StoredTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken

# ---- tokens


@broken(kills="2.2-case-sensitive", because="a token with the case of its last[^§]*operation run")
class LastLetterInAnyCase(StoredTokens):
    """Compares all of a token but its last letter with regard to case."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        last = max((at for at, one in enumerate(token) if one.isalpha()), default=0)
        other = token[:last] + token[last : last + 1].swapcase() + token[last + 1 :]
        return self.store.get(token) or self.store.get(other)


# ---- operations


@broken(kills="3.2-bound-operation", because="archive_repo with a token of[^§]*operation run")
class ComparesTheObjectOnly(ConfirmationGate):
    """Compares what an operation acts on, and not what it does."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation.rpartition("_")[2] != attempt.operation.name.rpartition("_")[2]:
            raise self.mismatch(attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash("", params, operation.critical)


@broken(kills="3.2-bound-operation", because="archive_repo with a token of[^§]*operation run")
class ComparesTheLevel(ConfirmationGate):
    """A token confirms any operation of the same level on the same parameters."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.danger_level != attempt.operation.danger.word:
            raise self.mismatch(attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash(operation.danger.word, params, operation.critical)
