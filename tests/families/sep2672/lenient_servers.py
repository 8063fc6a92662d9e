"""Reference servers that do what the document leaves open, to see that nobody is failed for it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.reference_server.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.server import ReferenceServer, build
from pytest_mcp_approval.reference_server.tools import DEMONSTRATION_TOOLS


class _KeepsNames(RelyingParty):
    def check_transports(self, given: Any) -> tuple[str, ...]:
        names = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        return super().check_transports(names)


def keeps_the_names_in_transports(**options: Any) -> ReferenceServer:
    """Keeps of a list of transports what is a name."""
    return build(relying_party=_KeepsNames(), **options)


def has_one_gated_tool(**options: Any) -> ReferenceServer:
    """Lists one gated tool, of class cross-platform, and what shows the effects."""
    wanted = ("place_trade", "list_effects")
    tools = [tool for tool in DEMONSTRATION_TOOLS if tool.name in wanted]
    return build(**{**options, "tools": tools, "wings": {}})


for factory in (keeps_the_names_in_transports, has_one_gated_tool):
    factory.mcp_approval_reference = True  # type: ignore[attr-defined]
