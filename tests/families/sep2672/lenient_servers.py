"""Reference servers that do what the document leaves open, to see that nobody is failed for it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.sep2672.demonstration import DEMONSTRATION_TOOLS, Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.sep2672.settings import ApprovalSettings
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


for factory in (keeps_the_names_in_transports, has_one_gated_tool):
    factory.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
