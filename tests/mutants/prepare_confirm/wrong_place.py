"""Servers that read from another place than the token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm import vocabulary as words
from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

CONFIRM = "prepare_confirm/confirm-executes"
MISSING = "prepare_confirm/missing-token"


class _Follows(Renews):
    """Lets the call have a say in what is done."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        said = self.followed(payload, arguments)
        if said:
            payload = self.renewed(replace(payload, data={**payload.data, **said}))
        return PreparationGate.execute(self, operation, payload, arguments)


@mutant(kills=CONFIRM, because="beside it[^§]*force True, prepared was False")
@in_extension
class FollowsTheForceOfTheCall(_Follows):
    """Takes the force flag of the confirm call, if it has one."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {name: arguments[name] for name in ("force",) if name in arguments}


@mutant(kills=CONFIRM, because="beside it[^§]*the answer counts 3")
@in_extension
class AddsWhatTheCallNames(_Follows):
    """Does what the token names and what the call names besides."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        more, ids = arguments.get("project_ids"), payload.data.get("project_ids")
        if not isinstance(more, list) or ids is None:
            return {}
        return {"project_ids": list(dict.fromkeys([*ids, *more]))}


@mutant(kills=MISSING, because="without any arguments[^§]*2 done")
class TakesTheLatestForNone(PrepareConfirmExtension):
    """Fills in the token of the latest preview where a call has none, or an empty one."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        latest: dict[str, str] = self.__dict__.setdefault("latest", {})
        if name in latest and isinstance(arguments, Mapping) and not arguments.get(words.TOKEN):
            arguments = {**arguments, words.TOKEN: latest[name]}
        answer = super().call(name, arguments, caller)
        token = answer.get("structuredContent", {}).get(words.TOKEN)
        if isinstance(token, str):
            latest[name.replace(words.PREPARE, words.CONFIRM)] = token
        return answer
