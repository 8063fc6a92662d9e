"""Servers that close, or open, what a document leaves open: each the reference with one habit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from pytest_mcp_approval.reference_server.confirmation_tokens.extension import (
    ConfirmationExtension,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
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


class _CountsAlone(ConfirmationGate):
    """Keeps rate limits and quotas in its process, and tokens where all replicas find them."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        own, shared = TokenStore(), self.store
        counting = ("take", "left", "count_run", "clear_runs")
        names = [name for name in dir(TokenStore) if not name.startswith("_")]
        found = {name: getattr(own if name in counting else shared, name) for name in names}
        self.store = cast(TokenStore, SimpleNamespace(**found))


class _LimitsOfItsOwn(ConfirmationExtension):
    gate_class = _CountsAlone


def _served(part: type) -> Callable[..., ReferenceServer]:
    def make(**options: Any) -> ReferenceServer:
        return having(part, options)

    make.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
    return make


first_key_free = _served(_FirstKeyFree)
with_code = _served(_WithCode)
arbiter_elsewhere = _served(_ArbiterElsewhere)
anybodys_tokens = _served(_Anybodys)
limits_of_its_own = _served(_LimitsOfItsOwn)
