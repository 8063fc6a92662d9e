"""Servers that do not check what is not there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Event,
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


class RemembersCalls(ConfirmationGate):
    """Knows with which parameters a token was issued; no mutant by itself."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        self.__dict__.setdefault("calls", {})[record.id] = dict(call.params)
        return record

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        issued = self.__dict__.get("calls", {}).get(record.id)
        if issued is None:
            super().check_parameters(record, attempt)
        elif not self.fits(issued, attempt.params, attempt.operation):
            raise self.mismatch(attempt)

    def fits(
        self, issued: Mapping[str, Any], given: Mapping[str, Any], operation: AdapterOperation
    ) -> bool:
        raise NotImplementedError


@broken(kills="3.2-bound-parameters", because='issued for {"permanent":true}[^§]*operation run')
class WhatIsLeftOutFits(RemembersCalls):
    """Compares the parameters that come with the token, and none that are left out."""

    def fits(
        self, issued: Mapping[str, Any], given: Mapping[str, Any], operation: AdapterOperation
    ) -> bool:
        names = [name for name in operation.critical if name in given]
        return all(name in issued and issued[name] == given[name] for name in names)


@broken(kills="3.2-bound-parameters", because='"permanent":true. and[^§]*operation run')
class WhatIsAddedFits(RemembersCalls):
    """Compares the parameters that the token was issued with, and none that are added."""

    def fits(
        self, issued: Mapping[str, Any], given: Mapping[str, Any], operation: AdapterOperation
    ) -> bool:
        names = [name for name in operation.critical if name in issued]
        return all(name in given and issued[name] == given[name] for name in names)


# ---- what an answer or an entry lacks


@broken(kills="6.4-audit", because=r'operation in TOKEN_REJECTED\n""')
class RefusalsWithoutOperation(ConfirmationGate):
    """Logs refusals without the operation that was tried."""

    def audit(self, event: Event, token_id: str, operation: str, *rest: Any, **more: Any) -> None:
        name = "" if event is Event.REJECTED else operation
        super().audit(event, token_id, name, *rest, **more)


@broken(kills="6.4-audit", because=r'operation in TOKEN_REVOKED\n""')
class RevocationsWithoutOperation(ConfirmationGate):
    """Logs revocations without the operation that the token was for."""

    def audit(self, event: Event, token_id: str, operation: str, *rest: Any, **more: Any) -> None:
        name = "" if event is Event.REVOKED else operation
        super().audit(event, token_id, name, *rest, **more)


@broken(kills="6.4-audit", because="a refusal, then a look at the[^§]*no such entry")
class RefusalsWithoutToken(ConfirmationGate):
    """Logs that some token was refused, and not which."""

    def loggable(self, token: Any) -> str:
        return ""


@broken(kills="3.3-required-response", because='error.details.reasons[^§]*"Nobody')
class OneReasonIsText(ConfirmationGate):
    """Writes a single reason as a text, and several as a list."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        details = super().required_details(call, record)
        reasons = details["reasons"]
        return {**details, "reasons": reasons[0] if len(reasons) == 1 else reasons}


@broken(kills="3.3-required-response", because=r'confirmation_message that fits the call\n""')
class NoQuestionForTheForbidden(ConfirmationGate):
    """Has no question for level 4: nobody wrote one."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        details = super().required_details(call, record)
        if call.operation.danger is words.Danger.FORBIDDEN:
            details["confirmation_message"] = ""
        return details


# ---- what a call lacks


@broken(kills="5.1-no-expiry-refused", because="without expiry[^§]*operation run")
class AMissingExpiryIsTheUsualOne(ConfirmationGate):
    """Gives a token without expiry the usual five minutes from now."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        record = super().find(attempt)
        if record is None or record.expires_at is not None:
            return record
        return replace(record, expires_at=self.clock.now() + datetime.timedelta(minutes=5))


@broken(kills="4.1-exists", because=r"delete_repo with null in the place of the tok[^§]*success")
class AnEmptyTokenIsNotChecked(ConfirmationGate):
    """Asks for a token if the member is missing, and checks it if it is not empty."""

    def confirm(self, call: OperationCall) -> None:
        if words.CONFIRMATION_MEMBER not in call.params:
            raise self.require_confirmation(call)
        if call.params[words.CONFIRMATION_MEMBER]:
            super().confirm(call)


@broken(kills="4.1-exists", because=r"bulk_export with an empty text in the place o[^§]*success")
class AnEmptyQuotaTokenEndsAPause(ConfirmationGate):
    """Ends a pause if there is a member for the token, and checks the token if it is not empty."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if attempt.type is TokenType.QUOTA and not attempt.token:
            return None  # type: ignore[return-value]  # nobody looks at it
        return super().redeem(attempt)


@broken(kills="3.3-required-response", because=r"as an instant \(iso\)\nnull")
class SessionTokensSayNoExpiry(ConfirmationGate):
    """Does not say when a token for a session expires, as if it were only to end with it."""

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        details = super().required_details(call, record)
        if record.session_scoped:
            del details["expires_at"]
        return details
