"""Servers that check too little or say it wrongly: sections 4 and 5.1 of confirmation tokens."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from tests.mutants.confirmation_tokens.parts import broken


def without(*names: str) -> tuple[str, ...]:
    """The checks of section 4.1 without some."""
    return tuple(name for name in ConfirmationGate.checks if name not in names)


# ---- section 4.1


@broken(kills="4.1-exists", because="never issued[^§]*TOKEN_EXPIRED")
class UnknownIsExpired(ConfirmationGate):
    """Takes a token that it does not know for one that it has forgotten."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        if record is None:
            raise TokenRefusal(TokenCode.EXPIRED, "The confirmation token has expired")


@broken(kills="4.1-exists", because="never issued[^§]*operation run")
class AnyTokenWillDo(ConfirmationGate):
    """Looks whether there is a token, and not which."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        if self.find(attempt) is None and words.is_token(attempt.token):
            return None  # type: ignore[return-value]  # nobody looks at it
        return super().redeem(attempt)


@broken(kills="4.1-not-expired", because="after it expired[^§]*operation run")
class ExpiryIgnored(ConfirmationGate):
    """Promises an expiry, and never looks at it."""

    checks: ClassVar[tuple[str, ...]] = without("check_not_expired")


@broken(kills="4.1-not-expired", because="after it expired[^§]*operation run")
class LocalTimeForUtc(ConfirmationGate):
    """Compares the expiry in UTC with a local time, some hours behind."""

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        return super().last_instant(expires_at) + datetime.timedelta(hours=5)


@broken(kills="4.1-not-expired", because="expired_at as an instant[^§]*none")
class TellsNoInstants(ConfirmationGate):
    """Says that a token has expired, and not when."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            raise TokenRefusal(refusal.code, refusal.message) from refusal


@broken(kills="4.1-not-expired", because=r"current_time near [^\n]*\n20")
class TellsAnotherTime(ConfirmationGate):
    """Writes the time of the refusal in its local time, and calls it UTC."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            local = self.clock.now() + datetime.timedelta(hours=2)
            refusal.details["current_time"] = self.instant(local)
            raise


@broken(kills="4.1-not-consumed", because="for time 2[^§]*operation run")
class AcceptedTwice(ConfirmationGate):
    """Never marks a token as used."""

    def consume(self, record: TokenRecord) -> None:
        pass


@broken(kills="4.1-not-consumed", because="for time 2[^§]*TOKEN_INVALID")
class ForgetsWhatItUsed(ConfirmationGate):
    """Deletes a token when it is used, and then does not know it."""

    def consume(self, record: TokenRecord) -> None:
        super().consume(record)
        self.store._tokens.remove(record.id)


@broken(kills="4.1-not-consumed", because="of two tokens for one call[^§]*TOKEN_ALREADY_USED")
class UsesUpTheWholeCall(ConfirmationGate):
    """Marks the call as confirmed, and with it every token for it."""

    def consume(self, record: TokenRecord) -> None:
        done = self.__dict__.setdefault("done", set())
        if record.params_hash in done:
            raise self.already_used(record)
        super().consume(record)
        done.add(record.params_hash)


@broken(kills="4.1-adapter", because="at another adapter[^§]*operation run")
class AdapterNotCompared(ConfirmationGate):
    """As in the code sample of section 4.3: does not check the adapter."""

    checks: ClassVar[tuple[str, ...]] = without("check_adapter")


@broken(kills="4.1-every-check", because="two faults: [^§]*error -32603")
class TwoFaultsAreTooMany(ConfirmationGate):
    """Collects what is wrong, and breaks down when that is more than one thing."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        record, faults = self.find(attempt), []
        for check in self.checks if record else ():
            try:
                getattr(self, check)(record, attempt)
            except TokenRefusal as refusal:
                faults.append(refusal)
        if len({refusal.code for refusal in faults}) > 1:
            raise RuntimeError("no code for this")
        return super().redeem(attempt)


@broken(kills="4.1-every-check", because="used and other operation[^§]*operation run")
class LooksAtTheMarkOnlyIfItFits(ConfirmationGate):
    """A used token is refused for its own operation only; another one just uses it."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.state is not TokenState.USED:
            super().check_operation(record, attempt)

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation == attempt.operation.name:
            super().check_parameters(record, attempt)

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation == attempt.operation.name:
            super().check_not_consumed(record, attempt)

    def consume(self, record: TokenRecord) -> None:
        if record.state is not TokenState.USED:
            super().consume(record)


@broken(kills="4.1-codes", because="TOKEN_INVALID for[^§]*tells them apart by message")
class OneCodeForAll(ConfirmationGate):
    """Calls every refusal TOKEN_INVALID; only its words differ."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        try:
            return super().redeem(attempt)
        except TokenRefusal as refusal:
            raise TokenRefusal(words.TokenCode.INVALID, refusal.message) from None


# ---- section 5.1: lifetimes


@broken(kills="5.1-default-ttl", because=r"\(forbidden\), for a token[^§]*300 s ahead")
class OneLifeForAll(ConfirmationGate):
    """Five minutes for every level."""

    def lifetime(self, kind: words.TokenType, call: OperationCall) -> float:
        return min(300, super().lifetime(kind, call) * 5)


@broken(kills="5.1-default-ttl", because=r"\(quota\), for a token[^§]*60 s ahead")
class ShortPauses(ConfirmationGate):
    """A minute for quota tokens."""

    def lifetime(self, kind: words.TokenType, call: OperationCall) -> float:
        own = super().lifetime(kind, call)
        return 60 if kind is words.TokenType.QUOTA else own


