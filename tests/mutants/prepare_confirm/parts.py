"""How a broken gate of the two-step tools gets into a server; no mutants of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint


def in_extension(part: type) -> type[PrepareConfirmExtension]:
    """The extension with this gate, or a gate with this mint; under the part's name and words."""
    gate = part
    if issubclass(part, Mint):
        gate = type("Gate", (PreparationGate,), {"mint_class": part})
    members = {"gate_class": gate, "__doc__": part.__doc__, "__module__": part.__module__}
    return type(part.__name__, (PrepareConfirmExtension,), members)


class Renews(PreparationGate):
    """Goes by ids alone, as most servers do: then nothing but the token stands against a replay."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        self.back_end.before()
        with self.store.together():
            return operation.execute(self.renewed(payload).data, self.store, self.back_end)

    def renewed(self, payload: Payload) -> Payload:
        """With the versions of this moment."""
        if "project_ids" not in payload.data:
            user = self.store.user(payload.data["username"])
            version = user.version if user else 0
            return replace(payload, data={**payload.data, "version": version})
        ids = payload.data["project_ids"]
        found = self.store.projects(ids)
        versions = [found[one].version if one in found else 0 for one in ids]
        return replace(payload, data={**payload.data, "versions": versions})
