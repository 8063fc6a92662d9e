"""The gate of SEP-2672 in front of the tools of an `MCPServer`, the SDK's high-level server.

    approval = VerifiedApproval(gate, user=lambda context: "the owner")
    server = MCPServer("notes", extensions=[approval], middleware=[approval.middleware])

    @approval.tool(server, describe=lambda arguments: f"Delete the note {arguments['title']}")
    def delete_note(title: str) -> str: ...

    app = http_app(server)      # for uvicorn; or run_stdio(server)

The extension brings the three approval methods. The middleware declares the capability in both
eras, and asks the gate before a gated tool runs: with the arguments as they were parsed, before a
schema fills in or converts any. `http_app` and `run_stdio` put the strict door in front of the SDK,
which leaves some malformed messages unanswered.

Knows the SDK's public hooks; no rule of the SEP.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import MCPServer

from ...families.sep2672 import vocabulary as words
from ..server.answers import ErrorAnswer
from ..server.mcp_server import AnyParams, mcp_error
from .gate import ApprovalGate
from .records import Describe, GatedTool

Context = ServerRequestContext[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


class VerifiedApproval(Extension):
    """See the module. `user` says who is calling: whoever the connection was authenticated as."""

    identifier = words.META_KEY

    def __init__(self, gate: ApprovalGate, *, user: Callable[[Context], str]) -> None:
        self.gate = gate
        self.user = user
        self._is_extension = False

    def tool(
        self,
        server: MCPServer[Any],
        *,
        describe: Describe,
        authenticator_class: words.AuthenticatorClass | str | None = None,
        name: str | None = None,
        meta: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Decorate a tool that needs approval; `options` are those of `MCPServer.add_tool`.

        `describe` says in a sentence what a call with these arguments would do: a person reads it
        before they approve. It gets the arguments as the client sent them.
        """
        self._check_installed(server)

        def decorate(function: Function) -> Function:
            named = name or function.__name__
            if named in self.gate.tools:
                raise ValueError(f"tool: got {named!r} a second time, expected one of each name")
            chosen = words.AuthenticatorClass(authenticator_class) if authenticator_class else None
            gated = GatedTool(named, describe, chosen)
            # First the gate, then the listing: nobody can call it in between.
            self.gate.tools[named] = gated
            server.add_tool(
                function, name=named, meta={**(meta or {}), **gated.listing_meta}, **options
            )
            return function

        return decorate

    def _check_installed(self, server: MCPServer[Any]) -> None:
        if not self._is_extension or self.middleware not in server.middleware:
            # Half a set-up would list gated tools that nothing guards, or that nobody can approve.
            raise RuntimeError(
                f"{server.name} is not set up for approval, expected "
                "MCPServer(..., extensions=[approval], middleware=[approval.middleware])"
            )

    # ---- section 4.4: the three methods

    def methods(self) -> Sequence[MethodBinding]:
        self._is_extension = True
        return [MethodBinding(method, AnyParams, self._answer) for method in words.METHODS]

    async def _answer(self, context: Context, _: AnyParams) -> dict[str, Any]:
        user = self.user(context)
        return await _in_thread(partial(self.gate.handle, user, context.method, context.params))

    # ---- sections 4.3 and 4.8: around every request

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Let a gated call pass only if it is approved, and declare the capability.

        `ctx` is called as in the SDK's protocol: a type checker compares the names too.
        """
        if ctx.method == "tools/call":
            await self._verify(ctx)
        result = await call_next(ctx)
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            return {**result, "capabilities": self._declared(result.get("capabilities", {}))}
        return result

    async def _verify(self, context: Context) -> None:
        params = context.params or {}
        name = params.get("name")
        if not isinstance(name, str) or name not in self.gate.tools:
            return
        user, arguments = self.user(context), params.get("arguments", {})
        await _in_thread(partial(self.gate.verify, user, name, arguments, params.get("_meta")))

    def _declared(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """The bare key of section 4.3, instead of the prefixed one that the SDK insists on."""
        others = {
            key: value
            for key, value in (capabilities.get("extensions") or {}).items()
            if key != self.identifier
        }
        return {**capabilities, "extensions": {**others, words.CAPABILITY_KEY: {}}}


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Not on the event loop, since stores may block. A refusal becomes the answer's error."""
    try:
        return await anyio.to_thread.run_sync(work)
    except ErrorAnswer as refusal:
        raise mcp_error(refusal) from refusal
