"""Servers whose tokens live too long, too short, or more than once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.settings import (
    PreparationSettings,
    read_settings,
)
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.memory import MemoryTable
from tests.mutants.meeting import Meeting
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

EXPIRED = "prepare_confirm/expired"
ONE_TIME = "prepare_confirm/one-time"
CONCURRENT = "prepare_confirm/concurrent"
CLEANUP = "prepare_confirm/cleanup"


# ---- expired


@mutant(kills=EXPIRED, because="1 s after the token expired[^§]*2 done")
@in_extension
class NeverExpires(PreparationGate):
    """Shows an end and does not look at it."""

    def check_unexpired(self, payload: Payload) -> None:
        pass


@mutant(kills=EXPIRED, because="1 s before the token expires[^§]*expired")
@in_extension
class ExpiresAMinuteEarly(PreparationGate):
    """Takes off a minute, for clocks that differ."""

    def check_unexpired(self, payload: Payload) -> None:
        if self.now() >= instant(payload.expires_at) - timedelta(minutes=1):
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")


@mutant(
    kills=EXPIRED, because="twelve hours after the token expired[^§]*success: True[^§]*[1-9] done"
)
@in_extension
class ComparesTheTimeOfDay(PreparationGate):
    """Compares hours and minutes, and forgets the day."""

    def check_unexpired(self, payload: Payload) -> None:
        if self.now().timetz() >= instant(payload.expires_at).timetz():
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")


@mutant(kills=EXPIRED, because="as configured[^§]*in 300 s[^§]*in 600 s")
class LivesForTenMinutes(PrepareConfirmExtension):
    """Has another default."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        return read_settings({"expiry_minutes": 10, **settings})


@mutant(kills=EXPIRED, because="configured for 0 minutes[^§]*no token[^§]*[1-9][0-9]* done")
class TakesZeroForTheDefault(PrepareConfirmExtension):
    """Reads a lifetime of zero as if none were given."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        minutes = settings.get("expiry_minutes") or 5
        return read_settings({**settings, "expiry_minutes": minutes})


@mutant(kills=EXPIRED, because="configured for -1 minutes[^§]*no token[^§]*[1-9][0-9]* done")
class TakesAnyNumber(PrepareConfirmExtension):
    """Takes the amount of a negative lifetime."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        minutes = settings.get("expiry_minutes", 5)
        return read_settings({**settings, "expiry_minutes": abs(minutes)})


@mutant(kills=EXPIRED, because="configured for 90 minutes[^§]*in 5400 s[^§]*in 300 s")
class KnowsOneLifetime(PrepareConfirmExtension):
    """Overlooks that another lifetime was configured."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        read_settings(settings)  # refused all the same where it is out of range
        return read_settings({**settings, "expiry_minutes": 5})


@mutant(kills=EXPIRED, because="in America/New_York[^§]*in 300 s[^§]*in -1[47][0-9]00 s")
@in_extension
class TakesLocalTimeForUtc(PreparationGate):
    """Takes local time for UTC."""

    def now(self) -> datetime:
        local = self.clock.now().astimezone(self.settings.time_zone)
        return local.replace(tzinfo=UTC)


@mutant(kills=EXPIRED, because="summer time in New York [^§]*in 300 s[^§]*in -?[0-9]{4} s")
@in_extension
class CountsOnTheWall(PreparationGate):
    """Adds the lifetime to local time, and only then looks up what instant that is."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        lifetime = self.settings.lifetime(operation.name)
        zone = self.settings.time_zone
        if zone is not None:
            wall = self.now().astimezone(zone).replace(tzinfo=None, fold=0) + lifetime
            lifetime = wall.replace(tzinfo=zone).astimezone(UTC) - self.now()
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), lifetime)
        return token, instant(payload.expires_at)


@mutant(kills=EXPIRED, because="with an expired token, the second time[^§]*already been used")
@in_extension
class SpendsExpiredTokens(PreparationGate):
    """Uses a token up before it looks whether it has expired."""

    def check_unexpired(self, payload: Payload) -> None:
        if self.store.is_spent(payload.nonce):
            self.spend(payload)
        try:
            super().check_unexpired(payload)
        except ConfirmationRefusal:
            self.spend(payload)
            raise


