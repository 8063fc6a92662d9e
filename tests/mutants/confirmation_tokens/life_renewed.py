"""Servers on which a token lives longer because something happened to it or near it."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken


class Renewing(ConfirmationGate):
    """Can give a token its whole life again; no mutant by itself."""

    def renew(self, record: TokenRecord) -> None:
        if record.expires_at is None:
            return
        life = record.expires_at - record.issued_at
        now = self.clock.now()
        self.store._tokens.change(record.id, issued_at=now, expires_at=now + life)


@broken(kills="5.4-session-expiry", because="a session token that was used[^§]*operation run")
class SlidingSessions(Renewing):
    """Any use of a token renews the tokens of its session."""

    def consume(self, record: TokenRecord) -> None:
        super().consume(record)
        for other in self.store.records():
            if other.session_scoped and other.session_id == record.session_id:
                self.renew(other)


@broken(kills="4.1-not-expired", because="ms after it expired[^§]*operation run")
class HalfAMinuteForEachAttempt(ConfirmationGate):
    """Adds half a minute to a token's life with every attempt, as if a person were still typing."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        record = super().find(attempt)
        if record is None or record.expires_at is None:
            return record
        later = record.expires_at + datetime.timedelta(seconds=30)
        self.store._tokens.change(record.id, expires_at=later)
        return replace(record, expires_at=later)


@broken(
    kills="4.1-not-consumed",
    because="token that was used, at[^§]*success, operation run",
)
class AskingAgainRevivesTheToken(Renewing):
    """Keeps one token for each call, and makes it as new when the call is asked for again."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        wanted = (kind, call.user, call.session, self.hash_of(call.operation, call.params))
        for kept in self.store.records():
            if (kept.type, kept.user, kept.session_id, kept.params_hash) == wanted:
                self.store._tokens.change(kept.id, use_count=0)
                self.renew(kept)
                return self.store.get(kept.id) or kept
        return super().issue(kind, call)


@broken(kills="4.1-not-expired", because=r"a destructive token[^§]*success")
class AskingAgainRenewsOlderTokens(Renewing):
    """Asked once more for the same call, gives the tokens that it issued before a new life too."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        for kept in self.store.records():
            if kept.params_hash == self.hash_of(call.operation, call.params):
                self.renew(kept)
        return super().issue(kind, call)


@broken(kills="4.1-not-expired", because=r"a destructive token[^§]*success")
class ALookRenews(Renewing):
    """Gives a token its whole life again when somebody asks about it."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        record = self.look_up(token, user)
        if record is not None:
            self.renew(record)
        return super().status(token, user=user)


@broken(kills="4.1-not-expired", because=r"a token[^§]*success, operation run")
class AStartRenews(Renewing):
    """Loads the tokens into a cache when it starts, each with its whole life."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        for record in self.store.records():
            if record.adapter_name == self.adapter_name:
                self.renew(record)
