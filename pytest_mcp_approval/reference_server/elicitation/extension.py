"""Approval by elicitation as a part of the reference server: tools that ask, and a page.

Pages are served beside MCP if it is on HTTP, else by a listener of their own, so that they are
there on every transport. Knows MCP's shapes of tools and results; the rules are in the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ...families.elicitation import vocabulary as words
from ..server.answers import ErrorAnswer, object_arguments, tool_result
from ..server.extension import Caller, Extension, ExtensionParts
from ..server.held_calls import HeldCall
from ..server.listener import Listener
from ..server.pages import style_routes
from .demonstration import SUITE_SETTINGS, OfferedTool, make_tools
from .gate import ElicitationGate
from .pages import ApprovalPages
from .records import GatedCall
from .refusals import ElicitationRefusal, ToolBackEndError
from .settings import read_settings
from .store import ElicitationStore

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request
    from starlette.routing import BaseRoute, Route


class ElicitationExtension(Extension):
    """Tools that run on a person's yes."""

    family = words.FAMILY
    waits = False
    suite_settings: ClassVar[Mapping[str, Any]] = SUITE_SETTINGS
    gate_class: ClassVar[type[ElicitationGate]] = ElicitationGate
    pages_class: ClassVar[type[ApprovalPages]] = ApprovalPages
    store_class: ClassVar[type[ElicitationStore]] = ElicitationStore
    store: ElicitationStore

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = read_settings(parts.settings)
        self.store = parts.backing.keep(self.family, self.store_class)
        self.gate = self.gate_class(self.store, self.clock, self.settings, self.page_url)
        self.pages = self.pages_class(self.store, self.clock)
        self.listener = Listener(self.pages_beside)
        self.tools = {tool.name: tool for tool in self.offered_tools()}
        self._origin = ""

    def offered_tools(self) -> tuple[OfferedTool, ...]:
        return make_tools()

    # ---- tools

    def listing(self, tool: OfferedTool) -> dict[str, Any]:
        return dict(tool.entry)

    def listings(self) -> list[dict[str, Any]]:
        return [self.listing(tool) for tool in self.tools.values()]

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any] | HeldCall:
        tool, given = self.tools[name], object_arguments(arguments)
        tool.check(given)
        if tool.asks is None:
            return self.execute(tool, given)
        outcome: dict[str, Any] | HeldCall = self.gate.decide(
            GatedCall(tool.asks, given, caller, partial(self.execute, tool, given))
        )
        return outcome

    def execute(self, tool: OfferedTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return tool_result(tool.run(arguments, self.effects))
        except ToolBackEndError as error:
            return tool_result({"done": False, "message": f"It failed: {error}"}, is_error=True)

    def refuse(self, refusal: ErrorAnswer) -> dict[str, Any]:
        if isinstance(refusal, ElicitationRefusal) and refusal.as_result:
            return tool_result(refusal.to_content(), is_error=True)
        raise refusal

    # ---- pages

    def served_at(self, origin: str) -> None:
        self._origin = origin

    def page_url(self, id: str) -> str:
        return (self._origin or self.listener.url) + self.pages.path(id)

    def pages_beside(self) -> list[BaseRoute]:
        """What the listener serves."""
        return [*style_routes(), *self.pages.routes()]

    def routes(
        self,
        security: TransportSecuritySettings,
        endpoint: str,  # noqa: ARG002
        user_of: Callable[[Request], str],  # noqa: ARG002  # a page needs a login, not a default
    ) -> list[Route]:
        from ..server.pages import guarded

        return guarded([*style_routes(), *self.pages.routes()], security)

    def close(self) -> None:
        self.listener.stop()
