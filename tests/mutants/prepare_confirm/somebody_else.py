"""Servers that were made for one person, one client and one preview at a time."""

from __future__ import annotations

import os
import threading
from datetime import datetime
from typing import Any, ClassVar

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.tables import MemoryTable
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

CONCURRENT = "prepare_confirm/concurrent"
ONE_TIME = "prepare_confirm/one-time"


@mutant(kills=ONE_TIME, because="from another session[^§]*2 done")
class RemembersForEachClient(PrepareConfirmExtension):
    """Keeps used tokens for each client apart, by the name that it gives itself."""

    gate_class = Renews

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        tables: dict[str, Any] = self.__dict__.setdefault("tables", {})
        own = tables.setdefault(caller.client, MemoryTable(self.store._spent.shape))
        self.store._spent = own
        return super().call(name, arguments, caller)


@mutant(
    kills=CONCURRENT,
    because="8 times at once with one token[^§]*2 of 8 succeeded",
    protocol="2025-11-25",
)
class LocksEachSessionAlone(PrepareConfirmExtension):
    """Looks and then marks, under a lock that every session has for itself."""

    class _Gate(Renews):
        looking: ClassVar[threading.Barrier] = threading.Barrier(2)
        working: ClassVar[threading.Lock] = threading.Lock()

        def spend(self, payload: Payload) -> None:
            if self.store.is_spent(payload.nonce):
                raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
            try:
                self.looking.wait(0.15)  # until another session has looked too, if there is one
            except threading.BrokenBarrierError:
                self.looking.reset()
            self.store.spend(payload.nonce, instant(payload.expires_at))

        def execute(self, *arguments: Any) -> OperationOutcome:
            with self.working:  # the back end does one thing after the other, as most do
                return super().execute(*arguments)

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


class _OnePending(PreparationGate):
    """Keeps one preview in mind, and takes no token but its."""

    def place_of(self, action: str) -> str:
        raise NotImplementedError

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        pending: dict[str, str] = self.__dict__.setdefault("pending", {})
        pending[self.place_of(operation.name)] = self.mint.open(token).nonce
        return token, expires_at

    def spend(self, payload: Payload) -> None:
        super().spend(payload)
        place = self.place_of(payload.action)
        if self.__dict__.get("pending", {}).get(place, payload.nonce) != payload.nonce:
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "a newer preview has replaced it")


@mutant(kills=CONCURRENT, because="at the same moment[^§]*a newer preview has replaced it")
@in_extension
class TakesTheLatestTokenOfAll(_OnePending):
    """Any new preview ends the tokens of earlier ones, of other tools too."""

    def place_of(self, action: str) -> str:
        return "any"
