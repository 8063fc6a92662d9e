"""The extension that puts the gate behind MCP tools: one tool for each adapter, as in MCP-AQL.

A call is `{"operation": ..., "params": {...}}`, an answer `{"success": ..., ...}`, both as
structured content and as JSON text. Two adapters share the store, so that a token from one can be
tried at the other. The rules are in the gate.
"""

from __future__ import annotations

import datetime
import logging
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from ...families.confirmation_tokens import vocabulary as words
from ..server.answers import tool_listing, tool_result
from ..server.extension import Caller, Extension, ExtensionParts
from .demonstration import SUITE_SETTINGS, BackendError, demonstration_operations
from .gate import ConfirmationGate
from .records import AuditEntry, TokenRecord
from .refusals import TokenRefusal
from .settings import SettingsReader
from .store import TokenStore

logger = logging.getLogger(__name__)

ADAPTERS = {"mcp_aql": "reference", "mcp_aql_archive": "archive"}
"""Tools, and the adapter that each one is."""
AUDIT_TOOL, LOG_TOOL = "mcp_aql_audit", "mcp_aql_log"
STORE_TOOL, PLANT_TOOL = "mcp_aql_store", "mcp_aql_plant"
BAD_REQUEST = "BAD_REQUEST"
OPERATION_FAILED = "OPERATION_FAILED"
_MOST_ENTRIES = 2000

TRIGGERS = {
    "log_out": ("logout", "user"),
    "change_configuration": ("configuration change", "adapter_name"),
    "report_incident": ("security event", "user"),
}
"""Operations that revoke tokens by themselves (section 5.3): why, and whose."""


