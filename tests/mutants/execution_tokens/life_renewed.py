"""Tokens that live longer than they say, because something gives them their life again."""

from __future__ import annotations

import datetime
from typing import Any

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
