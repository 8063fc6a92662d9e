"""Servers that are careful with one pair, one flag or one way, and not with its twin."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    read_payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

ONE_TIME = "prepare_confirm/one-time"
EXPIRED = "prepare_confirm/expired"
ACTION = "prepare_confirm/action-bound"
PREVIEW = "prepare_confirm/preview"
PAIRS = "prepare_confirm/pairs"


def is_of_a_user(payload: Payload) -> bool:
    return "username" in payload.data


@mutant(
    kills=ONE_TIME,
    because=r"\(delete_user\) with the same token[^§]*username: john.doe[^§]*1 done",
)
@in_extension
class UserTokensServeOnAndOn(Renews):
    """Marks the tokens of projects as used, and not those of users."""

    def spend(self, payload: Payload) -> None:
        if not is_of_a_user(payload):
            super().spend(payload)


@mutant(
    kills=EXPIRED,
    because=r"\(delete_user\), [^§]*after the token expired[^§]*username: john.doe[^§]*1 done",
)
@in_extension
class UserTokensNeverExpire(PreparationGate):
    """Looks at the end of a token where it is about projects."""

    def check_unexpired(self, payload: Payload) -> None:
        if not is_of_a_user(payload):
            super().check_unexpired(payload)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="john.doe had changed since the preview[^§]*success: True[^§]*1 done",
)
@in_extension
class DeletesUsersThatHaveChanged(Renews):
    """Looks whether projects are as they were shown, and takes users as they are now."""

    def renewed(self, payload: Payload) -> Payload:
        return super().renewed(payload) if is_of_a_user(payload) else payload


@mutant(
    kills="prepare_confirm/nonce", because="prepare_delete_user 12 times[^§]*[^0-9]1 different ones"
)
@in_extension
class UserTokensHaveNoNonce(PreparationGate):
    """Has a nonce for lists of projects, and none for a single user."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        if "username" not in draft.data:
            return super().issue(operation, draft)
        lifetime = self.settings.lifetime(operation.name)
        mint = self.mint_class(None)
        mint.key, mint.nonce = self.mint.key, lambda: ""
        token, payload = mint.issue(operation.name, draft.data, self.now(), lifetime)
        return token, instant(payload.expires_at)


@mutant(
    kills=ACTION,
    because="with a token of prepare_delete_projects[^§]*action: closed[^§]*2 done",
)
@in_extension
class ClosingTakesAnyToken(PreparationGate):
    """Asks for the right action where it cannot be undone, and closes on any token of projects."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        if operation.verb != "close" or is_of_a_user(payload):
            super().check_action(operation, payload)


@mutant(kills=ACTION, because="after confirm_delete_user had refused it[^§]*already been used")
@in_extension
class FindsOutWhileItWorks(PreparationGate):
    """Tells projects' tokens apart, and finds out that one is about a user when it is used up."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        if is_of_a_user(payload) == (operation.thing == "user"):
            super().check_action(operation, payload)


@mutant(kills=PAIRS, because="prepare_delete_user with its safe arguments[^§]*warnings: The user")
@in_extension
class WarnsMildlyOfUsers(PreparationGate):
    """Says of projects that deleting them is final, and not of users."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        if "username" in draft.data:
            kept = [f"The user {draft.data['username']} will be deleted", *draft.warnings[2:]]
            draft = replace(draft, warnings=kept)
        return super().preview(operation, draft, *rest)


@mutant(kills=PREVIEW, because="prepare_delete_user twice[^§]*'enabled': False")
@in_extension
class DisablesUsersBeforehand(PreparationGate):
    """Locks a user's account when the deletion is prepared."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().prepare(operation, arguments, caller)
        user = self.store.user(str(arguments.get("username")))
        if user is not None:
            self.store._users.put([replace(user, enabled=False)])
        return answer


@mutant(
    kills=PREVIEW,
    because="next_step: a text that names the confirm tool[^§]*operation: delete, items",
)
@in_extension
class NamesTheFirstTool(PreparationGate):
    """Names the same confirm tool as the next step of every preview."""

    def preview(self, *arguments: Any) -> dict[str, Any]:
        step = "To proceed, call confirm_close_projects with the confirmation_token"
        return {**super().preview(*arguments), "next_step": step}