@broken(kills="5.1-maximum-ttl", because="asking for a day[^§]*86400 s ahead")
class NoCapOnWhatIsAsked(ConfirmationGate):
    """A client gets the lifetime that it asks for."""

    def maximum(self, name: str) -> float:
        return float("inf")


@broken(kills="5.1-maximum-ttl", because="a day configured[^§]*86400 s ahead")
class NoCapOnWhatIsConfigured(ConfirmationExtension):
    """An operator gets the lifetime that they set."""

    class reader_class(SettingsReader):  # noqa: N801  # the name of the extension's member
        def longest(self, name: str) -> float:
            return float("inf")

    class gate_class(ConfirmationGate):  # noqa: N801
        def lifetime(self, kind: words.TokenType, call: OperationCall) -> float:
            capped = super().lifetime(kind, call)
            own = self.settings.ttl_seconds.get(call.operation.danger.word, 0)
            return max(capped, own)


@broken(kills="5.1-maximum-ttl", because=r"\(forbidden\), for a token[^§]*600 s ahead")
class ForbiddenLivesLong(ConfirmationGate):
    """Ten minutes for what is forbidden."""

    def lifetime(self, kind: words.TokenType, call: OperationCall) -> float:
        own = super().lifetime(kind, call)
        return 600 if call.operation.danger is words.Danger.FORBIDDEN else own


@broken(kills="5.1-no-expiry-refused", because="without expiry[^§]*operation run")
class NoneIsNever(ConfirmationGate):
    """Takes a token without expiry for one that does not expire."""

    checks: ClassVar[tuple[str, ...]] = without("check_has_expiry")


# ---- section 5.1: the tolerance


class Tolerant(ConfirmationGate):
    """A gate that takes the tolerance for something else."""

    def tolerated(self, seconds: float) -> float:
        return seconds

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        seconds = self.tolerated(self.settings.clock_skew_tolerance_seconds)
        return expires_at + datetime.timedelta(seconds=seconds)


@broken(kills="5.1-skew-window", because="at tolerance 0[^§]*operation run")
class ZeroMeansThirty(Tolerant):
    """As in the code sample of section 5.1: zero counts as not set, so it is 30."""

    def tolerated(self, seconds: float) -> float:
        return seconds or 30


@broken(kills="5.1-skew-window", because="before expires_at[^§]*TOKEN_EXPIRED")
class SubtractsTheTolerance(Tolerant):
    """Takes the tolerance off the expiry, to be on the safe side."""

    def tolerated(self, seconds: float) -> float:
        return -seconds


@broken(kills="5.1-skew-window", because="after expires_at[^§]*operation run")
class MinutesForSeconds(Tolerant):
    """Takes the number for minutes."""

    def tolerated(self, seconds: float) -> float:
        return seconds * 60


@broken(kills="5.1-skew-window", because="at tolerance 300[^§]*TOKEN_EXPIRED")
class StopsAtSixty(Tolerant):
    """Takes no tolerance above a minute seriously."""

    def tolerated(self, seconds: float) -> float:
        return min(seconds, 60)


@broken(kills="5.1-skew-window", because="1 ms after expires_at[^§]*operation run")
class WholeSecondsOnly(Tolerant):
    """Compares in whole seconds, rounded down."""

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        return super().last_instant(expires_at) + datetime.timedelta(milliseconds=999)


@broken(kills="5.1-skew-window", because="in the future[^§]*TOKEN_INVALID")
class DistrustsTheFuture(ConfirmationGate):
    """Refuses a token that was issued later than now."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.issued_at > self.clock.now():
            raise TokenRefusal(TokenCode.INVALID, "not yet")
        super().check_not_expired(record, attempt)


@broken(kills="5.1-skew-range", because="tolerance of [0-9]+[^§]*a server that serves")
class TakesAnyTolerance(SettingsReader):
    """Takes however many seconds it is told."""

    def tolerance(self, value: Any) -> float:
        large = isinstance(value, (int, float)) and value > words.MAXIMUM_TOLERANCE
        return float(value) if large else super().tolerance(value)


@broken(kills="5.1-skew-range", because="tolerance of text[^§]*a server that serves")
class TakesTextForNothing(SettingsReader):
    """Falls back to the default when it cannot read the tolerance."""

    def tolerance(self, value: Any) -> float:
        return 30 if isinstance(value, str) else super().tolerance(value)


@broken(kills="5.1-skew-range", because="tolerance of NaN[^§]*a server that serves")
class TakesNan(SettingsReader):
    """Compares with the limits only, and NaN is neither below nor above."""

    def tolerance(self, value: Any) -> float:
        return 0 if str(value) == "nan" else super().tolerance(value)


@broken(kills="5.1-skew-range", because="before expires_at [+] 30 s[^§]*TOKEN_EXPIRED")
class NoToleranceByDefault(Tolerant):
    """Is strict unless it is told otherwise."""

    def tolerated(self, seconds: float) -> float:
        return 0 if seconds == words.DEFAULT_TOLERANCE else seconds


@broken(kills="5.1-skew-warning", because="tolerance of 61[^§]*none")
class SilentAboutTolerance(SettingsReader):
    """Never warns."""

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        return ()


@broken(kills="5.1-skew-warning", because="tolerance of 60[^§]*a warning")
class WarnsTooEarly(SettingsReader):
    """Warns from 60 on."""

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        return super().warnings(tolerance + 1)
