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


def _built(gate: type[ConfirmationGate], options: dict[str, Any]) -> ReferenceServer:
    extension = type(gate.__name__, (ConfirmationExtension,), {"gate_class": gate})
    return having(extension, options)


def asks(**options: Any) -> ReferenceServer:
    return _built(AsksAboutHarmlessThings, options)


def evicts(**options: Any) -> ReferenceServer:
    return _built(EvictsAtOnce, options)


def repeats(**options: Any) -> ReferenceServer:
    return _built(ShowsTheSameTokenAgain, options)


for factory in (asks, evicts, repeats):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
