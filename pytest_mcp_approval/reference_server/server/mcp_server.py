"""The reference server: extensions behind MCP, in both eras, over Streamable HTTP and stdio.

A family's extension declares, lists, runs and refuses; its gate has the rules; the door checks the
JSON. This file knows only MCP. Its one tool of its own shows what was executed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import anyio
from mcp.server.context import CallNext, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CLIENT_INFO_META_KEY,
    CallToolResult,
    ListToolsResult,
)
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...support.version import own_version
from . import conversation
from .answers import INVALID_PARAMS, ErrorAnswer, InvalidParamsError, tool_listing, tool_result
from .door_http import HttpDoor, MessagesUnderway
from .effects import RecordedEffects
from .extension import DEFAULT_USER, Backing, Caller, Extension, Method
from .held_calls import ClientReply, HeldCall, ServerMessage
from .host_names import names_checked
from .one_answer import OneAnswerEach
from .tables import StoreError

INTERNAL_ERROR = -32603
STORE_FAILED = "The store of approvals cannot be used now: nothing is approved without it"
SESSION_HEADER = "mcp-session-id"
STDIO_SESSION = "stdio"
EFFECTS_TOOL = tool_listing(
    "list_effects",
    "List what was executed",
    "Every execution so far, oldest first. Needs no approval.",
    read_only=True,
)

Context = ServerRequestContext[Any, Any]
Handler = Callable[[Context, Any], Awaitable[dict[str, Any]]]
logger = logging.getLogger(__name__)


_INPUT_REQUIRED = "input_required"


@dataclass(kw_only=True)
class CallContext(ServerRequestContext[Any, Any]):
    """A call with what the SDK does not get to see: it would refuse some of it by itself."""

    raw: Mapping[str, Any]
    """The params as they came."""
    asks: dict[str, Any] | None = None
    """The result, if it asks for something, as the extension wrote it."""


class AnyParams(BaseModel):
    """Takes every object: extensions look at the params as they came (`ctx.params`)."""

    model_config = ConfigDict(extra="allow")


def mcp_error(refusal: ErrorAnswer) -> MCPError:
    error = refusal.to_error()
    return MCPError(error["code"], error["message"], error.get("data"))


class ReferenceServer:
    """An MCP server with the tools of its extensions."""

    has_quick_calls = False
    """Whether a call that is alone is answered without a thread: for a server that nobody else uses
    and that has its store in memory. The way to a thread and back takes longer than the call."""

    def __init__(
        self,
        extensions: Iterable[Extension] = (),
        *,
        user_header: str | None = None,
        name: str = "reference-server",
        effects: RecordedEffects | None = None,
        backing: Backing | None = None,
    ) -> None:
        self.extensions = tuple(extensions)
        self.backing = backing
        self.underway = MessagesUnderway()
        self.user_header = user_header
        self.effects = RecordedEffects() if effects is None else effects
        self.mcp: Server[Any] = Server(
            name, version=own_version() or "unknown", get_tool_input_schema=self.input_schema
        )
        self.mcp.middleware[:] = [self.middleware]  # without the SDK's traces: nobody reads them
        self.mcp.add_request_handler("tools/list", AnyParams, self.on_list_tools)
        self.mcp.add_request_handler("tools/call", AnyParams, self.on_call_tool)
        for extension in self.extensions:
            for method, answer in extension.methods().items():
                self.mcp.add_request_handler(method, AnyParams, self._handler(extension, answer))

    def extension(self, family: str) -> Any:
        return next(one for one in self.extensions if one.family == family)

    def reset(self) -> None:
        """As if newly started, but with the same identity."""
        for extension in self.extensions:
            extension.reset()
        self.effects.clear()

    def stop(self) -> None:
        """End what the extensions started; what is stored stays for the next server."""
        for extension in self.extensions:
            extension.close()

    def close(self) -> None:
        self.stop()
        if self.backing is not None:
            self.backing.close()

    # ---- around every request

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        """The capabilities of `initialize` and `server/discover`, as they go out."""
        for extension in self.extensions:
            capabilities = extension.declare(capabilities)
        return capabilities

    async def middleware(self, ctx: Context, call_next: CallNext) -> Any:
        """Declare, and let an extension see a call that the SDK would refuse."""
        params = ctx.params
        if params is not None and not isinstance(params.get("_meta", {}), Mapping):
            # A _meta that is not an object counts as empty: the extension refuses it, not the SDK.
            ctx = replace(ctx, params={k: v for k, v in params.items() if k != "_meta"})
        ctx = _name_client(ctx)
        if ctx.method == "tools/call":
            ctx = _without_answers(ctx)
        result = await call_next(ctx)
        if isinstance(ctx, CallContext) and ctx.asks is not None and isinstance(result, dict):
            return {**result, **ctx.asks}
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            return {**result, "capabilities": self.declare(result.get("capabilities", {}))}
        return result

    def _handler(self, extension: Extension, answer: Method) -> Handler:
        async def handler(ctx: Context, params: AnyParams) -> dict[str, Any]:  # noqa: ARG001
            work = partial(answer, self.caller_of(ctx), ctx.method, ctx.params)
            return await self.answer(extension, work)

        return handler

    # ---- tools

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        listed = {entry["name"]: entry for entry in self.listings()}
        return listed[name]["inputSchema"] if name in listed else None

    async def on_list_tools(self, ctx: Context, params: AnyParams) -> ListToolsResult:  # noqa: ARG002
        return ListToolsResult.model_validate({"tools": self.listings()})

    def listings(self) -> list[dict[str, Any]]:
        return [entry for one in self.extensions for entry in one.listings()] + [EFFECTS_TOOL]

    async def on_call_tool(self, ctx: Context, params: AnyParams) -> Any:  # noqa: ARG002
        call = ctx.params or {}
        name, arguments = call.get("name", ""), call.get("arguments", {})
        if name == EFFECTS_TOOL["name"]:
            return CallToolResult.model_validate(tool_result({"effects": self.effects.to_json()}))
        for extension in self.extensions:
            if any(entry["name"] == name for entry in extension.listings()):
                work = partial(extension.call, name, arguments, self.caller_of(ctx))
                return self.call_result(ctx, await self.answer(extension, work, ctx))
        raise MCPError(INVALID_PARAMS, f"tool: got {ascii(name)[:80]}, unknown here")

    def call_result(self, ctx: Context, result: dict[str, Any]) -> Any:
        if isinstance(ctx, CallContext) and result.get("resultType") == _INPUT_REQUIRED:
            # The SDK gets a plain one to look at: what is asked is the extension's affair.
            ctx.asks = result
            return {"resultType": _INPUT_REQUIRED, "requestState": ""}
        return CallToolResult.model_validate(result)

    # ---- answers

    async def answer(
        self, extension: Extension, work: Callable[[], Any], ctx: Context | None = None
    ) -> dict[str, Any]:
        """Do the work and write its refusal, if any. A call that is held is waited for, which needs
        the context."""
        try:
            try:
                done: dict[str, Any] = (
                    await anyio.to_thread.run_sync(work) if self.needs_thread(extension) else work()
                )
                if ctx is not None:
                    done = await conversation.settled(done, ctx, partial(self.reply_to, extension))
                return done
            except InvalidParamsError:
                raise
            except ErrorAnswer as refusal:
                return extension.refuse(refusal)
        except ErrorAnswer as refusal:
            raise mcp_error(refusal) from refusal
        except MCPError:
            raise
        except StoreError as error:
            logger.error("a request failed: %s", error)
            raise MCPError(INTERNAL_ERROR, STORE_FAILED) from error
        except Exception as error:
            # Unexpected, so the client gets no details.
            logger.exception("a request failed")
            raise MCPError(INTERNAL_ERROR, "Internal error") from error

    def needs_thread(self, extension: Extension) -> bool:
        """Stores wait, and calls race."""
        return not self.has_quick_calls or extension.waits or self.underway.count != 1

    async def reply_to(self, extension: Extension, held: HeldCall, ctx: Context) -> ClientReply:
        """Ask the client inside its call, and wait."""
        return await conversation.reply_to(held, ctx, extension.clock, self.tell)

    async def tell(self, ctx: Context, message: ServerMessage) -> None:
        await conversation.tell(ctx, message)

    # ---- who calls

    def user_of(self, ctx: Context) -> str:
        """Who is calling. A demonstration: real servers use their authentication."""
        return self.user_named_in(ctx.request) if isinstance(ctx.request, Request) else DEFAULT_USER

    def user_named_in(self, request: Request) -> str:
        if self.user_header is None:
            return DEFAULT_USER
        return request.headers.get(self.user_header, DEFAULT_USER)

    def caller_of(self, ctx: Context) -> Caller:
        """Who is calling, in which MCP session: that of the header, or the one of stdio."""
        session = STDIO_SESSION
        if isinstance(ctx.request, Request):
            session = ctx.request.headers.get(SESSION_HEADER, "")
        params = ctx.raw if isinstance(ctx, CallContext) else ctx.params
        return Caller(
            self.user_of(ctx),
            session,
            self.client_of(ctx),
            meta=(ctx.params or {}).get("_meta"),
            params=params,
            capabilities=conversation.capabilities_of(ctx),
            protocol=ctx.protocol_version,
            has_handshake=conversation.has_handshake(ctx),
        )

    def client_of(self, ctx: Context) -> str:
        """What the client calls itself: at the handshake, or in each request if there is none.

        A request of the handshake era cannot rename its session.
        """
        if conversation.has_handshake(ctx):
            known = ctx.session.client_params
            return "" if known is None else known.client_info.name
        meta = (ctx.params or {}).get("_meta")
        info = meta.get(CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
        name = info.get("name") if isinstance(info, Mapping) else None
        return name if isinstance(name, str) else ""

    def session_ended(self, session: str) -> None:
        for extension in self.extensions:
            extension.session_ended(session)

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
        only of a loopback origin or one of `allowed_origins`: this stops DNS rebinding.
        """
        security = names_checked(allowed_hosts, allowed_origins)

        async def effects(request: Request) -> Response:
            refusal = await TransportSecurityMiddleware(security).validate_request(request)
            return refusal or JSONResponse(self.effects.to_json())

        pages = [
            route
            for extension in self.extensions
            for route in extension.routes(security, path, self.user_named_in)
        ]
        app = self.mcp.streamable_http_app(
            streamable_http_path=path,
            json_response=json_response,
            transport_security=security,
            custom_starlette_routes=[Route("/effects", effects, methods=["GET"]), *pages],
        )
        plain = StreamableHTTPSessionManager(
            self.mcp, json_response=True, security_settings=security
        )
        return HttpDoor(OneAnswerEach(app, plain, path), path, self.session_ended, self.underway)

    def run_stdio(self) -> None:
        """Serve standard input and output until input ends or SIGTERM comes."""
        from .stdio import run

        try:
            run(self.mcp)
        finally:
            self.session_ended(STDIO_SESSION)


def _named(info: Any) -> dict[str, Any]:
    """What a client says about itself, with name and version as texts. If it says nothing readable,
    it is a client without a name, and is served all the same."""
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


def _without_answers(ctx: Context) -> CallContext:
    seen = conversation.without_answers(ctx).params
    return CallContext(**{**vars(ctx), "params": seen}, raw=ctx.params or {})
