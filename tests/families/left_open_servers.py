"""Servers that close, or open, what a document leaves open: each the reference with one habit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.sep2672.enrolment_policy import EnrolmentPolicy
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from pytest_mcp_approval.reference_server.server.extension import ExtensionParts
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having


class _FirstKeyFree(Sep2672Extension):
    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.gate.enrolment_policy = EnrolmentPolicy.FIRST_FREE


class _WithCode(GatewayExtension):
    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = replace(self.settings, person_code="a code of the person")


class _ArbiterElsewhere(ExecutionExtension):
    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        raise InvalidParamsError("approvals: not by this connection")


class _AnybodysGate(PreparationGate):
    def check_owner(self, given: Any, caller: str) -> None:
        """Anybody's."""


class _Anybodys(PrepareConfirmExtension):
    gate_class = _AnybodysGate


def _served(part: type) -> Callable[..., ReferenceServer]:
    def make(**options: Any) -> ReferenceServer:
        return having(part, options)

    make.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
    return make


first_key_free = _served(_FirstKeyFree)
with_code = _served(_WithCode)
arbiter_elsewhere = _served(_ArbiterElsewhere)
anybodys_tokens = _served(_Anybodys)
