"""What servers may do where the document leaves it open, and what they may not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.settings import (
    PreparationSettings,
    read_settings,
)
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.prepare_confirm.parts import in_extension
from tests.mutants.registry import having


class OneMutation(PreparationGate):
    """One request for all: without an answer it knows of nothing that was done, and says so."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if outcome.failure:
            told = {name: value for name, value in told.items() if name != "unknown"}
            told |= {"closed_count": 0, "project_ids": [], "message": "No answer: look first"}
        return told


class CountsAll(PreparationGate):
    """Counts what it asked for as done, though no answer came."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        return {**told, "closed_count": 2} if outcome.failure else told


class GivesBack(PreparationGate):
    """A token whose execution failed before anything was done is as good as before."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure and not outcome.done:
            self.store._spent.remove(payload.nonce)
            self.back_end = type(self.back_end).__mro__[-2](self.store, self.back_end.effects)
        return outcome


class ZeroIsAtOnce(PrepareConfirmExtension):
    """A lifetime of zero or less has ended when it begins."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        minutes = settings.get("expiry_minutes", 5)
        return read_settings({**settings, "expiry_minutes": minutes if minutes > 0 else 1e-9})


def _built(gate: type[Any], options: dict[str, Any]) -> ReferenceServer:
    extension = gate if issubclass(gate, PrepareConfirmExtension) else in_extension(gate)
    return having(extension, options)


def one_mutation(**options: Any) -> ReferenceServer:
    return _built(OneMutation, options)


def counts_all(**options: Any) -> ReferenceServer:
    return _built(CountsAll, options)


def gives_back(**options: Any) -> ReferenceServer:
    return _built(GivesBack, options)


def zero_is_at_once(**options: Any) -> ReferenceServer:
    return _built(ZeroIsAtOnce, options)


for factory in (one_mutation, counts_all, gives_back, zero_is_at_once):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
