"""Servers that read from another place than the token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm import vocabulary as words
from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
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


@mutant(kills="prepare_confirm/confirm-executes", because="something else done: [^§]*jane.roe")
@in_extension
class FollowsTheUserOfTheCall(_Follows):
    """Takes the username of the confirm call, if it has one."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        name = arguments.get("username")
        return {"username": name} if isinstance(name, str) and "username" in payload.data else {}


@mutant(
    kills="prepare_confirm/confirm-executes", because="beside it[^§]*the answer counts 1[^§]*proj-4"
)
@in_extension
class FollowsTheDataOfTheCall(_Follows):
    """Merges an argument called data into that of the token."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        data = arguments.get("data")
        if not isinstance(data, Mapping):
            return {}
        return {name: data[name] for name in data if name in payload.data}


@mutant(
    kills="prepare_confirm/action-bound", because="beside it[^§]*success: True, action: deleted"
)
@in_extension
class TakesTheActionOfTheCall(PreparationGate):
    """Compares the tool with the action that the call names, if it names one."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["named"] = arguments.get("action")
        return super().confirm(operation, arguments, caller)

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        action = self.__dict__["named"] or payload.action
        super().check_action(operation, replace(payload, action=str(action)))


@mutant(kills="prepare_confirm/missing-token", because="yes in [0-9]+ ways[^§]*success: True")
class TakesAWordForAToken(PrepareConfirmExtension):
    """Offers a flag beside the token, and takes whatever is true for it, with the arguments of
    prepare."""

    def listing(self, prefix: str, operation: TwoStepOperation) -> dict[str, Any]:
        listed = super().listing(prefix, operation)
        if prefix == words.CONFIRM:
            own = {words.TOKEN: {"type": "string"}, "confirmed": {"type": "boolean"}}
            schema = {"type": "object", "properties": {**own, **operation.properties}}
            listed = {**listed, "inputSchema": schema}
        return listed

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        prefix, operation = self._pairs.get(name, ("", None))
        given = arguments if isinstance(arguments, dict) else {}
        flags = [given[one] for one in given if operation and one not in operation.properties]
        if operation and prefix == words.CONFIRM and True in flags:
            token = self.gate.prepare(operation, arguments, caller.user).get(words.TOKEN)
            arguments = {**arguments, words.TOKEN: token}
        return super().call(name, arguments, caller)
