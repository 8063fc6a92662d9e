"""Verifiers that are not exact about time."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens.vocabulary import EXPIRES_AT, ExecutionReason
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    in_extension,
)
from tests.mutants.registry import mutant

EXPIRY = "execution_tokens/expiry"


class _Reads(TokenVerifier):
    """Reads an expiry that is written in another way."""

    pattern = ""

    def meant(self, found: re.Match[str]) -> str:
        raise NotImplementedError

    def read(self, data: Any) -> Token:
        given = data.get(EXPIRES_AT) if isinstance(data, dict) else None
        found = re.fullmatch(self.pattern, given) if isinstance(given, str) else None
        if found is None:
            return super().read(data)
        token = super().read({**data, EXPIRES_AT: self.meant(found)})
        return replace(token, expires_at=found[0])

    def _plain(self, token: Token) -> Token:
        found = re.fullmatch(self.pattern, token.expires_at)
        return token if found is None else replace(token, expires_at=self.meant(found))

    def check_expiry(self, token: Token, request: Request) -> None:
        super().check_expiry(self._plain(token), request)

    def spend_nonce(self, token: Token, request: Request) -> None:
        super().spend_nonce(self._plain(token), request)


@mutant(kills=EXPIRY, because=rf"an end an hour ago, written with \+02:00{TAKEN}")
@in_extension
class IgnoresTheOffset(_Reads):
    """Takes the time of every zone for UTC."""

    pattern = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?[+-]\d\d:\d\d"

    def meant(self, found: re.Match[str]) -> str:
        return f"{found[1]}Z"


@mutant(kills=EXPIRY, because=f"a day only{TAKEN}")
@in_extension
class ReadsADay(_Reads):
    """Takes a date without a time for the end of that day."""

    pattern = r"(\d{4}-\d\d-\d\d)"

    def meant(self, found: re.Match[str]) -> str:
        return f"{found[1]}T23:59:59Z"


@mutant(kills=EXPIRY, because=rf"an end an hour ago, written with \+02:00{TAKEN}")
@in_extension
class ReadsTheBeginning(_Reads):
    """Reads the beginning of the expiry, and not what stands after it."""

    pattern = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?!\.|Z$|\+00:00$)(.+)"

    def meant(self, found: re.Match[str]) -> str:
        return f"{found[1]}Z"


@mutant(kills=EXPIRY, because=f"1 s after it expired{TAKEN}")
@in_extension
class GivesAMinuteOfGrace(TokenVerifier):
    """Allows for clocks that differ by a minute."""

    def check_expiry(self, token: Token, request: Request) -> None:
        later = (token.expiry() + datetime.timedelta(minutes=1)).isoformat()
        super().check_expiry(replace(token, expires_at=later), request)


@mutant(kills=EXPIRY, because=f"1 s after it expired{TAKEN}")
@in_extension
class AsksForTheSecondsLeft(TokenVerifier):
    """Asks a span for its seconds, which in Python are never below zero."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if (token.expiry() - self.now()).seconds <= 0:
            super().check_expiry(token, request)


@mutant(kills=EXPIRY, because=f"1 s after it expired{TAKEN}")
@in_extension
class CountsDaysOnly(TokenVerifier):
    """Asks how many days ago a token has expired, and less than one is none."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if (self.now() - token.expiry()).days > 0:
            super().check_expiry(token, request)


@mutant(kills=EXPIRY, because=f"an end a minute ago, with nine digits of a fraction{TAKEN}")
@in_extension
class ReadsTheFractionAsANumber(TokenVerifier):
    """Takes the digits of the fraction for a number of microseconds, however many they are."""

    def check_expiry(self, token: Token, request: Request) -> None:
        whole, point, rest = token.expires_at.partition(".")
        micros = int("0" + re.sub(r"\D.*", "", rest)) if point else 0
        end = datetime.datetime.fromisoformat(f"{whole[:19]}+00:00")
        end += datetime.timedelta(microseconds=micros)
        super().check_expiry(replace(token, expires_at=end.isoformat()), request)


@mutant(kills=EXPIRY, because=rf"an end ten minutes ago, written with \+05:30{TAKEN}")
@in_extension
class ReadsTheHoursOfAnOffset(_Reads):
    """Reads the hours of an offset, and not its minutes."""

    pattern = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d\d):(?!00)\d\d"

    def meant(self, found: re.Match[str]) -> str:
        end = datetime.datetime.fromisoformat(f"{found[1]}{found[2]}:00")
        return end.astimezone(datetime.UTC).isoformat()


@mutant(kills=EXPIRY, because=f"a date that there is not{TAKEN}")
@in_extension
class CarriesDatesOver(_Reads):
    """Takes the thirtieth of February for the second of March, as many calendars do."""

    pattern = r"(\d{4})-(0[1-9]|1[0-2])-(29|3[01])(T.*)"

    def meant(self, found: re.Match[str]) -> str:
        first = datetime.date(int(found[1]), int(found[2]), 1)
        return f"{first + datetime.timedelta(days=int(found[3]) - 1)}{found[4]}"


@mutant(kills=EXPIRY, because="before a leap day[^§]*accepted[^§]*malformed")
@in_extension
class KnowsNoLeapDays(TokenVerifier):
    """Has a table of the months in which February has 28 days."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if "-02-29T" in token.expires_at:
            raise ExecutionRefusal(ExecutionReason.MALFORMED, "expires_at: no such day")
        super().check_expiry(token, request)


@mutant(
    kills=EXPIRY,
    because="before the end of 31 bits of seconds[^§]*accepted[^§]*expired",
)
@in_extension
class CountsIn32Bits(TokenVerifier):
    """Counts seconds in 32 bits, which end in January 2038."""

    def check_expiry(self, token: Token, request: Request) -> None:
        seconds = (int(token.expiry().timestamp()) + 2**31) % 2**32 - 2**31
        end = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        end += datetime.timedelta(seconds=seconds)
        super().check_expiry(replace(token, expires_at=end.isoformat()), request)


class _OnAWall(TokenVerifier):
    """Compares what a clock on a wall shows now with what it shows at the end."""

    zone = zoneinfo.ZoneInfo("UTC")

    def check_expiry(self, token: Token, request: Request) -> None:
        now, end = (one.astimezone(self.zone) for one in (self.now(), token.expiry()))
        if now.replace(tzinfo=None) >= end.replace(tzinfo=None):
            raise ExecutionRefusal(ExecutionReason.EXPIRED, "it has expired")


@mutant(kills=EXPIRY, because=f"after the end of summer time in New York{TAKEN}")
@in_extension
class LooksAtTheWallInNewYork(_OnAWall):
    """Turns both times into those of New York, where one hour comes twice in autumn."""

    zone = zoneinfo.ZoneInfo("America/New_York")


@mutant(kills=EXPIRY, because=f"after the end of summer time in Berlin{TAKEN}")
@in_extension
class LooksAtTheWallInVienna(_OnAWall):
    """Turns both times into those of Vienna, where one hour comes twice in autumn."""

    zone = zoneinfo.ZoneInfo("Europe/Vienna")
