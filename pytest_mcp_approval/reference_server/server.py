"""The reference server: the gate behind MCP, in both eras, over Streamable HTTP and stdio.

Everything that a broken server could get wrong between the wire and the gate is a small method:
what is declared, what is listed, whether a tool is gated, how a refusal is written. The rules of
SEP-2672 are the gate's and strict JSON is the door's; this file knows only MCP.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import CLIENT_INFO_META_KEY, CallToolResult, ListToolsResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .. import __version__
from ..families.sep2672 import vocabulary as words
from .clock import Clock, SystemClock
from .door_http import HttpDoor
from .effects import Effects
from .pages.routes import page_routes
from .relying_party import RelyingParty
from .sep2672.gate import ApprovalGate
from .sep2672.refusals import INVALID_PARAMS, ApprovalRefusal, InvalidParamsError
from .sep2672.times import iso_8601
from .stores.interface import Store
from .stores.memory import MemoryStore
from .tools import DEMONSTRATION_TOOLS, InvalidArgumentsError, Tool
from .wings import Backing, Caller, Wing, WingParts

INTERNAL_ERROR = -32603
DEFAULT_USER = "demonstration user"
SESSION_HEADER = "mcp-session-id"
STDIO_SESSION = "stdio"
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")

Context = ServerRequestContext[Any, Any]
Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]
logger = logging.getLogger(__name__)


class AnyParams(BaseModel):
    """Takes every object: the gate looks at the params as they came (`ctx.params`)."""

    model_config = ConfigDict(extra="allow")


class ReferenceServer:
    """An MCP server with some tools, of which some are behind a gate."""

    def __init__(
        self,
        gate: ApprovalGate,
        tools: Iterable[Tool] = DEMONSTRATION_TOOLS,
        *,
        declare_capability: bool = True,
        user_header: str | None = None,
        name: str = "reference-server",
        effects: Effects | None = None,
        wings: Iterable[Wing] = (),
        backing: Backing | None = None,
    ) -> None:
        self.gate = gate
        self.wings = tuple(wings)
        self.backing = backing
        self.declare_capability = declare_capability
        self.user_header = user_header
        # Without the capability no gated tool may be listed (section 4.3).
        self.tools = {
            tool.name: tool for tool in tools if declare_capability or not self.is_gated(tool)
        }
        self.effects = Effects() if effects is None else effects
        self.mcp: Server[Any] = Server(
            name, version=__version__, get_tool_input_schema=self.input_schema
        )
        self.mcp.middleware.append(self.middleware)
        self.mcp.add_request_handler("tools/list", AnyParams, self.on_list_tools)
        self.mcp.add_request_handler("tools/call", AnyParams, self.on_call_tool)
        for method, handler in self.approval_methods().items():
            self.mcp.add_request_handler(method, AnyParams, handler)

    @property
    def clock(self) -> Clock:
        return self.gate.clock

    def reset(self) -> None:
        """As if newly started, but with the same server id."""
        self.gate.store.reset()
        for wing in self.wings:
            wing.reset()
        self.effects.clear()

    def stop(self) -> None:
        """What the wings run beside it ends; what is stored stays for the next one."""
        for wing in self.wings:
            wing.close()

    def close(self) -> None:
        self.stop()
        self.gate.store.close()
        if self.backing is not None:
            self.backing.close()

    # ---- section 4.3: the capability

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        """The capabilities of `initialize` and `server/discover`, as they go out."""
        if not self.declare_capability:
            return capabilities
        extensions = {**capabilities.get("extensions", {}), words.CAPABILITY_KEY: {}}
        return {**capabilities, "extensions": extensions}

    async def middleware(self, ctx: Context, call_next: CallNext) -> Any:
        """Around every request: declare, and let the gate see a call that the SDK would refuse."""
        params = ctx.params
        if params is not None and not isinstance(params.get("_meta", {}), Mapping):
            # A _meta that is no object holds no evidence: step 1 is to say so, not the SDK.
            ctx = replace(ctx, params={k: v for k, v in params.items() if k != "_meta"})
        result = await call_next(_name_client(ctx))
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            return {**result, "capabilities": self.declare(result.get("capabilities", {}))}
        return result

    # ---- section 4.4: the three methods

    def approval_methods(self) -> dict[str, Handler]:
        """A server that does not declare the capability does not know them: -32601."""
        if not self.declare_capability:
            return {}
        return dict.fromkeys(words.METHODS, self.on_approval)

    async def on_approval(self, ctx: Context, params: AnyParams) -> dict[str, Any]:  # noqa: ARG002
        work = partial(self.gate.handle, self.user_of(ctx), ctx.method, ctx.params)
        return await self.answer(work)

    # ---- tools

    def is_gated(self, tool: Tool) -> bool:
        return tool.gate is not None

    def listing(self, tool: Tool) -> dict[str, Any]:
        return tool.listing()

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        listed = {entry["name"]: entry for entry in self.listings()}
        return listed[name]["inputSchema"] if name in listed else None

    async def on_list_tools(self, ctx: Context, params: AnyParams) -> ListToolsResult:  # noqa: ARG002
        return ListToolsResult.model_validate({"tools": self.listings()})

    def listings(self) -> list[dict[str, Any]]:
        own = [self.listing(tool) for tool in self.tools.values()]
        return own + [entry for wing in self.wings for entry in wing.listings()]

    async def on_call_tool(self, ctx: Context, params: AnyParams) -> CallToolResult:  # noqa: ARG002
        call = ctx.params or {}
        name = call.get("name", "")
        for wing in self.wings:
            if any(entry["name"] == name for entry in wing.listings()):
                work = partial(wing.call, name, call.get("arguments", {}), self.caller_of(ctx))
                return CallToolResult.model_validate(await self.answer(work))
        tool = self.tools.get(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"tool: got {ascii(name)[:80]}, unknown here")
        arguments = call.get("arguments", {})
        user, meta = self.user_of(ctx), call.get("_meta")
        result = await self.answer(partial(self.call_tool, user, tool, arguments, meta))
        return CallToolResult.model_validate(result)

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        """Verification first, then execution, and never the one without the other."""
        if self.is_gated(tool):
            self.gate.verify(user, tool.name, arguments, meta)
        return self.execute(tool, arguments)

    def execute(self, tool: Tool, arguments: Any) -> dict[str, Any]:
        result = dict(tool.run({} if arguments is None else arguments, self.effects))
        return {
            "content": [{"type": "text", "text": json.dumps(result)}],
            "structuredContent": result,
            "isError": False,
        }

    # ---- answers

    async def answer(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Do the work in a thread (stores wait, calls race) and write its refusal, if any."""
        try:
            return await anyio.to_thread.run_sync(work)
        except ApprovalRefusal as refusal:
            return self.refuse(refusal)
        except (InvalidParamsError, InvalidArgumentsError) as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except MCPError:
            raise
        except Exception as error:
            # Never expected, so never told to the client.
            logger.exception("a request failed")
            raise MCPError(INTERNAL_ERROR, "Internal error") from error

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        """Section 4.10: a JSON-RPC error, never a result."""
        error = refusal.to_error()
        raise MCPError(error["code"], error["message"], error["data"])

    def user_of(self, ctx: Context) -> str:
        """Who is calling. A demonstration: real servers ask their authentication (section 4.11)."""
        return self.user_named_in(ctx.request) if isinstance(ctx.request, Request) else DEFAULT_USER

    def user_named_in(self, request: Request) -> str:
        if self.user_header is None:
            return DEFAULT_USER
        return request.headers.get(self.user_header, DEFAULT_USER)

    def passkeys_of(self, request: Request) -> list[dict[str, Any]]:
        """What the page lists; no secret, and nothing that a client of SEP-2672 could ask for."""
        return [
            {
                "credentialId": words.base64url_encode(credential.credential_id),
                "createdAt": iso_8601(credential.created_at),
                "transports": list(credential.transports),
            }
            for credential in self.gate.store.credentials(self.user_named_in(request))
        ]

    def page_file(self, name: str, content: bytes) -> bytes:  # noqa: ARG002  # a broken one looks
        """A file of the page, as it is served."""
        return content

    def caller_of(self, ctx: Context) -> Caller:
        """Who is calling, in which MCP session: that of the header, or the one of stdio."""
        user, client = self.user_of(ctx), self.client_of(ctx)
        if isinstance(ctx.request, Request):
            return Caller(user, ctx.request.headers.get(SESSION_HEADER, ""), client)
        return Caller(user, STDIO_SESSION, client)

    def client_of(self, ctx: Context) -> str:
        """What the client calls itself: at the handshake, or in each request where there is none.

        A request of the handshake era cannot rename its session.
        """
        if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            known = ctx.session.client_params
            return "" if known is None else known.client_info.name
        meta = (ctx.params or {}).get("_meta")
        info = meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
        name = info.get("name") if isinstance(info, Mapping) else None
        return name if isinstance(name, str) else ""

    def session_ended(self, session: str) -> None:
        for wing in self.wings:
            wing.session_ended(session)

    # ---- transports

    def asgi_app(
        self,
        *,
        path: str = "/mcp",
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
        json_response: bool = False,
    ) -> HttpDoor:
        """One application for both eras, `GET /effects` and the pages. Make one for every start.

        Requests are served only under a loopback name or one of `allowed_hosts`, and from a page
        only of a loopback origin or one of `allowed_origins`: DNS rebinding gets nowhere.
        """
        security = _security(allowed_hosts, allowed_origins)

        async def effects(request: Request) -> Response:
            refusal = await TransportSecurityMiddleware(security).validate_request(request)
            return refusal or JSONResponse(self.effects.to_json())

        app = self.mcp.streamable_http_app(
            streamable_http_path=path,
            json_response=json_response,
            transport_security=security,
            custom_starlette_routes=[
                Route("/effects", effects, methods=["GET"]),
                *page_routes(security, path, self.passkeys_of, self.page_file),
            ],
        )
        return HttpDoor(app, path, self.session_ended)

    def run_stdio(self) -> None:
        """Serve standard input and output until input ends or SIGTERM comes."""
        from .stdio import run

        try:
            run(self.mcp)
        finally:
            self.session_ended(STDIO_SESSION)


