"""Servers that were only ever tried by one person, in one session, at one adapter."""

from __future__ import annotations

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import CAPACITY, TokenType
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID, operation not run")
class OnePendingCallForEachUser(ConfirmationGate):
    """Keeps one open token for each user, the latest."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        self.store._tokens.remove_all(
            lambda one: (one.user == call.user) & (one.use_count == 0) & (one.type == kind)
        )
        return super().issue(kind, call)


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID, operation not run")
class UsedTokensTakeRoom(TokenStore):
    """Counts used and expired tokens too when it makes room for a thousand."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        issued: list[str] = self.__dict__.setdefault("issued", [])
        issued.append(record.id)
        while len(issued) > CAPACITY:
            self._tokens.remove(issued.pop(0))


@broken(kills="6.1-replay", because="of another client[^§]*operation run", protocol="2025-11-25")
class UsesOfEachSession(ConfirmationGate):
    """Remembers for each session which tokens were used in it."""

    def used(self) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = self.store.__dict__.setdefault("used", set())
        return found

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.max_uses > 1:
            super().check_not_consumed(record, attempt)
        elif (attempt.session, record.id) in self.used():
            raise self.already_used(record)
        else:
            self.used().add((attempt.session, record.id))

    def consume(self, record: TokenRecord) -> None:
        if record.max_uses > 1 or record.state is TokenState.ACTIVE:
            super().consume(record)
