"""Verifiers that are not exact about time."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens.vocabulary import EXPIRES_AT
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import TAKEN, in_extension
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
