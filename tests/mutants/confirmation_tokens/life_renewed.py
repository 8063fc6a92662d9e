"""Servers on which a token lives longer because something happened to it or near it."""

from __future__ import annotations

import datetime
from dataclasses import replace

from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
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
