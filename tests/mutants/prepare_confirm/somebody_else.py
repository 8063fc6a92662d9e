"""Servers that were made for one person, one client and one preview at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.memory import MemoryTable
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

CONCURRENT = "prepare_confirm/concurrent"
ONE_TIME = "prepare_confirm/one-time"


class AnybodysTokens(Renews):
    """Lets anybody confirm what somebody has prepared, which the document leaves open; no mutant by
    itself."""

    def check_owner(self, given: Any, caller: str) -> None:
        """Anybody's."""


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


@mutant(
    kills="prepare_confirm/nonce", because="the same tool by another client[^§]*has replaced it"
)
@in_extension
class TakesTheLatestTokenOfATool(_OnePending):
    """A new preview of a tool ends the tokens of all earlier ones, whoever asked for them."""

    def place_of(self, action: str) -> str:
        return action


@mutant(kills="prepare_confirm/nonce", because="other tools by the same client[^§]*has replaced it")
@in_extension
class TakesTheLatestTokenOfAll(_OnePending):
    """Any new preview ends the tokens of earlier ones, of other tools too."""

    def place_of(self, action: str) -> str:
        return "any"


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="later previews of the same tool[^§]*the answer counts 1",
)
@in_extension
class DoesWhatWasPreparedLast(PreparationGate):
    """Keeps what is to be done in one place for each tool, where a later preview overwrites it."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        self.__dict__.setdefault("drafts", {})[operation.name] = draft.data
        return super().issue(operation, draft)

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = self.__dict__.get("drafts", {}).get(operation.name, payload.data)
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(
    kills="prepare_confirm/expired", because="before an earlier preview expires[^§]*\n0 s after it"
)
@in_extension
class SharesOneEnd(PreparationGate):
    """All previews that are asked for while one lives share its end."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        lifetime = self.settings.lifetime(operation.name)
        end = self.__dict__.get("end", self.now())
        if not self.now() < end <= self.now() + lifetime:
            end = self.__dict__["end"] = self.now() + lifetime
        left = end - self.now()
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), left)
        return token, instant(payload.expires_at)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="the same tool by another client[^§]*changed since the preview",
)
@in_extension
class TouchesWhatItShows(PreparationGate):
    """Notes on each project when it was last shown, which makes earlier previews of it stale."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        ids = arguments.get("project_ids")
        if isinstance(ids, list):
            found = self.store.projects(one for one in ids if isinstance(one, str))
            self.store.put_projects(found.values())
        return super().prepare(operation, arguments, caller)


@mutant(kills=ONE_TIME, because="another user, at once[^§]*success: True[^§]*2 done")
class RemembersForEachUser(_RemembersPer):
    """Does not know whose a token is, and keeps used tokens for each user apart."""

    gate_class = AnybodysTokens

    def whose(self, caller: Caller) -> str:
        return caller.user


@mutant(kills="prepare_confirm/confirm-executes", because="by another client[^§]*wait a while")
class LocksTheOthersOut(PrepareConfirmExtension):
    """After a refused confirmation serves nobody but the one who was refused."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        who = (caller.user, caller.client)
        if name in self._pairs and self.__dict__.get("locked", who) != who:
            return self.result({"success": False, "message": "attempts failed: wait a while"})
        result = super().call(name, arguments, caller)
        if name.startswith("confirm_") and not result["structuredContent"]["success"]:
            self.__dict__["locked"] = who
        return result

    def reset(self) -> None:
        self.__dict__.pop("locked", None)
        super().reset()
