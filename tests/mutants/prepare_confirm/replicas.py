"""Servers that are right alone, and wrong beside another one over the same state."""

from __future__ import annotations

import threading
import time
from datetime import datetime
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant


@mutant(kills="prepare_confirm/concurrent", because="at each of two replicas[^§]*[2-8] successes")
@in_extension
class LocksThisProcessOnly(Renews):
    """Looks and then marks, under a lock of its own process."""

    def spend(self, payload: Payload) -> None:
        lock: threading.Lock = self.__dict__.setdefault("lock", threading.Lock())
        with lock:
            if self.store.is_spent(payload.nonce):
                raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
            time.sleep(0.2)
            self.store.spend(payload.nonce, self.now().max.replace(tzinfo=self.now().tzinfo))


@mutant(kills="prepare_confirm/one-time", because="and then at the first[^§]*success: True")
@in_extension
class KnowsItsOwnPreviews(Renews):
    """Keeps what became of its own tokens in memory, and asks the store about all others."""

    @property
    def own(self) -> dict[str, bool]:
        found: dict[str, bool] = self.__dict__.setdefault("_own", {})
        return found

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        self.own[self.mint.open(token).nonce] = False
        return token, expires_at

    def spend(self, payload: Payload) -> None:
        if self.own.get(payload.nonce) is False:
            self.own[payload.nonce] = True
            self.store.spend(payload.nonce, self.now().max.replace(tzinfo=self.now().tzinfo))
            return
        super().spend(payload)

    def clean_up(self) -> Any:
        """Later."""
