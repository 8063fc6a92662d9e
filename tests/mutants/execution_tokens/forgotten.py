"""Logs of nonces that forget too soon."""

from __future__ import annotations

import datetime
from typing import Any

from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.server.extension import ExtensionParts
from tests.mutants.execution_tokens.parts import TAKEN
from tests.mutants.registry import mutant

RESTART = "execution_tokens/nonce-restart"


@mutant(kills=RESTART, because=f"after a restart{TAKEN}")
class WritesItsLogInBatches(ExecutionExtension):
    """Writes nonces down ten at a time, and loses those that are not written yet."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        durable, waiting = self.store, NonceStore()
        held: list[tuple[str, datetime.datetime, datetime.datetime]] = []

        class Buffered:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if not waiting.spend(nonce, expires_at, now):
                    return False
                if durable._nonces.get(nonce.lower()) is not None:
                    return False
                held.append((nonce, expires_at, now))
                if len(held) == 10:
                    for one in held:
                        durable.spend(*one)
                    held.clear()
                return True

        self.operator.verifier.nonces = Buffered()
