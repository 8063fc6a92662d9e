"""Tokens that live longer than they say, because something gives them their life again."""

from __future__ import annotations

import datetime

from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from tests.mutants.execution_tokens.parts import TAKEN, in_extension
from tests.mutants.registry import mutant


@mutant(kills="execution_tokens/nonce-replay", because=f"for time 3{TAKEN}")
@in_extension
class MovesTheNonceOn(NonceStore):
    """A replay takes the row of its nonce away with the transaction that found it there."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        if super().spend(nonce, expires_at, now):
            return True
        self._nonces.remove_all(lambda spent: spent.nonce == nonce.lower())
        return False
