"""Servers whose instants are rounded, cut or compared in parts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

EXPIRED = "prepare_confirm/expired"


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


@mutant(kills=EXPIRED, because="1 s after the token expired in America/New_York[^§]*2 done")
@in_extension
class ComparesLocalTimeWithUtc(_Compares):
    """Compares the end in UTC with what its own clock shows in local time."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        local = now.astimezone(self.settings.time_zone).replace(tzinfo=None)
        return local >= end.replace(tzinfo=None)


@mutant(kills="prepare_confirm/expired", because=", a day after the token[^§]*success: True")
@in_extension
class LooksAtTheSecondsOfADifference(_Compares):
    """Takes the seconds of a difference and forgets its days: a token lives again the next day."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        issued = instant(payload.issued_at)
        return (now - issued).seconds >= (end - issued).seconds


@mutant(kills="prepare_confirm/expired", because=r"2\^32 ms after[^§]*success: True")
@in_extension
class CountsMillisecondsInThirtyTwoBits(_Compares):
    """Counts the age of a token in milliseconds, which begin anew after fifty days."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        issued = instant(payload.issued_at)
        age = (now - issued) // timedelta(milliseconds=1) % 2**32
        return age >= (end - issued) // timedelta(milliseconds=1)


@mutant(
    kills="prepare_confirm/expired",
    because="comes meanwhile[^§]*has expired; nothing done",
)
@in_extension
class EndsWithTheDay(_Compares):
    """Takes a token of another day for an old one, also shortly after midnight."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return now.date() != instant(payload.issued_at).date() or now >= end


@mutant(
    kills="prepare_confirm/expired",
    because="31 bits of seconds comes meanwhile[^§]*has expired; nothing done",
)
@in_extension
class KnowsNoTimeAfter2038(_Compares):
    """Has whole numbers of 32 bits for instants: after January 2038 every token has expired."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return now >= end or end.timestamp() >= 2**31
