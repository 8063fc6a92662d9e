"""Servers that reckon badly with instants."""

from __future__ import annotations

import datetime

from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    RedemptionAttempt,
    TokenRecord,
)
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.1-skew-window", because="ms after its last instant[^§]*operation run")
class ToleratesTwice(ConfirmationGate):
    """Adds the tolerance to the expiry, and takes it off the time too."""

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        return super().last_instant(super().last_instant(expires_at))


@broken(kills="5.1-skew-window", because="ms after expires_at[^§]*operation run")
class ToleratesAPartOfTheLife(ConfirmationGate):
    """Tolerates a tenth of a token's life, whatever is configured; that is 30 seconds for most."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        assert record.expires_at is not None
        tenth = (record.expires_at - record.issued_at) / 10
        told = type(record)(**{**vars(record), "expires_at": self.moved(record.expires_at, tenth)})
        super().check_not_expired(told, attempt)

    def moved(self, end: datetime.datetime, by: datetime.timedelta) -> datetime.datetime:
        return end + by - (self.last_instant(end) - end)


@broken(kills="4.1-not-expired", because="ms after it expired[^§]*operation run")
class SecondsOfADifference(ConfirmationGate):
    """Reads the whole seconds of a difference: neither its days nor its fractions."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        assert record.expires_at is not None
        life = self.last_instant(record.expires_at) - record.issued_at
        if (self.clock.now() - record.issued_at).seconds > life.total_seconds():
            super().check_not_expired(record, attempt)
