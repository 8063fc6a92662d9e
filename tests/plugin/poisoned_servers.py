"""Servers of other families than SEP-2672 that one check poisons; targets by name, no tests."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import RedemptionAttempt
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having


class _ReadsWhatItRefused(ConfirmationGate):
    """Reads what it has refused at each new token, and cannot once that is not ASCII."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        self.__dict__.setdefault("refused", []).append(str(attempt.token))
        super().rejected(attempt, refusal)

    def require_confirmation(self, *given: Any) -> TokenRefusal:
        "".join(self.__dict__.get("refused", ())).encode("ascii")
        return super().require_confirmation(*given)


class _Confirmation(ConfirmationExtension):
    gate_class = _ReadsWhatItRefused


class _PrepareConfirm(PrepareConfirmExtension):
    """Keeps the arguments of each call, and sorts them: texts and other things have no order."""

    def call(self, name: str, arguments: Any, caller: Any) -> dict[str, Any]:
        token = arguments.get("confirmation_token") if isinstance(arguments, dict) else None
        kept = self.__dict__.setdefault("kept", [])
        if token is not None:
            kept.append(token)
        sorted(kept)
        return super().call(name, arguments, caller)


def confirmation_tokens(**options: Any) -> ReferenceServer:
    return having(_Confirmation, options)


def prepare_confirm(**options: Any) -> ReferenceServer:
    return having(_PrepareConfirm, options)


for factory in (confirmation_tokens, prepare_confirm):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
