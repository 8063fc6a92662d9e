"""Servers that are careful with one pair, one flag or one way, and not with its twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    TwoStepOperation,
)
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
    because="confirm_delete_user with the same token[^§]*username: john.doe[^§]*1 done",
)
@in_extension
class UserTokensServeOnAndOn(Renews):
    """Marks the tokens of projects as used, and not those of users."""

    def spend(self, payload: Payload) -> None:
        if not is_of_a_user(payload):
            super().spend(payload)


@mutant(
    kills=EXPIRED,
    because="confirm_delete_user, [^§]*after the token expired[^§]*username: john.doe[^§]*1 done",
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
