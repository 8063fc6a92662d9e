"""How a broken part of the gate that asks gets into a server; no mutants of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.demonstration import TOOLS, OfferedTool
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.forms import QuestionForm
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.pages import ApprovalPages
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import Sealer
from pytest_mcp_approval.reference_server.elicitation.store import ElicitationStore

HANDSHAKE = "2025-11-25"
"""The revision in which a client is asked inside its call."""
RAN = "tool run"
"""What a finding says if it ran."""
_OF_THE_EXTENSION = {
    ElicitationGate: "gate_class",
    ApprovalPages: "pages_class",
    ElicitationStore: "store_class",
}


def in_extension(part: type) -> type[ElicitationExtension]:
    """The extension with this part, under the part's name and words."""
    members = {**_members(part), "__doc__": part.__doc__, "__module__": part.__module__}
    return type(part.__name__, (ElicitationExtension,), members)


def _members(part: type) -> dict[str, Any]:
    if issubclass(part, Sealer):
        return {"gate_class": type("Gate", (ElicitationGate,), {"sealer_class": part})}
    if issubclass(part, QuestionForm):
        return {"offered_tools": lambda _: tuple(_with_form(tool, part) for tool in TOOLS)}
    name = next(name for base, name in _OF_THE_EXTENSION.items() if issubclass(part, base))
    return {name: part}


def _with_form(tool: OfferedTool, form: type[QuestionForm]) -> OfferedTool:
    if tool.asks is None or tool.asks.form is None:
        return tool
    members = {one.name: getattr(tool.asks.form, one.name) for one in fields(QuestionForm)}
    return replace(tool, asks=replace(tool.asks, form=form(**members)))


def with_arguments(call: GatedCall, arguments: Mapping[str, Any]) -> GatedCall:
    """The same call, seen with other arguments; what runs stays what came."""
    return replace(call, arguments=arguments)
