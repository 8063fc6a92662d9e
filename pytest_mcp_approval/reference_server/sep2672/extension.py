"""SEP-2672 as a part of the reference server: gated tools, three methods, and a page for people.

Everything that a broken server could get wrong between the wire and the gate is a small method:
what is declared, what is listed, whether a tool is gated, how a refusal is written. The rules are
in the gate.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...families.sep2672 import vocabulary as words
from ..server.answers import tool_result
from ..server.clock import iso_8601
from ..server.extension import Caller, Extension, ExtensionParts, Method
from .demonstration import DEMONSTRATION_TOOLS, RESTART_SERVICE, Tool
from .gate import ApprovalGate
from .pages.routes import page_routes
from .relying_party import RelyingParty
from .settings import ApprovalSettings, read_settings
from .store import ApprovalStore

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request
    from starlette.routing import Route


class Sep2672Extension(Extension):
    family: ClassVar[str] = "sep2672"
    waits = False
    suite_settings: ClassVar[Mapping[str, Any]] = {
        "origin": "http://localhost",
        "failing": {"place_trade": {"symbol": "ACME", "quantity": None}},
    }
    gate_class: ClassVar[type[ApprovalGate]] = ApprovalGate
    relying_party_class: ClassVar[type[RelyingParty]] = RelyingParty
    store: ApprovalStore
    store_class: ClassVar[type[ApprovalStore]] = ApprovalStore

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.settings = read_settings(parts.settings)
        offered = self.offered_tools(self.settings)
        # Without the capability no gated tool may be listed (section 4.3).
        self.tools = {
            tool.name: tool for tool in offered if self.settings.declare or not self.is_gated(tool)
        }
        self.store = parts.backing.keep(self.family, self.store_class)
        self.gate = self.gate_class(
            tools=[tool.gate for tool in offered if tool.gate is not None],
            store=self.store,
            clock=self.clock,
            relying_party=self.relying_party_class(
                self.settings.rp_id, origins=self.settings.origins or ("http://localhost",)
            ),
            server_id=self.settings.server_id,
            challenge_ttl=self.settings.challenge_ttl,
            enrolment_ttl=self.settings.enrolment_ttl,
            enrolment_policy=self.settings.enrolment_policy,
        )

    @classmethod
    def instance_settings(cls) -> Mapping[str, Any]:
        return {"server_id": str(uuid.uuid4())}

    def running_suite_settings(self) -> Mapping[str, Any]:
        return {"server-id": self.gate.server_id}

    def served_at(self, origin: str) -> None:
        if not self.settings.origins:
            self.gate.relying_party.accept_origin(origin)

    def offered_tools(self, settings: ApprovalSettings) -> tuple[Tool, ...]:
        extra = (RESTART_SERVICE,) if settings.schema_default else ()
        return (*DEMONSTRATION_TOOLS, *extra)

    # ---- section 4.3: the capability

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        if not self.settings.declare:
            return capabilities
        extensions = {**capabilities.get("extensions", {}), words.CAPABILITY_KEY: {}}
        return {**capabilities, "extensions": extensions}

    # ---- section 4.4: the three methods

    def methods(self) -> dict[str, Method]:
        """A server that does not declare the capability answers them with -32601."""
        return dict.fromkeys(words.METHODS, self.on_approval) if self.settings.declare else {}

    def on_approval(self, caller: Caller, method: str, params: Any) -> dict[str, Any]:
        return self.gate.handle(caller.user, method, params)

    # ---- tools

    def is_gated(self, tool: Tool) -> bool:
        return tool.gate is not None

    def listing(self, tool: Tool) -> dict[str, Any]:
        return tool.listing()

    def listings(self) -> list[dict[str, Any]]:
        return [self.listing(tool) for tool in self.tools.values()]

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        return self.call_tool(caller.user, self.tools[name], arguments, caller.meta)

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        """First verification, then execution; neither without the other."""
        if self.is_gated(tool):
            self.gate.verify(user, tool.name, arguments, meta)
        return self.execute(tool, arguments)

    def execute(self, tool: Tool, arguments: Any) -> dict[str, Any]:
        return tool_result(dict(tool.run({} if arguments is None else arguments, self.effects)))

    # ---- the page

    def page_origins(self) -> Sequence[str]:
        return self.gate.relying_party.origins

    def routes(
        self,
        security: TransportSecuritySettings,
        endpoint: str,
        user_of: Callable[[Request], str],
    ) -> list[Route]:
        return page_routes(
            security, endpoint, lambda request: self.passkeys_of(user_of(request)), self.page_file
        )

    def passkeys_of(self, user: str) -> list[dict[str, Any]]:
        """What the page lists; no secret, and nothing that a client of SEP-2672 could ask for."""
        return [
            {
                "credentialId": words.base64url_encode(credential.credential_id),
                "createdAt": iso_8601(credential.created_at),
                "transports": list(credential.transports),
            }
            for credential in self.store.credentials(user)
        ]

    def page_file(self, name: str, content: bytes) -> bytes:  # noqa: ARG002  # a broken one looks
        """A file of the page, as it is served."""
        return content