def _named(info: Any) -> dict[str, Any]:
    """What a client says of itself, with a name and a version that are texts: where it says
    nothing that can be read, it is a client without a name, and served all the same."""
    known = dict(info) if isinstance(info, Mapping) else {}
    texts = {member: known.get(member) for member in ("name", "version")}
    return known | {member: text if isinstance(text, str) else "" for member, text in texts.items()}


def _name_client(ctx: Context) -> Context:
    params = ctx.params
    if ctx.method == "initialize" and isinstance(params, dict):
        # In place: the SDK reads these params once more after all middleware.
        params["clientInfo"] = _named(params.get("clientInfo"))
        return ctx
    meta = (params or {}).get("_meta")
    if not isinstance(meta, Mapping) or CLIENT_INFO_META_KEY not in meta:
        return ctx
    named = {**meta, CLIENT_INFO_META_KEY: _named(meta[CLIENT_INFO_META_KEY])}
    return replace(ctx, params={**(params or {}), "_meta": named})


def _security(hosts: Sequence[str], origins: Sequence[str]) -> TransportSecuritySettings:
    names = [*LOOPBACK_HOSTS, *hosts]
    pages = [f"http://{host}" for host in LOOPBACK_HOSTS]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[pattern for name in names for pattern in (name, f"{name}:*")],
        allowed_origins=[pattern for page in pages for pattern in (page, f"{page}:*")]
        + list(origins),
    )


