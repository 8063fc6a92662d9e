"""Servers that turn what they are given into something else, and go on with that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import mutant

MISSING = "prepare_confirm/missing-token"
CONFIRM = "prepare_confirm/confirm-executes"


@mutant(kills=MISSING, because="beyond ASCII for a token[^§]*-32603")
@in_extension
class FailsOnOtherLetters(Mint):
    """Compares signatures as text, which raises an error for letters beyond ASCII."""

    def check_signature(self, payload: str, signature: str) -> None:
        signature.encode("ascii")
        super().check_signature(payload, signature)


class _OtherIds(PreparationGate):
    """Carries out the change on other ids than the token names."""

    def other(self, one: str) -> str:
        raise NotImplementedError

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            ids = [self.other(one) for one in data["project_ids"]]
            found = self.store.projects(set(ids) - set(data["project_ids"]))
            seen = zip(ids, data["versions"], strict=True)
            versions = [found[one].version if one in found else old for one, old in seen]
            data |= {"project_ids": ids, "versions": versions}
        return super().execute(operation, replace(payload, data=data), arguments)


@mutant(kills=CONFIRM, because="%00[^§]*gone since the preview")
@in_extension
class ReadsIdsAsTheyAreInPaths(_OtherIds):
    """Resolves percent signs in an id, as if it came from an address."""

    def other(self, one: str) -> str:
        return unquote(one)


@mutant(kills=CONFIRM, because="null[^§]*'project_id': ''[^§]*gone since the preview")
@in_extension
class TakesNullForNothing(_OtherIds):
    """Takes an id that is a word for nothing to be none."""

    def other(self, one: str) -> str:
        return "" if one in {"null", "none", "None", "undefined", "nil"} else one
