"""Reference servers that do what the document leaves open, to see that nobody is failed for it."""

from __future__ import annotations

import secrets
from typing import Any

import jsonschema

from pytest_mcp_approval.families.sep2672.vocabulary import Reason, base64url_encode
from pytest_mcp_approval.reference_server.sep2672.demonstration import DEMONSTRATION_TOOLS, Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, EnrolmentRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.sep2672.settings import ApprovalSettings
from pytest_mcp_approval.reference_server.server.answers import tool_result
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having


class _KeepsNames(RelyingParty):
    def check_transports(self, given: Any) -> tuple[str, ...]:
        names = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        return super().check_transports(names)


def keeps_the_names_in_transports(**options: Any) -> ReferenceServer:
    """Keeps of a list of transports what is a name."""
    return having(_KeepsNames, options)


class _OneTool(Sep2672Extension):
    def offered_tools(self, settings: ApprovalSettings) -> tuple[Tool, ...]:
        return tuple(tool for tool in DEMONSTRATION_TOOLS if tool.name == "place_trade")


def has_one_gated_tool(**options: Any) -> ReferenceServer:
    """Lists one gated tool, of class cross-platform, and what shows the effects."""
    return having(_OneTool, {**options, "extensions": {}})


class _ChecksSchemasFirst(Sep2672Extension):
    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        schema = {**tool.entry["inputSchema"], "additionalProperties": False}
        if not jsonschema.Draft202012Validator(schema).is_valid(arguments):
            return tool_result({"error": "the arguments do not fit the schema"}, is_error=True)
        return super().call_tool(user, tool, arguments, meta)


def checks_schemas_first(**options: Any) -> ReferenceServer:
    """Checks arguments before the approval, and answers wrong ones with a result that is an
    error, as the official libraries do."""
    return having(_ChecksSchemasFirst, options)


class _TakesKnownMembersOnly(ApprovalGate):
    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        super().step_02_evidence_well_formed(attempt)
        further = set(attempt.evidence) - {"method", "challengeId", "response"}
        if further:
            raise ApprovalRefusal(Reason.MISSING_EVIDENCE, f"evidence: got {sorted(further)} too")


def takes_known_members_only(**options: Any) -> ReferenceServer:
    """Takes evidence with further members for malformed."""
    return having(_TakesKnownMembersOnly, options)


class _NamesNobody(ApprovalGate):
    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        user = {"id": base64url_encode(secrets.token_bytes(16)), "name": "u", "displayName": "u"}
        return {**options, "user": user}


class _LooksAtNoHandle(RelyingParty):
    def check_user_handle(self, inner: Any, key: Any) -> None:
        pass


class _KnowsOneUser(Sep2672Extension):
    gate_class = _NamesNobody
    relying_party_class = _LooksAtNoHandle


def knows_one_user(**options: Any) -> ReferenceServer:
    """Names every user alike, and gives out another handle at every begin."""
    return having(_KnowsOneUser, options)


for factory in (
    keeps_the_names_in_transports,
    has_one_gated_tool,
    checks_schemas_first,
    takes_known_members_only,
    knows_one_user,
):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