def build(
    *,
    gate_class: type[ApprovalGate] = ApprovalGate,
    server_class: type[ReferenceServer] = ReferenceServer,
    store: Store | None = None,
    clock: Clock | None = None,
    relying_party: RelyingParty | None = None,
    tools: Iterable[Tool] = DEMONSTRATION_TOOLS,
    declare_capability: bool = True,
    user_header: str | None = None,
    wings: Mapping[str, type[Wing]] | None = None,
    backing: Backing | None = None,
    wing_settings: Mapping[str, Mapping[str, Any]] | None = None,
    **gate_options: Any,
) -> ReferenceServer:
    """A reference server; `gate_options` are those of the gate, such as `challenge_ttl`.

    `wings` are the other families that it has, by name (`default_wings()` for all), `backing` where
    they keep their state, and `wing_settings` what each is told.
    """
    tools = tuple(tools)
    clock = SystemClock() if clock is None else clock
    gate = gate_class(
        tools=[tool.gate for tool in tools if tool.gate is not None],
        store=MemoryStore() if store is None else store,
        clock=clock,
        relying_party=relying_party or RelyingParty(),
        **gate_options,
    )
    effects, backing = Effects(), backing or Backing()
    settings = wing_settings or {}
    return server_class(
        gate,
        tools,
        declare_capability=declare_capability,
        user_header=user_header,
        effects=effects,
        backing=backing,
        wings=[
            wing(WingParts(clock, effects, backing, settings.get(name, {})))
            for name, wing in (wings or {}).items()
            if wing.environment_settings.keys() <= settings.get(name, {}).keys()
        ],
    )
