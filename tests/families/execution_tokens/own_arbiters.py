"""Arbiters that decide themselves what the document leaves to them: for how long, and which hosts.

Each is the reference with one habit of other arbiters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from pytest_mcp_approval.families.execution_tokens.vocabulary import APPROVE_TOOL
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from pytest_mcp_approval.target.reference import ReferenceTarget
from tests.mutants.registry import having


class _OneLife(ExecutionExtension):
    """Lists no argument for the lifetime, and takes none."""

    def listings(self) -> list[dict[str, Any]]:
        listed = copy.deepcopy(super().listings())
        for tool in listed:
            if tool["name"] == APPROVE_TOOL:
                del tool["inputSchema"]["properties"]["ttl_seconds"]
        return listed

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if "ttl_seconds" in arguments:
            raise InvalidParamsError("ttl_seconds: there is no such argument")
        return super().approve(arguments)


class _Narrow(ExecutionExtension):
    """Approves for a minute at most, and never for what a policy of its own forbids."""

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        hosts = [one for one in arguments["allowed_hosts"] if not one.endswith("t.example")]
        ttl = min(60, arguments["ttl_seconds"])
        return super().approve({**arguments, "allowed_hosts": hosts, "ttl_seconds": ttl})


def _served(part: type) -> Callable[..., ReferenceServer]:
    def make(**options: Any) -> ReferenceServer:
        return having(part, options)

    make.mcp_approval_target = ReferenceTarget  # type: ignore[attr-defined]
    return make


one_life = _served(_OneLife)
narrow = _served(_Narrow)
