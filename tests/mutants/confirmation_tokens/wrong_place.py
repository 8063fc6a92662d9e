"""Servers that take from a call what it is not for a caller to say."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import (
    ConfirmationExtension,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.confirmation_tokens.parts import broken

_BESIDE = "(beside params)"


@broken(kills="3.2-bound-parameters", because=r"delete_repo, its token, and[^§]*result")
class MergesTheArguments(ConfirmationExtension):
    """Binds what is in params, and runs the operation with what stands beside params as well."""

    class gate_class(ConfirmationGate):  # noqa: N801  # the name of the extension's member
        def execute(
            self, operation: AdapterOperation, params: Mapping[str, Any]
        ) -> Mapping[str, Any]:
            merged = {name: one for name, one in params.items() if name != _BESIDE}
            return super().execute(operation, merged | params.get(_BESIDE, {}))

    def answer(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if isinstance(arguments, dict) and isinstance(arguments.get("params"), dict):
            own = ("operation", "params")
            beside = {key: one for key, one in arguments.items() if key not in own}
            arguments = {**arguments, "params": {**arguments["params"], _BESIDE: beside}}
        return super().answer(name, arguments, caller)


@broken(kills="1.3-flow", because=r"get_repo with parameters that name delete_rep[^§]*result")
class OperationFromParams(ConfirmationGate):
    """Gates the operation that the call names, and runs the one that its params name."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        named = params.get("operation")
        known = self.operations.get(named) if isinstance(named, str) else None
        return super().execute(known or operation, params)


@broken(kills="1.3-flow", because=r"delete_repo without a token, with a member[^§]*success")
class TheCallerNamesTheLevel(ConfirmationGate):
    """Reads the danger level in the params, if they have one."""

    def confirm(self, call: OperationCall) -> None:
        try:
            level = words.Danger.read(call.params.get("danger_level"))
        except ValueError:
            level = call.operation.danger
        if level >= words.GATED_FROM:
            super().confirm(call)


@broken(kills="1.3-flow", because=r"delete_repo with[^§]*success")
class ForceNeedsNoConfirmation(ConfirmationGate):
    """Takes force for a confirmation, as command lines do."""

    def confirm(self, call: OperationCall) -> None:
        if call.params.get("force") is not True or words.CONFIRMATION_MEMBER in call.params:
            super().confirm(call)


def instant_in(params: Mapping[str, Any], name: str) -> datetime.datetime | None:
    try:
        read = datetime.datetime.fromisoformat(params[name])
    except (KeyError, TypeError, ValueError):
        return None
    return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)


@broken(kills="4.1-not-expired", because=r"a token[^§]*success, operation run")
class ExpiryFromTheCall(ConfirmationGate):
    """Lets the client send back all that it was told, and believes the expiry in it."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        told = instant_in(attempt.params, "expires_at")
        super().check_not_expired(replace(record, expires_at=told or record.expires_at), attempt)


@broken(kills="4.1-not-expired", because=r"a token[^§]*success, operation run")
class TheCallersTime(ConfirmationGate):
    """Takes the timestamp of the request for the time at which it came."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        now = instant_in(attempt.params, "timestamp") or self.clock.now()
        if record.expires_at is not None and now > self.last_instant(record.expires_at):
            super().check_not_expired(record, attempt)


@broken(
    kills="4.1-every-check",
    because=r"a token of another adapter, with claims to th[^§]*success, operation run",
)
class AdapterFromTheCall(ConfirmationGate):
    """Reads the adapter's name in the params, if they have one."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if attempt.params.get("adapter_name", self.adapter_name) != record.adapter_name:
            raise self.mismatch(attempt)


@broken(
    kills="5.4-default-uses",
    because=r"delete_branch in a session, asked for with mo[^§]*success, operation run",
)
class MaximumFromTheCall(ConfirmationGate):
    """Lets the call say how often its token may be used."""

    def issue(self, kind: words.TokenType, call: OperationCall) -> TokenRecord:
        record, wanted = super().issue(kind, call), call.params.get("max_uses")
        if record.session_scoped and isinstance(wanted, int):
            self.store._tokens.change(record.id, max_uses=wanted)
        return record


@broken(
    kills="4.1-codes", because="that nobody has issued[^§]*TOKEN_EXPIRED, operation|another code"
)
class ReadsTheReasonInItsMessage(ConfirmationGate):
    """Finds the code by looking for words in a message of its own, which has the token in it."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        try:
            super().check_exists(record, attempt)
        except TokenRefusal as refusal:
            message = f"no such token: {attempt.token}".lower()
            for word, code in {
                "expired": TokenCode.EXPIRED,
                "used": TokenCode.ALREADY_USED,
                "mismatch": TokenCode.SCOPE_MISMATCH,
            }.items():
                if word in message:
                    raise TokenRefusal(code, refusal.message) from refusal
            raise
