"""The binding: how one gateway is called and understood, by the user's table.

For what a table cannot say there is a hook, `hook = "module:Class"`: a subclass of
`GatewayBinding` that replaces one or more of its methods.

    class Ours(GatewayBinding):
        def call_params(self, tool, arguments):      # the params of tools/call
            ...

Knows requests and answers; no rule and no verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...config.user_code import hook_class
from ...wire import Reply
from ..base.outcome import object_in
from ..base.paths import value_at
from .outcome import GatewayOutcome
from .settings import GatewayConsentTable, SafeTool
from .vocabulary import FAMILY

Calls = Callable[[dict[str, Any]], Reply]
"""Sends a tools/call with these params."""


class GatewayBinding:
    """How one gateway is spoken to."""

    def __init__(self, table: GatewayConsentTable) -> None:
        self.table = table

    def call_params(self, tool: SafeTool, arguments: Any) -> dict[str, Any]:
        """The params of the tools/call that calls this tool of an app."""
        return self.table.call.params(tool.name, tool.app, tool.tool, arguments)

    def read(
        self,
        caller: str,
        tool: SafeTool,
        arguments: Any,
        reply: Reply,
        runs: int | None,
        probed: bool,
    ) -> GatewayOutcome:
        """What came, as the suite understands it."""
        return GatewayOutcome.read(
            caller, tool.name, arguments, reply, runs, probed, self.table.wording
        )

    def described(
        self, tool: SafeTool, listing: Mapping[str, Mapping[str, Any]], call: Calls
    ) -> tuple[str, Mapping[str, Any]] | None:
        """What the gateway says elsewhere about the tool and its arguments; None if nothing."""
        own = self.table.describe
        if own is not None:
            told = object_in(call(own.params(tool.name, tool.app, tool.tool, {})).result)
            parameters = value_at(told, own.parameters)
            description = value_at(told, own.description)
        elif self.table.call.names_each_tool:
            entry = listing.get(self.call_params(tool, {})["name"])
            if entry is None:
                return None
            description = entry.get("description", "")
            parameters = value_at(entry, "inputSchema.properties") or {}
        else:
            return None
        if not isinstance(description, str) or not isinstance(parameters, Mapping):
            return None
        return description, parameters


def binding_of(table: GatewayConsentTable, directory: Path) -> GatewayBinding:
    """`SettingsError` is one line that says what is wrong with the hook."""
    return hook_class(f"[{FAMILY}] hook", table.hook, directory, GatewayBinding)(table)
