"""Servers of which only one scenario notices what is wrong, and some with names of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.prepare_confirm import vocabulary as words
from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload, TwoStepReason
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import TwoStepOperation
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.server.answers import tool_listing
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

# ---- tokens that serve again


@mutant(kills="prepare_confirm/action-bound", because="with a used token of [^§]*[1-9] done")
@in_extension
class RemembersUsesForEachTool(Renews):
    """Each tool has a list of used tokens of its own, and asks for no more than a good token."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        payload = self.mint.open(self.check_given(operation, given))
        self.check_unexpired(payload)
        used: set[tuple[str, str]] = self.__dict__.setdefault("used", set())
        if (operation.name, payload.nonce) in used:
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        used.add((operation.name, payload.nonce))
        return payload


@mutant(kills="prepare_confirm/one-time", because="a token used hours ago[^§]*[1-9] done")
@in_extension
class ForgetsWhatNeverExpires(Renews):
    """Forgets used tokens when they should have expired, and never looks whether they have."""

    def check_unexpired(self, payload: Payload) -> None:
        pass


@mutant(
    kills="prepare_confirm/one-time", because="a used token, after a restart[^w][^§]*[1-9] done"
)
@in_extension
class HasTheSameKeyAtEveryStart(Renews):
    """Derives its key from the machine's name, and keeps used tokens in the process alone."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.mint = self.mint_class(self.settings.secret_key or "the name of this machine")
        self.used: set[str] = set()

    def check_remembered(self, payload: Payload) -> None:
        pass

    def spend(self, payload: Payload) -> None:
        if payload.nonce in self.used:
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        self.used.add(payload.nonce)


@mutant(kills="prepare_confirm/missing-token", because="without any arguments[^§]*[1-9] done")
class TakesNothingForYes(PrepareConfirmExtension):
    """Takes a call without arguments for a yes to the latest preview of its pair."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        latest: dict[str, str] = self.__dict__.setdefault("latest", {})
        if not arguments and name in latest:
            arguments = {words.TOKEN: latest.pop(name)}
        answer = super().call(name, arguments, caller)
        token = answer.get("structuredContent", {}).get(words.TOKEN)
        if isinstance(token, str):
            latest[name.replace(words.PREPARE, words.CONFIRM)] = token
        return answer


# ---- honest people who are not served


@mutant(kills="prepare_confirm/concurrent", because="as another pair's[^§]*is at work")
@in_extension
class ConfirmsOneAtATime(PreparationGate):
    """Holds a lock while it works, and sends whoever comes meanwhile away."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        busy: threading.Lock = self.__dict__.setdefault("busy", threading.Lock())
        if not busy.acquire(blocking=False):
            return self.refuse(ConfirmationRefusal(TwoStepReason.USED, "another one is at work"))
        try:
            time.sleep(0.2)  # so that the other one is there
            return super().confirm(operation, arguments, caller)
        finally:
            busy.release()


@mutant(kills="prepare_confirm/pairs", because="a preview as before[^§]*Nothing to confirm")
class ReopensInWordsOnly(PrepareConfirmExtension):
    """Says that it has opened projects again, and has not."""

    def reopen_projects(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": True, "reopened": list(arguments.get("project_ids", ()))}


# ---- what is left to a reading


@mutant(
    kills="prepare_confirm/pairs",
    because="no prepare_x for confirm_archive_projects",
    warned=True,
)
class HasASecondStepOnly(PrepareConfirmExtension):
    """Lists a tool that confirms what nobody can prepare."""

    def listings(self) -> list[dict[str, Any]]:
        alone = tool_listing("confirm_archive_projects", "Archive", "Archive projects.", {})
        return [*super().listings(), alone]

    def confirm_archive_projects(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"success": False, "message": "Confirmation failed: nothing was prepared"}


class _OwnNames(PrepareConfirmExtension):
    """Renames a member of its answers, and the suite's users say so in the table."""

    member, own, key = "", "", ""

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        renamed = {self.own if name == self.member else name: one for name, one in answer.items()}
        return super().result(renamed)

    def running_suite_settings(self) -> Mapping[str, Any]:
        return {**super().running_suite_settings(), self.key: self.own}


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="not called as in the document: text for message",
    warned=True,
)
class CallsTheMessageOtherwise(_OwnNames):
    """Has another name for the message of a confirmation."""

    member, own, key = words.MESSAGE, "text", "message"


@mutant(
    kills="prepare_confirm/preview",
    because="not called as in the document: things for items",
    warned=True,
)
class CallsTheItemsOtherwise(_OwnNames):
    """Has another name for the items of a preview."""

    member, own, key = words.ITEMS, "things", "items"