class ConfirmationExtension(Extension):
    family: ClassVar[str] = "confirmation_tokens"
    suite_settings: ClassVar[Mapping[str, Any]] = SUITE_SETTINGS
    gate_class: ClassVar[type[ConfirmationGate]] = ConfirmationGate
    store: TokenStore
    store_class: ClassVar[type[TokenStore]] = TokenStore
    reader_class: ClassVar[type[SettingsReader]] = SettingsReader

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = self.reader_class().read(parts.settings)
        self.store = parts.backing.keep(self.family, self.store_class)
        # An MCP session does not outlive its server, and stdio's always has the same name.
        self._life = secrets.token_hex(8)
        self.gates = {
            tool: self.gate_class(
                demonstration_operations(self.effects),
                store=self.store,
                clock=self.clock,
                settings=self.settings,
                adapter_name=adapter,
            )
            for tool, adapter in ADAPTERS.items()
        }

    def session_ended(self, session: str) -> None:
        next(iter(self.gates.values())).session_ended(self.session_key(session))

    def session_key(self, session: str) -> str:
        return f"{self._life}/{session}" if session else ""

    # ---- tools

    def listings(self) -> list[dict[str, Any]]:
        call = {"operation": {"type": "string"}, "params": {"type": "object"}}
        entries = [
            tool_listing(
                tool,
                f"The adapter {adapter}",
                f"Operations of the adapter {adapter!r}. Dangerous ones answer "
                "CONFIRMATION_REQUIRED with a token, and run when called again with it in "
                "params.confirmation_token.",
                call,
                ("operation",),
            )
            for tool, adapter in ADAPTERS.items()
        ]
        entries += [_look(AUDIT_TOOL, "Audit", "What became of your confirmation tokens")]
        entries += [_look(LOG_TOOL, "Log", "What the operator was warned about")]
        if self.settings.store_access:
            planted = "Puts a token without expiry into the store"
            entries += [_look(STORE_TOOL, "Store", "The tokens in the store")]
            entries += [tool_listing(PLANT_TOOL, "Plant a token", planted, call)]
        return entries

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        try:
            return _result(self.answer(name, arguments, caller))
        except TokenRefusal as refusal:
            return _result(refusal.to_answer())
        except BackendError:
            logger.info("an operation failed after its token was used")
            failed = TokenRefusal(OPERATION_FAILED, "The operation failed")
            return _result(failed.to_answer())

    def answer(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if name == AUDIT_TOOL:
            entries = self.store.entries(caller.user, _MOST_ENTRIES)
            return {"entries": [self.entry(entry) for entry in entries]}
        if name == LOG_TOOL:
            return {"lines": [f"WARNING {line}" for line in self.settings.warnings]}
        if name == STORE_TOOL:
            return {"tokens": [record.id for record in self.stored()]}
        operation, params = _request(arguments)
        if name == PLANT_TOOL:
            return {"token": self.plant(operation, params, caller)}
        return {"success": True, "data": self.perform(name, operation, params, caller)}

    def perform(
        self, tool: str, operation: str, params: Mapping[str, Any], caller: Caller
    ) -> dict[str, Any]:
        gate, session = self.gates[tool], self.session_key(caller.session)
        if operation == words.INTROSPECT:
            return self.introspect(gate, params, caller.user, session)
        if operation in TRIGGERS:
            why, whose = TRIGGERS[operation]
            names = {"user": caller.user, "adapter_name": gate.adapter_name}
            return {"revoked": self.trigger(gate, why, {whose: names[whose]})}
        return dict(gate.perform(operation, params, user=caller.user, session=session))

    def trigger(self, gate: ConfirmationGate, why: str, whose: dict[str, str]) -> int:
        return gate.revoke_all(why, **whose)

    def introspect(
        self, gate: ConfirmationGate, params: Mapping[str, Any], user: str, session: str
    ) -> dict[str, Any]:
        query, token = params.get("query"), params.get("token")
        if query == words.REVOKE_QUERY:
            return {"token": gate.revoke(token, user=user, session=session).id, "revoked": True}
        if query == words.STATUS_QUERY:
            return gate.status(token, user=user)
        raise TokenRefusal(
            BAD_REQUEST, f"query: expected {words.REVOKE_QUERY} or {words.STATUS_QUERY}"
        )

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        """One entry as section 6.4 writes it."""
        written: dict[str, Any] = {
            "timestamp": entry.timestamp.isoformat().replace("+00:00", "Z"),
            "event": entry.event,
            "token_id": entry.token_id,
            "operation": entry.operation,
            "adapter_name": entry.adapter_name,
            "outcome": entry.outcome,
            "client_context": {"user_id": entry.user_id},
        }
        if entry.failure_reason:
            written["failure_reason"] = entry.failure_reason
        if entry.session_id:
            written["client_context"]["session_id"] = entry.session_id
        return written

    # ---- for checks: what a store holds

    def stored(self) -> list[TokenRecord]:
        """As it is: whoever looks does not tidy up."""
        return self.store.records()

    def plant(self, operation: str, params: Mapping[str, Any], caller: Caller) -> str:
        """As a faulty migration might do: a complete record without an expiry."""
        gate = self.gates["mcp_aql"]
        found = gate.operations.get(operation)
        if found is None:
            raise TokenRefusal(BAD_REQUEST, "There is no such operation here")
        record = TokenRecord(
            id=words.CONFIRMATION_PREFIX + secrets.token_urlsafe(32),
            type=words.TokenType.CONFIRMATION,
            operation=operation,
            params_hash=gate.hash_of(found, params),
            adapter_name=gate.adapter_name,
            user=caller.user,
            issued_at=datetime.datetime.now(datetime.UTC),
            expires_at=None,
        )
        self.store.add(record)
        return record.id


def _request(arguments: Any) -> tuple[str, Mapping[str, Any]]:
    given = arguments if isinstance(arguments, Mapping) else {}
    operation, params = given.get("operation"), given.get("params", {})
    if not isinstance(operation, str) or not isinstance(params, Mapping):
        raise TokenRefusal(
            BAD_REQUEST, "arguments: expected operation as text and params as an object"
        )
    return operation, params


def _look(name: str, title: str, description: str) -> dict[str, Any]:
    return tool_listing(name, title, description, read_only=True)


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    return tool_result(answer, is_error=answer.get("success") is False)
