"""Servers that are right alone, and wrong beside another one over the same store."""

from __future__ import annotations

import threading
import time

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenType
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import StoredTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="6.1-replay", because="to each of two replicas[^§]*2 successes")
class LocksItselfOnly(StoredTokens):
    """Looks and then marks, under a lock of its own process."""

    def use(self, record: TokenRecord) -> bool:
        lock: threading.Lock = self.__dict__.setdefault("lock", threading.Lock())
        with lock:
            kept = self.store.get(record.id)
            if kept is None or kept.state is not TokenState.ACTIVE:
                return False
            time.sleep(0.2)
            self.store.use(record.id)
            return True


@broken(kills="6.1-replay", because="at the second, and then at the first[^§]*operation run")
class KnowsItsOwnByHeart(StoredTokens):
    """Keeps the tokens that it has issued in memory, and asks the store about all others."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        issued = super().issue(record)
        self.own[issued.id] = issued
        return issued

    @property
    def own(self) -> dict[str, TokenRecord]:
        found: dict[str, TokenRecord] = self.__dict__.setdefault("_own", {})
        return found

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        kept = super().find(token, attempt)
        if kept is not None and kept.state is TokenState.REVOKED:
            return kept
        return self.own.get(token, kept) if attempt is not None else kept

    def use(self, record: TokenRecord) -> bool:
        if record.id in self.own:
            del self.own[record.id]
            self.store.use(record.id)
            return True
        return super().use(record)


@broken(kills="5.3-revoked", because="revoked at one replica[^§]*operation run")
class RevokesInItsMemory(ConfirmationGate):
    """Notes in its own memory what was revoked."""

    @property
    def revoked(self) -> set[str]:
        found: set[str] = self.__dict__.setdefault("_revoked", set())
        return found

    def revoke_record(self, record: TokenRecord) -> bool:
        if record.state is not TokenState.ACTIVE or record.id in self.revoked:
            return False
        self.revoked.add(record.id)
        return True

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        return None if attempt.token in self.revoked else super().find(attempt)


@broken(kills="2.1-quota", because="at the second, and then at the first[^§]*operation run")
class EndsPausesInItsMemory(StoredTokens):
    """Notes in its own memory which quota tokens were used."""

    def use(self, record: TokenRecord) -> bool:
        if record.type is not TokenType.QUOTA:
            return super().use(record)
        used: set[str] = self.__dict__.setdefault("used", set())
        if record.id in used:
            return False
        used.add(record.id)
        return True
