"""Servers that forget too soon, or never."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

ONE_TIME = "prepare_confirm/one-time"
NONCE = "prepare_confirm/nonce"
CLEANUP = "prepare_confirm/cleanup"


class _Forgets(Renews):
    """Keeps used tokens beside the store, over restarts too."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.used: dict[str, datetime] = self.store.__dict__.setdefault("used", {})

    def forget(self) -> None:
        raise NotImplementedError

    def spend(self, payload: Payload) -> None:
        self.forget()
        if payload.nonce in self.used:
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        self.used[payload.nonce] = self.now()


@mutant(kills=ONE_TIME, because="used [0-9]+ minutes ago[^§]*[1-9] done")
@in_extension
class RemembersTheLastThree(_Forgets):
    """Remembers the last three used tokens."""

    def forget(self) -> None:
        while len(self.used) > 3:
            del self.used[next(iter(self.used))]


@mutant(kills=ONE_TIME, because="used 59 minutes ago[^§]*[1-9] done")
@in_extension
class ForgetsAfterAMinute(_Forgets):
    """Remembers used tokens for one minute of the five."""

    def forget(self) -> None:
        over = self.now() - timedelta(minutes=1)
        for nonce in [nonce for nonce, at in self.used.items() if at <= over]:
            del self.used[nonce]


@mutant(kills=ONE_TIME, because="used [0-9]+ minutes ago[^§]*[1-9] done")
@in_extension
class ClearsEverythingHourly(_Forgets):
    """Clears the memory of used tokens once an hour, whatever is in it."""

    def forget(self) -> None:
        hour = self.now().replace(minute=0, second=0, microsecond=0)
        if self.__dict__.setdefault("hour", hour) != hour:
            self.__dict__["hour"] = hour
            self.used.clear()


@mutant(kills=ONE_TIME, because="after other previews and confirmations[^§]*[1-9] done")
@in_extension
class ForgetsWithANewPreview(Renews):
    """Takes the mark of used tokens away when the same thing is prepared again."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        marks: dict[str, list[str]] = self.__dict__.setdefault("marks", {})
        for nonce in marks.pop(operation.name, []):
            self.store._spent.remove(nonce)
        return super().issue(operation, draft)

    def spend(self, payload: Payload) -> None:
        super().spend(payload)
        self.__dict__.setdefault("marks", {}).setdefault(payload.action, []).append(payload.nonce)


@mutant(kills=NONCE, because="12 different tokens[^§]*[^0-9]1 different ones")
@in_extension
class NonceIsTheSecond(PreparationGate):
    """Has the second of the issue for a nonce: tokens of one second use each other up."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        self.mint.nonce = lambda: str(int(self.now().timestamp()))
        return super().issue(operation, draft)


@mutant(kills=CLEANUP, because="over an hour old[^§]*[1-9][0-9]* held")
@in_extension
class ForgetsAfterADay(PreparationGate):
    """Remembers used tokens of five minutes for a day."""

    def spend(self, payload: Payload) -> None:
        self.clean_up()
        late = instant(payload.expires_at) + timedelta(days=1)
        if not self.store.spend(payload.nonce, late):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")


@mutant(kills="prepare_confirm/expired", because="after the token expired[^§]*already been used")
@in_extension
class CallsOldTokensUsed(PreparationGate):
    """Says of a token that expired long ago that it was used."""

    def check_unexpired(self, payload: Payload) -> None:
        if self.now() >= instant(payload.expires_at) + timedelta(hours=1):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        super().check_unexpired(payload)


@mutant(kills=NONCE, because="12 times with the same arguments[^§]*1 different ones")
@in_extension
class GivesTheSameTokenForAMinute(PreparationGate):
    """Answers the same preparation from a cache for a minute, token included."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        cache: dict[str, tuple[datetime, dict[str, Any]]] = self.__dict__.setdefault("cache", {})
        key = f"{operation.name} {arguments}"
        if key in cache and cache[key][0] > self.now() - timedelta(minutes=1):
            return cache[key][1]
        answer = super().prepare(operation, arguments, caller)
        cache[key] = (self.now(), answer)
        return answer


@mutant(kills="prepare_confirm/one-time", because="after [0-9]+ others were used[^§]*success: True")
@in_extension
class RemembersTheLastHundred(_Forgets):
    """Remembers the last hundred used tokens."""

    def forget(self) -> None:
        while len(self.used) > 100:
            del self.used[next(iter(self.used))]


@mutant(kills="prepare_confirm/nonce", because="token after a restart[^§]*already been used")
@in_extension
class NoncesBeginAgain(PreparationGate):
    """Counts its nonces from one at every start, and remembers used ones over it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        numbers = itertools.count(1)
        self.mint.__dict__["nonce"] = lambda: f"{next(numbers):032}"
