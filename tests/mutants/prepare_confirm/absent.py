"""Servers that take what is not there for leave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant


@mutant(kills="prepare_confirm/signature", because="with an empty signature[^§]*[1-9] done")
@in_extension
class TakesAnEmptySignature(Mint):
    """Takes a token whose signature is empty for one that needs none."""

    def split(self, token: str) -> tuple[str, str]:
        payload, separator, signature = token.rpartition("|")
        return (payload, signature) if separator else super().split(token)

    def check_signature(self, payload: str, signature: str) -> None:
        if signature:
            super().check_signature(payload, signature)


@mutant(
    kills="prepare_confirm/token-format",
    because="between issued_at and expires_at[^§]*-[0-9.]+e[+]09 s",
)
@in_extension
class CarriesNoMomentOfIssue(Mint):
    """Writes a placeholder for the moment of issue."""

    def issue(self, *arguments: Any) -> tuple[str, Payload]:
        _, payload = super().issue(*arguments)
        text = Payload(**{**vars(payload), "issued_at": 4102444800.0}).to_text()
        return f"{text}|{self.sign(text)}", payload


@mutant(kills="prepare_confirm/token-format", because="payload: got no nonce")
@in_extension
class CarriesItsNonceInTheData(Mint):
    """Has the nonce among the data, and no member of that name."""

    def issue(self, *arguments: Any) -> tuple[str, Payload]:
        _, payload = super().issue(*arguments)
        members = vars(payload) | {"data": {**payload.data, "nonce": payload.nonce}}
        del members["nonce"]
        text = json.dumps(members, sort_keys=True, separators=(",", ":"))
        return f"{text}|{self.sign(text)}", payload

    def read(self, payload: str) -> Payload:
        members = json.loads(payload)
        return Payload(**members, nonce=members["data"]["nonce"])


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="without force[^§]*the effects show force True",
)
class ForcesUnlessToldNotTo(PrepareConfirmExtension):
    """Takes force for said where a call leaves it out."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if name.startswith("prepare_") and isinstance(arguments, Mapping):
            arguments = {"force": True, **arguments}
        return super().call(name, arguments, caller)


@mutant(
    kills="prepare_confirm/confirm-executes",
    because="an empty list for project_ids[^§]*[1-9][0-9]* done",
)
@in_extension
class AnEmptyListMeansAll(PreparationGate):
    """Leaves the condition out where the list of ids is empty, and so shows none and does all."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        if arguments.get("project_ids") == []:
            every = {"project_ids": list(self.store.projects()), "force": True}
            return {**super().prepare(operation, every, caller), "items": []}
        return super().prepare(operation, arguments, caller)
