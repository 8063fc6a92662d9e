"""Servers that give a token, or the memory of one, its life again."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    read_payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

EXPIRED = "prepare_confirm/expired"


class _Touched(PreparationGate):
    """A token lives from the last time that something touched it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.touched: dict[str, datetime] = {}

    def key_of(self, payload: Payload) -> str:
        return payload.nonce

    def touch(self, key: str) -> None:
        self.touched[key] = self.now()

    def check_unexpired(self, payload: Payload) -> None:
        lifetime = instant(payload.expires_at) - instant(payload.issued_at)
        began = self.touched.get(self.key_of(payload), instant(payload.issued_at))
        if self.now() >= began + lifetime:
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")


@mutant(kills=EXPIRED, because="after a new prepare[^§]*[1-9] done")
@in_extension
class RenewsWithEachPreview(_Touched):
    """Keeps one deadline for each tool, and every new preview moves it for the earlier tokens."""

    def key_of(self, payload: Payload) -> str:
        return payload.action

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        self.touch(operation.name)
        return super().issue(operation, draft)


@mutant(kills=EXPIRED, because="an expired token, the second time[^§]*[1-9] done")
class ExpiresWhenNobodyCalls(PrepareConfirmExtension):
    """Counts the lifetime of all tokens from the last call of any tool."""

    class _Gate(_Touched):
        def key_of(self, payload: Payload) -> str:
            return "any"

    gate_class = _Gate

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        try:
            return super().call(name, arguments, caller)
        finally:
            assert isinstance(self.gate, _Touched)
            self.gate.touch("any")


@mutant(kills=EXPIRED, because="1 s after the token expired[^§]*2 done")
@in_extension
class RenewsWithEachConfirmation(_Touched):
    """Takes a confirmation for a sign of life, and gives all other tokens their life again."""

    def key_of(self, payload: Payload) -> str:
        latest = self.touched.get("latest")
        return "latest" if latest and latest > instant(payload.issued_at) else payload.nonce

    def spend(self, payload: Payload) -> None:
        super().spend(payload)
        self.touch("latest")


@mutant(kills="prepare_confirm/expired", because="tried at another tool[^§]*success: True")
@in_extension
class RenewsAtTheWrongTool(_Touched):
    """Gives a living token its whole life again when the wrong tool refuses it."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        try:
            super().check_action(operation, payload)
        except ConfirmationRefusal:
            self.check_unexpired(payload)
            self.touch(self.key_of(payload))
            raise


@mutant(kills="prepare_confirm/expired", because="a forgery of it was tried[^§]*success: True")
@in_extension
class RenewsWithEveryForgery(_Touched):
    """Notes an attempt on a token before it verifies the signature, and counts from there."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        try:
            return super().verify(operation, given)
        except ConfirmationRefusal as refusal:
            if refusal.reason is TwoStepReason.SIGNATURE:
                with contextlib.suppress(ValueError):
                    self.touch(read_payload(given.rpartition("|")[0]).nonce)
            raise


@mutant(kills="prepare_confirm/expired", because="the server was started anew[^§]*success: True")
@in_extension
class CountsFromTheStart(_Touched, Renews):
    """Counts the lifetime of tokens that are older than the process from its start."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.touch("start")

    def check_remembered(self, payload: Payload) -> None:
        """Takes tokens of earlier processes."""

    def key_of(self, payload: Payload) -> str:
        older = instant(payload.issued_at) < self.touched["start"]
        return "start" if older else payload.nonce
