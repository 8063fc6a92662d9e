"""Servers whose instants are rounded, cut or compared in parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

EXPIRED = "prepare_confirm/expired"


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


class _Compares(PreparationGate):
    """Decides in its own way whether a token has expired."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        raise NotImplementedError

    def check_unexpired(self, payload: Payload) -> None:
        if self.is_over(self.now(), instant(payload.expires_at), payload):
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")


@mutant(kills=EXPIRED, because="1 s after the token expired[^§]*[1-9] done")
@in_extension
class AllowsForSkew(_Compares):
    """Lets tokens live thirty seconds longer, for clocks that differ."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return now >= end + timedelta(seconds=30)


@mutant(kills=EXPIRED, because="1 s after the token expired[^§]*[1-9] done")
@in_extension
class LastsToTheEndOfTheMinute(_Compares):
    """Rounds the end of a token up to a full minute, and the present moment down."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return _minute(now) > _minute(end) + timedelta(minutes=1)


@mutant(kills=EXPIRED, because="1 s before the token expires[^§]*has expired")
@in_extension
class EndsWithTheMinuteBefore(_Compares):
    """Rounds the present moment up to a full minute."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return _minute(now) + timedelta(minutes=1) >= end


@mutant(kills=EXPIRED, because="in 300 s[^§]*in -3300 s")
@in_extension
class AddsMinutesWithoutTheHour(PreparationGate):
    """Adds five minutes to the minute, and starts at zero again without a new hour."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        now, minutes = self.now(), self.settings.lifetime(operation.name).total_seconds() / 60
        if minutes != 5:
            return super().issue(operation, draft)
        end = now.replace(minute=(now.minute + 5) % 60)
        token, payload = self.mint.issue(operation.name, draft.data, now, end - now)
        return token, instant(payload.expires_at)


@mutant(kills=EXPIRED, because="as configured[^§]*in 300 s[^§]*in 3[3-9][0-9] s")
@in_extension
class RoundsTheEndUp(Mint):
    """Lets every token end with a full minute, the next one."""

    def issue(
        self, action: str, data: Mapping[str, Any], now: datetime, lifetime: timedelta
    ) -> tuple[str, Payload]:
        end = math.ceil((now + lifetime).timestamp() / 60 + 0.5) * 60
        return super().issue(action, data, now, instant(end) - now)


@mutant(
    kills="prepare_confirm/token-format",
    because="between issued_at and expires_at[^§]*-[0-9.]+e[+]12 s",
)
@in_extension
class CarriesTheIssueInMilliseconds(Mint):
    """Writes the moment of issue in milliseconds, and the end in seconds."""

    def issue(self, *arguments: Any) -> tuple[str, Payload]:
        _, payload = super().issue(*arguments)
        text = replace(payload, issued_at=payload.issued_at * 1000).to_text()
        return f"{text}|{self.sign(text)}", payload

    def read(self, payload: str) -> Payload:
        found = super().read(payload)
        return replace(found, issued_at=found.issued_at / 1000)


@mutant(kills="prepare_confirm/token-format", because=r"as shown, [0-9T:+-]+\sexpires_at 20")
@in_extension
class ShowsTheMinuteOfTheEnd(PreparationGate):
    """Shows the end of a token cut to the minute."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, token: str, expires_at: datetime
    ) -> dict[str, Any]:
        shown = (expires_at + timedelta(seconds=59)).replace(second=0, microsecond=0)
        return super().preview(operation, draft, token, shown + timedelta(minutes=1))
