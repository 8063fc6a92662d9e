"""Servers that were made for one person, one client and one preview at a time."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.tables import MemoryTable
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

ONE_TIME = "prepare_confirm/one-time"
NONCE = "prepare_confirm/nonce"


class _RemembersPer(PrepareConfirmExtension):
    """Keeps the used tokens of each apart."""

    gate_class = Renews

    def whose(self, caller: Caller) -> str:
        raise NotImplementedError

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        tables: dict[str, Any] = self.__dict__.setdefault("tables", {})
        own = tables.setdefault(self.whose(caller), MemoryTable(self.store._spent.shape))
        self.store._spent = own
        return super().call(name, arguments, caller)


@mutant(kills=ONE_TIME, because="from another session[^§]*2 done")
class RemembersForEachClient(_RemembersPer):
    """Keeps used tokens for each client apart, by the name that it gives itself."""

    def whose(self, caller: Caller) -> str:
        return caller.client


@mutant(
    kills="prepare_confirm/concurrent",
    because="8 times at once with one token[^§]*2 of 8 succeeded",
    protocol="2025-11-25",
)
class LocksEachSessionAlone(PrepareConfirmExtension):
    """Looks and then marks, under a lock that every session has for itself."""

    class _Gate(Renews):
        def spend(self, payload: Payload) -> None:
            if self.store.is_spent(payload.nonce):
                raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
            time.sleep(0.02)
            self.store.spend(payload.nonce, instant(payload.expires_at))

    gate_class = _Gate

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        locks: dict[str, threading.Lock] = self.__dict__.setdefault("locks", {})
        with locks.setdefault(caller.session, threading.Lock()):
            return super().call(name, arguments, caller)


@mutant(kills=ONE_TIME, because="after other previews and confirmations[^§]*2 done")
@in_extension
class RemembersTheLastOfEachTool(Renews):
    """Remembers for each tool the token that was used last: the next one drives it out."""

    def spend(self, payload: Payload) -> None:
        last: dict[str, str] = self.__dict__.setdefault("last", {})
        if last.get(payload.action) == payload.nonce:
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        last[payload.action] = payload.nonce


@mutant(kills="prepare_confirm/secret-key", because="neither has a key[^§]*success: True")
@in_extension
class HasTheKeyOfItsProcess(PreparationGate):
    """Makes its key up from the number of its process, which all services in it share."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.mint = self.mint_class(self.settings.secret_key or f"process number {os.getpid()}")