# ---- one-time


@mutant(
    kills=ONE_TIME, because="with the same token, the second time[^§]*done[^§]*[1-9][0-9]* done"
)
@in_extension
class NeverSpends(Renews):
    """Lets a token serve as long as it lives."""

    def spend(self, payload: Payload) -> None:
        pass


@mutant(kills=ONE_TIME, because="used 61 minutes ago[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class ForgetsAfterAnHour(Renews):
    """Clears used tokens after an hour, those that still live among them."""

    def spend(self, payload: Payload) -> None:
        self.clean_up()
        if not self.store.spend(payload.nonce, self.now() + timedelta(hours=1)):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")


@mutant(kills=ONE_TIME, because="after a restart with the same key[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class ForgetsAtARestart(Renews):
    """Keeps used tokens in the process alone, and its key for ever."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.used: set[str] = set()

    def check_remembered(self, payload: Payload) -> None:
        pass

    def spend(self, payload: Payload) -> None:
        if payload.nonce in self.used:
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        self.used.add(payload.nonce)


@mutant(kills=ONE_TIME, because="with a used token, a blank behind[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class RemembersTheSpelling(Renews):
    """Trims tokens before it verifies them, and remembers them as they came."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        token = self.check_given(operation, given)
        payload = self.mint.open(token.strip())
        self.check_action(operation, payload)
        self.check_unexpired(payload)
        if not self.store.spend(token, instant(payload.expires_at)):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        return payload


@mutant(kills=ONE_TIME, because="from another session[^§]*done[^§]*[1-9][0-9]* done")
class RemembersPerSession(PrepareConfirmExtension):
    """Keeps used tokens for each session apart; without sessions each call is one."""

    gate_class = Renews

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        sessions: dict[str, Any] = self.__dict__.setdefault("sessions", {})
        if not caller.session or caller.session not in sessions:
            sessions[caller.session] = MemoryTable(self.store._spent.shape)
        self.store._spent = sessions[caller.session]
        return super().call(name, arguments, caller)


@mutant(kills=ONE_TIME, because="the second time[^§]*already used[^§]*expired")
@in_extension
class CallsUsedExpired(PreparationGate):
    """Gives another reason for a used token."""

    def spend(self, payload: Payload) -> None:
        try:
            super().spend(payload)
        except ConfirmationRefusal:
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired") from None


# ---- concurrent


@mutant(kills=CONCURRENT, because="times at once with one token[^§]*[2-8] of 8 succeeded")
@in_extension
class LooksThenMarks(Renews):
    """Looks whether a token is used, and marks it a little later."""

    meeting = Meeting()

    def spend(self, payload: Payload) -> None:
        if self.store.is_spent(payload.nonce):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        self.meeting.wait()
        self.store.spend(payload.nonce, instant(payload.expires_at))


@mutant(
    kills=CONCURRENT,
    because="one real token, six with a broken signature[^§]*the real one succeeds",
    warned=True,
)
@in_extension
class BurnsOnAForgery(PreparationGate):
    """Takes a bad signature for an attack and uses the token up."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        try:
            return super().verify(operation, given)
        except ConfirmationRefusal as refusal:
            if refusal.reason is TwoStepReason.SIGNATURE:
                payload = self.mint.read(self.mint.split(given)[0])
                self.store.spend(payload.nonce, instant(payload.expires_at))
            raise


# ---- cleanup


@mutant(kills=CLEANUP, because="confirmations, and one more[^§]*held[^§]*[0-9]+ held")
@in_extension
class NeverForgets(PreparationGate):
    """Remembers every used token for ever."""

    def clean_up(self) -> None:
        pass


@mutant(kills=CLEANUP, because="none of it confirmed within an hour[^§]*held[^§]*[0-9]+ held")
@in_extension
class KeepsEveryPreview(PreparationGate):
    """Records every token that it issues, and never removes one."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        self.store.spend(f"issued {token}", self.now() + timedelta(days=3650))
        return token, expires_at
