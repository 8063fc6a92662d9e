"""Servers that do what the document leaves open: a finding against any of them would be unfair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import INVALID_MESSAGE
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import RateLimit
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having


class AsksAboutHarmlessThings(ConfirmationGate):
    """Wants a confirmation even for what can be undone."""

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        operation = self.operations.get(name)
        if operation is not None and operation.danger is words.Danger.REVERSIBLE:
            # The life of a token has no entry for this level.
            self.operations[name] = replace(operation, danger=words.Danger.DESTRUCTIVE)
        return super().perform(name, params, user=user, session=session)


class EvictsAtOnce(ConfirmationGate):
    """Keeps tokens in a cache that drops them when they expire: they are unknown then."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal:
            raise TokenRefusal(words.TokenCode.INVALID, INVALID_MESSAGE) from None


class ShowsTheSameTokenAgain(ConfirmationGate):
    """Asking again before the token is used returns the same token."""

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        asked = self.__dict__.setdefault("asked", {})
        key = (self.hash_of(call.operation, call.params), call.user)
        told = asked.get(key)
        kept = self.store.get(told.details["confirmation_token"]) if told else None
        if told is None or kept is None or kept.state.name != "ACTIVE":
            told = asked[key] = super().require_confirmation(call)
        return told


class LimitsFailures(ConfirmationGate):
    """Takes few failed validations in a row, and then none for a while."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.settings = replace(self.settings, failure_limit=RateLimit(5))


class OneQuotaForAll(ConfirmationGate):
    """Counts the runs of everybody together, and ends the pause of all with its latest token."""

    def pass_quota(self, call: OperationCall, quota: int) -> None:
        super().pass_quota(replace(call, user=""), quota)

    def issue(self, kind: words.TokenType, call: OperationCall) -> TokenRecord:
        if kind is words.TokenType.QUOTA:
            self.store._tokens.remove_all(lambda one: one.type == kind)
        return super().issue(kind, call)


class ServesInItsSession(ConfirmationGate):
    """Binds each token to its session, and tells the time in its question."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        super().check_exists(record, attempt)
        if record is not None and record.session_id != attempt.session:
            raise TokenRefusal(words.TokenCode.INVALID, INVALID_MESSAGE)

    def session_ended(self, session: str) -> None:
        pass

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        refusal = super().require_confirmation(call)
        asked = self.__dict__["asked"] = self.__dict__.get("asked", 0) + 1
        refusal.details["confirmation_message"] += f" (question {asked})"
        return refusal


def _built(gate: type[ConfirmationGate], options: dict[str, Any]) -> ReferenceServer:
    extension = type(gate.__name__, (ConfirmationExtension,), {"gate_class": gate})
    return having(extension, options)


def asks(**options: Any) -> ReferenceServer:
    return _built(AsksAboutHarmlessThings, options)


def evicts(**options: Any) -> ReferenceServer:
    return _built(EvictsAtOnce, options)


def repeats(**options: Any) -> ReferenceServer:
    return _built(ShowsTheSameTokenAgain, options)


def limits(**options: Any) -> ReferenceServer:
    return _built(LimitsFailures, options)


def shares(**options: Any) -> ReferenceServer:
    return _built(OneQuotaForAll, options)


def binds(**options: Any) -> ReferenceServer:
    return _built(ServesInItsSession, options)


for factory in (asks, evicts, repeats, limits, shares, binds):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
