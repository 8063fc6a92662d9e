"""Tokens that live longer than they say, because something gives them their life again."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    in_extension,
)
from tests.mutants.registry import mutant

EXPIRY = "execution_tokens/expiry"


@mutant(kills="execution_tokens/nonce-replay", because=f"for time 3{TAKEN}")
@in_extension
class MovesTheNonceOn(NonceStore):
    """A replay takes the row of its nonce away with the transaction that found it there."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        if super().spend(nonce, expires_at, now):
            return True
        self._nonces.remove_all(lambda spent: spent.nonce == nonce.lower())
        return False


@mutant(kills=EXPIRY, because=f"an end an hour ago{TAKEN}")
@in_extension
class ActivityKeepsTokensAlive(TokenVerifier):
    """Lets no token expire within a minute of the last execution, whoever asked for that."""

    def check_expiry(self, token: Token, request: Request) -> None:
        last: datetime.datetime | None = self.__dict__.get("last")
        if last is None or self.now() >= last + datetime.timedelta(minutes=1):
            super().check_expiry(token, request)

    def verify(self, data: Any, request: Request) -> Token:
        found = super().verify(data, request)
        self.__dict__["last"] = self.now()
        return found


@mutant(kills=EXPIRY, because=f"after it expired, that was refused 1 s before it expired{TAKEN}")
@in_extension
class SeenTokensLiveOn(TokenVerifier):
    """Gives a token five minutes from each time that it sees it, as sessions have them."""

    def check_expiry(self, token: Token, request: Request) -> None:
        seen: dict[str, datetime.datetime] = self.__dict__.setdefault("seen", {})
        last = seen.get(token.signature)
        if last is None or self.now() >= last + datetime.timedelta(minutes=5):
            super().check_expiry(token, request)
        seen[token.signature] = self.now()


@mutant(
    kills="execution_tokens/arbiter-expiry",
    because=f"of the arbiter, 2 s after its end{TAKEN}",
)
class ASiblingRenewsAToken(ExecutionExtension):
    """Keeps the end of an approval by its content, so that a later one gives it to earlier ones."""

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        made = super().approve(arguments)
        ends: dict[str, str] = self.__dict__.setdefault("ends", {})
        ends[made[words.SCOPE][words.CONTENT_HASH]] = made[words.EXPIRES_AT]
        verifier, checked = self.operator.verifier, type(self.operator.verifier).check_expiry

        def check_expiry(token: Token, request: Request) -> None:
            end = max(token.expires_at, ends.get(token.content_hash, ""))
            checked(verifier, replace(token, expires_at=end), request)

        verifier.__dict__["check_expiry"] = check_expiry
        return made


@mutant(kills=EXPIRY, because=f"after it expired, that was refused 1 s before it expired{TAKEN}")
@in_extension
class RemembersWhatItVerified(TokenVerifier):
    """Keeps in a cache that a token was good, its expiry included."""

    def check_expiry(self, token: Token, request: Request) -> None:
        good: set[str] = self.__dict__.setdefault("good", set())
        if token.signature not in good:
            super().check_expiry(token, request)
            good.add(token.signature)
