"""Servers that take a thing with a similar name along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

CONFIRM = "prepare_confirm/confirm-executes"


class _TakesAlong(PreparationGate):
    """Does it to everything whose id matches one that the token names."""

    def matches(self, named: str, one: str) -> bool:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        named = set(payload.data.get("project_ids", ()))
        if outcome.complete and len(named) <= 100:
            for one in self.store.projects().values():
                if one.project_id not in named and any(
                    self.matches(name, one.project_id) for name in named
                ):
                    told = {"project_id": one.project_id, "force": payload.data["force"]}
                    change = f"{operation.verb}_project"
                    self.back_end.change(change, one.project_id, one.version, told)
        return outcome


@mutant(kills=CONFIRM, because="the effects show [0-9]+ done: success: True")
@in_extension
class TakesWhatContainsIt(_TakesAlong):
    """Does it to every project whose id contains one that was shown."""

    def matches(self, named: str, one: str) -> bool:
        return named in one


@mutant(kills=CONFIRM, because="the effects show [1-9][0-9]+ done")
@in_extension
class GoesByNames(PreparationGate):
    """Does it to everything that is called as what was shown."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        found = self.store.projects(payload.data.get("project_ids", ()))
        called = {one.name for one in found.values()}
        outcome = super().execute(operation, payload, arguments)
        others = [one for one in self.store.projects().values() if one.name in called]
        for one in others if outcome.complete else ():
            if one.project_id not in found:
                told = {"project_id": one.project_id, "force": payload.data["force"]}
                change = f"{operation.verb}_project"
                self.back_end.change(change, one.project_id, one.version, told)
        return outcome


@mutant(kills=CONFIRM, because="was done meanwhile[^§]*project_ids: ..proj-2., .proj-3.[^§]*2 done")
@in_extension
class GoesByPosition(PreparationGate):
    """Remembers the places in the list of all projects, and does what stands there later."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().prepare(operation, arguments, caller)
        if "confirmation_token" in answer:
            lists: dict[str, list[str]] = self.__dict__.setdefault("lists", {})
            nonce = self.mint.open(answer["confirmation_token"]).nonce
            lists[nonce] = sorted(self.store.projects())
        return answer

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        before = self.__dict__.get("lists", {}).get(payload.nonce)
        if before is not None and "project_ids" in payload.data:
            now = sorted(self.store.projects())
            ids, versions = list(payload.data["project_ids"]), list(payload.data["versions"])
            for place, one in enumerate(ids):
                stands_there = now[min(before.index(one), len(now) - 1)]
                if stands_there != one:
                    ids[place] = stands_there
                    versions[place] = self.store.projects([stands_there])[stands_there].version
            data = {**payload.data, "project_ids": ids, "versions": versions}
            payload = replace(payload, data=data)
        return super().execute(operation, payload, arguments)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the effects show [0-9]+ done: success: True",
)
@in_extension
class TakesWhatBeginsAlike(_TakesAlong):
    """Does it to every project whose id begins with one that was shown."""

    def matches(self, named: str, one: str) -> bool:
        return one.startswith(named)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the effects show [0-9]+ done: success: True",
)
@in_extension
class ComparesIdsWithLike(_TakesAlong):
    """Finds projects with LIKE, to which a percent sign and an underscore mean anything."""

    def matches(self, named: str, one: str) -> bool:
        pattern = re.escape(named).replace("%", ".*").replace("_", ".")
        return re.fullmatch(pattern, one, re.DOTALL) is not None


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the effects show [0-9]+ done: success: True",
)
@in_extension
class TakesIdsInAnyCase(_TakesAlong):
    """Finds projects in a column that does not tell upper and lower case apart."""

    def matches(self, named: str, one: str) -> bool:
        return named.casefold() == one.casefold()


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="prepared with[^§]*the effects show [0-9]+ done: success: True",
)
@in_extension
class TakesIdsWithBlanksBehind(_TakesAlong):
    """Finds projects in a column that is padded with blanks."""

    def matches(self, named: str, one: str) -> bool:
        return named.rstrip(" ") == one.rstrip(" ")


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="confirm_delete_user[^§]*the effects show 3 done",
)
@in_extension
class DeletesByAddress(PreparationGate):
    """Deletes every user who has the address of the one that was shown."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        shown = self.store.user(payload.data.get("username", ""))
        outcome = super().execute(operation, payload, arguments)
        if shown is not None and outcome.complete:
            for one in self.store._users.find({"email": shown.email}):
                told = {"username": one.username}
                self.back_end.change("delete_user", one.username, one.version, told)
        return outcome
