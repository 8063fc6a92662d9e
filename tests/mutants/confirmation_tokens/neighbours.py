"""Servers that take one name for another that is like it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.confirmation_tokens.reading import (
    ReadsParameters,
    at_every_depth,
)


@broken(kills="2.1-quota", because="with the quota token of bulk_export[^§]*operation run")
class ResumesByTheFirstWord(ConfirmationGate):
    """A quota token resumes every operation whose name begins with the same word."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        first = record.operation.partition("_")[0]
        if record.type is TokenType.CONFIRMATION or first != attempt.operation.name.split("_")[0]:
            super().check_operation(record, attempt)

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        return words.params_hash("", params, operation.critical)


class FindsOperations(ConfirmationGate):
    """Finds an operation by what it makes of its name, and gates by the name as it came; no mutant
    by itself."""

    def read(self, name: str) -> str:
        raise NotImplementedError

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        known = self.operations.get(self.read(name))
        if known is not None and name not in self.operations:
            return self.execute(known, params)
        return super().perform(name, params, user=user, session=session)


@broken(kills="1.3-flow", because=r"delete_repo in capitals without a token[^§]*success")
class OperationsInAnyCase(FindsOperations):
    """Finds operations without regard to case, and the dangerous ones among them with it."""

    def read(self, name: str) -> str:
        return name.lower()


@broken(kills="1.3-flow", because=r"delete_repo with a blank at its end without a[^§]*success")
class OperationsWithBlanks(FindsOperations):
    """Takes blanks off an operation's name, after it has asked whether it is dangerous."""

    def read(self, name: str) -> str:
        return name.strip()


@broken(kills="1.3-flow", because=r"archive_repo with[^§]*success")
class GatesByVerb(ConfirmationGate):
    """Gates what is called delete, purge or wipe something."""

    def confirm(self, call: OperationCall) -> None:
        if call.operation.name.startswith(("delete_", "purge_", "wipe_")):
            super().confirm(call)


@broken(kills="3.2-bound-parameters", because=r"delete_repo, its token, and[^§]*result")
class NamesOfParametersInAnyCase(ConfirmationGate):
    """Runs an operation with its parameters' names in lower case, and binds them as they came."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().execute(operation, {name.lower(): one for name, one in params.items()})


@broken(kills="3.2-bound-parameters", because=r"delete_repo with[^§]*success, operation run")
class DropsWhatLooksLikeMetadata(ReadsParameters):
    """Does not bind values that look like an instant or a request's id, wherever they are."""

    METADATA = re.compile(r"\d{4}-\d\d-\d\dT.*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

    def read(self, value: Any) -> Any:
        def plain(one: Any) -> Any:
            return None if isinstance(one, str) and self.METADATA.fullmatch(one) else one

        return at_every_depth(value, plain)
