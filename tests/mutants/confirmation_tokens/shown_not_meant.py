"""Servers that show something else than they do."""

from __future__ import annotations

import datetime
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from tests.mutants.confirmation_tokens.parts import broken


class Showing(ConfirmationGate):
    """Shows other details in the first answer; no mutant by itself."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        raise NotImplementedError

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return super().required_details(call, record) | self.other(call, record)


@broken(kills="3.3-required-response", because='error.details.danger_level[^§]*"destructive"')
class OneLevelForAll(Showing):
    """Shows every level as destructive."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return {"danger_level": words.Danger.DESTRUCTIVE.word}


@broken(kills="3.3-required-response", because='error.details.operation[^§]*"delete_repo')
class TheOperationOfTheLastCall(Showing):
    """Shows the operation that was asked for before."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        last = self.__dict__.get("last", call.operation.name)
        self.__dict__["last"] = call.operation.name
        return {"operation": last}


@broken(kills="4.1-not-expired", because="ms after it expired[^§]*operation run")
class TellsAShorterLife(Showing):
    """Shows an expiry of one minute, and keeps the token for its whole life."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return {"expires_at": self.instant(record.issued_at + datetime.timedelta(minutes=1))}


@broken(kills="3.3-required-response", because="expires_at has no time zone", warned=True)
class AnExpiryOfItsOwnZone(Showing):
    """Writes the expiry without its zone."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        assert record.expires_at is not None
        return {"expires_at": record.expires_at.replace(tzinfo=None).isoformat()}


@broken(kills="4.1-not-expired", because=r"as at issue\n20")
class TheRefusalTellsAnotherExpiry(ConfirmationGate):
    """Tells the end of the tolerance as the expiry when it refuses."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            assert record.expires_at is not None
            refusal.details["expired_at"] = self.instant(self.last_instant(record.expires_at))
            raise


@broken(kills="6.3-no-parameter-values", because=r"\(used\)[^§]*a refusal with acme")
class ReplaysWithTheCall(ConfirmationGate):
    """Says for which call a token was used already."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_consumed(record, attempt)
        except TokenRefusal as refusal:
            refusal.message += f" for {dict(attempt.params)}"
            raise


@broken(kills="6.3-no-parameter-values", because=r"\(unknown\)[^§]*a refusal with acme")
class UnknownTokensWithTheCall(ConfirmationGate):
    """Says for which call it looked for a token."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        try:
            super().check_exists(record, attempt)
        except TokenRefusal as refusal:
            shown = {k: v for k, v in attempt.params.items() if k != words.CONFIRMATION_MEMBER}
            refusal.details["params"] = shown
            raise