def is_forced(payload: Payload) -> bool:
    return payload.data.get("force") is True


@mutant(kills="prepare_confirm/one-time", because=r"forced\) with the same token[^§]*success: True")
@in_extension
class ForcedTokensServeOnAndOn(Renews):
    """Takes another way when something is forced, on which tokens are not marked as used."""

    def spend(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().spend(payload)


@mutant(kills="prepare_confirm/expired", because=r"forced\), a second after[^§]*success: True")
@in_extension
class ForcedTokensNeverExpire(PreparationGate):
    """Takes force for leave to overlook that a token has expired."""

    def check_unexpired(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().check_unexpired(payload)


@mutant(
    kills="prepare_confirm/signature",
    because=r"prepare_delete_user \(delete_user\)[^§]*success: True",
)
@in_extension
class UserTokensNeedNoSignature(Mint):
    """Verifies the signatures of tokens that are about projects."""

    def check_signature(self, payload: str, signature: str) -> None:
        try:
            claimed = read_payload(payload)
        except ValueError:
            claimed = None
        if claimed is None or not is_of_a_user(claimed):
            super().check_signature(payload, signature)


@mutant(kills="prepare_confirm/pairs", because=r"it cannot be undone[^§]*project\(s\), forced")
@in_extension
class ForcedWarnsOfNothing(PreparationGate):
    """Leaves the warnings out where somebody says force."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        if draft.data.get("force"):
            draft = replace(draft, warnings=[f"{len(draft.items)} project(s), forced"])
        return super().preview(operation, draft, *rest)


@mutant(
    kills="prepare_confirm/failed-execution",
    because="confirm_delete_user, and the back end[^§]*success: True",
)
@in_extension
class AlwaysDeletesUsersSuccessfully(PreparationGate):
    """Looks at what the back end says of projects, and takes a user for deleted."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if is_of_a_user(payload) and outcome.failure:
            name = payload.data["username"]
            return {"success": True, "action": "deleted", "message": f"Deleted the user {name}"}
        return told


@mutant(kills="prepare_confirm/expired", because="configured for 1 minutes[^§]*in 300 s")
@in_extension
class UserTokensHaveALifetimeOfTheirOwn(PreparationGate):
    """Overlooks for users what lifetime was configured."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        if "username" not in draft.data:
            return super().issue(operation, draft)
        five = timedelta(minutes=5)
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), five)
        return token, instant(payload.expires_at)


@mutant(
    kills="prepare_confirm/concurrent", because=r"forced\) 8 times at once[^§]*[2-8] of 8 succeeded"
)
@in_extension
class ForcedRunsWithoutTheLock(Renews):
    """Marks tokens in one step, except where something is forced."""

    working: ClassVar[threading.Lock] = threading.Lock()

    def execute(self, *arguments: Any) -> OperationOutcome:
        with self.working:  # the back end does one thing after the other, as most do
            return super().execute(*arguments)

    def spend(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().spend(payload)
            return
        if self.store.is_spent(payload.nonce):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        time.sleep(0.05)
        self.store.spend(payload.nonce, instant(payload.expires_at) + timedelta(hours=1))


@mutant(
    kills="prepare_confirm/confirm-appeared", because="something new had come[^§]*deleted_count: 3"
)
@in_extension
class DeletesWhatCameSince(Renews):
    """Closes what was listed, and deletes what is there."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["known"] = set(self.store.projects())
        return super().prepare(operation, arguments, caller)

    def renewed(self, payload: Payload) -> Payload:
        if payload.action == "delete_projects":
            new = [one for one in self.store.projects() if one not in self.__dict__["known"]]
            ids = [*payload.data["project_ids"], *new]
            payload = replace(payload, data={**payload.data, "project_ids": ids})
        return super().renewed(payload)


@mutant(kills="prepare_confirm/cleanup", because=r"token\(s\) held[^§]*[0-9]+ held")
@in_extension
class KeepsPreviewsOfUsers(PreparationGate):
    """Records every token that it issues for a user, and never removes one."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        if "username" in draft.data:
            nonce = self.mint.open(token).nonce
            self.store.spend(f"issued {nonce}", self.now() + timedelta(days=3650))
        return token, expires_at
