"""Servers that reckon badly with instants."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    TTL_MEMBER,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
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


@broken(kills="4.1-not-expired", because=r"a destructive token[^§]*success, operation run")
class ReadsTheClockNowAndThen(ConfirmationGate):
    """Asks what time it is every ten seconds, and goes by that in between."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        now = self.clock.now()
        read: datetime.datetime = self.__dict__.setdefault("read", now)
        if not datetime.timedelta(0) <= now - read < datetime.timedelta(seconds=10):
            read = self.__dict__["read"] = now
        if record.expires_at is not None and read > self.last_instant(record.expires_at):
            super().check_not_expired(record, attempt)


@broken(kills="4.1-not-expired", because=r"a token[^§]*TOKEN_EXPIRED, operation not run")
class SecondsInThirtyTwoBits(ConfirmationGate):
    """Keeps the expiry in seconds since 1970 in 32 bits with a sign, which end in 2038."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        assert record.expires_at is not None
        seconds = record.expires_at.timestamp()
        if seconds >= 2**31:
            wrapped = record.expires_at - datetime.timedelta(seconds=2**32)
            record = replace(record, expires_at=wrapped)
        super().check_not_expired(record, attempt)


@broken(kills="5.1-maximum-ttl", because=r"at most 900 s ahead\n900\.5 s ahead")
class CapsTheWholePart(ConfirmationGate):
    """Compares the whole seconds of a lifetime with the maximum."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        found, asked = super().lifetime(kind, call), call.params.get(TTL_MEMBER)
        return asked if isinstance(asked, float) and int(asked) == found else found


@broken(kills="5.1-skew-range", because=r"a start with a tolerance of[^§]*a server that serves")
class CutsFractionsOfTheTolerance(SettingsReader):
    """Compares the whole seconds of a tolerance with its range."""

    def tolerance(self, value: Any) -> float:
        is_number = isinstance(value, float) and math.isfinite(value)
        return super().tolerance(int(value) if is_number else value)


@broken(kills="5.1-skew-warning", because=r"a warning in the log\nnone")
class WarnsOfWholeSeconds(SettingsReader):
    """Compares the whole seconds of a tolerance when it asks whether to warn."""

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        return super().warnings(tolerance) if int(tolerance) > 60 else ()


class Graceful(ConfirmationGate):
    """Knows whether a token has expired and is still tolerated; no mutant by itself."""

    def in_grace(self, record: TokenRecord) -> bool:
        end = record.expires_at
        return end is not None and end < self.clock.now() <= self.last_instant(end)


@broken(
    kills="4.1-not-consumed",
    because=r"a destructive token that was used, within the[^§]*success, operation run",
)
class ToleratedMeansValid(Graceful):
    """Takes a token that it tolerates for valid, before it has asked whether it was used."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.in_grace(record):
            super().check_not_consumed(record, attempt)

    def consume(self, record: TokenRecord) -> None:
        if record.state is not TokenState.USED:
            super().consume(record)


@broken(
    kills="4.1-every-check",
    because=r"a destructive token for other parameters,[^§]*success, operation run",
)
class ToleratesOtherParametersToo(Graceful):
    """Takes a token that it tolerates for valid, before it has compared the parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.in_grace(record):
            super().check_parameters(record, attempt)
