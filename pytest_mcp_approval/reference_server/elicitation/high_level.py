"""The gate in front of the tools of an `MCPServer`, the SDK's high-level server, in both eras.

    approval = ElicitedApproval(
        ElicitationGate(ElicitationStore("sqlite:///approvals.db"), SystemClock()),
        user=lambda context: "the owner",
    )
    server = MCPServer("notes")

    @approval.tool(server, describe=lambda arguments: f"Delete the note {arguments['title']}.")
    def delete_note(title: str) -> str: ...

    app = http_app(server)      # for uvicorn; or run_stdio(server)

A person is asked with the arguments as the client sent them, before a schema fills in or converts
any. The middleware stands before the SDK's own seal of request states, which would refuse ours;
other tools keep using that. Asks by forms only. Knows the SDK's public hooks; no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateBoundary

from ...families.elicitation import vocabulary as words
from ..server import conversation
from ..server.answers import ErrorAnswer, InvalidParamsError, object_arguments, tool_result
from ..server.conversation import Context
from ..server.extension import Caller
from ..server.held_calls import ClientReply, HeldCall
from ..server.mcp_server import mcp_error
from .forms import QuestionForm, box
from .gate import ElicitationGate
from .records import AskingTool, Describe, GatedCall
from .refusals import ElicitationRefusal

_APPROVED = object()
Function = TypeVar("Function", bound=Callable[..., Any])


class ElicitedApproval:
    """See the module. `user` says who is calling: whoever the connection was authenticated as."""

    def __init__(self, gate: ElicitationGate, *, user: Callable[[Context], str]) -> None:
        self.gate = gate
        self.user = user
        self.tools: dict[str, AskingTool] = {}

    def tool(
        self,
        server: MCPServer[Any],
        *,
        describe: Describe,
        form: QuestionForm | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Callable[[Function], Function]:
        """Decorate a tool that asks first; `options` are those of `MCPServer.add_tool`.

        `describe` says in a sentence what a call with these arguments would do; the question also
        names every argument. `form` is a box to tick, unless it says otherwise.
        """

        def decorate(function: Function) -> Function:
            named = name or function.__name__
            if named in self.tools:
                raise ValueError(f"tool: got {named!r} a second time, expected one of each name")
            self._install(server)
            # First the gate, then the listing: nobody can call it in between.
            self.tools[named] = AskingTool(named, _guarded(describe), form or box("Yes, do it"))
            server.add_tool(function, name=named, **options)
            return function

        return decorate

    def _install(self, server: MCPServer[Any]) -> None:
        chain = server.middleware
        if self.middleware in chain:
            return
        places = [at for at, one in enumerate(chain) if isinstance(one, RequestStateBoundary)]
        chain.insert(places[0] if places else 0, self.middleware)

    async def middleware(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Let a gated call pass only if a person said yes to it.

        `ctx` is called as in the SDK's protocol: a type checker compares the names too.
        """
        params = ctx.params or {}
        name = params.get("name")
        if ctx.method != "tools/call" or not isinstance(name, str) or name not in self.tools:
            return await call_next(ctx)
        try:
            outcome = await self._decide(ctx, self.tools[name], params)
        except ElicitationRefusal as refusal:
            if not refusal.as_result:
                raise mcp_error(refusal) from refusal
            outcome = tool_result(refusal.to_content(), is_error=True)
        except ErrorAnswer as refusal:
            raise mcp_error(refusal) from refusal
        if outcome is _APPROVED:
            return await call_next(conversation.without_answers(ctx))
        answer: dict[str, Any] = outcome
        if not conversation.has_handshake(ctx):
            answer = {words.RESULT_TYPE: "complete", **answer}
        return answer

    async def _decide(self, ctx: Context, tool: AskingTool, params: Mapping[str, Any]) -> Any:
        caller = Caller(
            self.user(ctx),
            params=params,
            capabilities=conversation.capabilities_of(ctx),
            protocol=ctx.protocol_version,
            has_handshake=conversation.has_handshake(ctx),
        )
        arguments = object_arguments(params.get("arguments"))
        call = GatedCall(tool, arguments, caller, lambda: _APPROVED)
        # In threads, since stores may block.
        outcome = await anyio.to_thread.run_sync(partial(self.gate.decide, call))
        return await conversation.settled(outcome, ctx, self._reply_to)

    async def _reply_to(self, held: HeldCall, ctx: Context) -> ClientReply:
        return await conversation.reply_to(held, ctx, self.gate.clock)


def _guarded(describe: Describe) -> Describe:
    """Arguments that cannot be described are the caller's mistake, and nobody is asked."""

    def described(arguments: Mapping[str, Any]) -> str:
        try:
            return describe(arguments)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            told = f"arguments: {type(error).__name__} when describing the call"
            raise InvalidParamsError(told) from error

    return described
