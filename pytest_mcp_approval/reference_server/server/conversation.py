"""The server's side of a call: what its client can do, asking it, telling it something, waiting.

No thread is kept while a question is open, so that any number may be. Nothing waits for ever: the
patience is read from the server's clock, which a test may move, and from real time too. Knows the
SDK's session and what the door knows of a connection; no family.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import CLIENT_CAPABILITIES_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from .answers import ErrorAnswer
from .clock import Clock
from .held_calls import ClientReply, HeldCall, ReplyKind, ServerMessage

_LOOK_SECONDS = 0.02
_CONNECTION = "mcp_approval.connection"
_ANSWERS = ("inputResponses", "requestState")

Context = ServerRequestContext[Any, Any]
Tell = Callable[[Context, ServerMessage], Awaitable[None]]


class ServedConnection:
    """Whether the connection of one HTTP request still stands; the door finds it out."""

    def __init__(self) -> None:
        self.is_cut = False
        self.is_answered = False

    def noticed(self, message: Mapping[str, Any]) -> None:
        """What came in. A client that leaves after the whole answer has not cut anything."""
        if message["type"] == "http.disconnect" and not self.is_answered:
            self.is_cut = True

    def sent(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.is_answered = True

    def put_into(self, scope: dict[str, Any]) -> dict[str, Any]:
        """The scope of a request, with this in it."""
        return {**scope, _CONNECTION: self}


def has_handshake(ctx: Context) -> bool:
    """Whether the client is asked inside an open call, and not by the call's result."""
    return ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS


def capabilities_of(ctx: Context) -> Any:
    """What the client declared: at the handshake, or in each request if there is none."""
    if has_handshake(ctx):
        declared = ctx.session.client_capabilities
        # A member that is null stays: it is not the same as an empty object.
        return declared and declared.model_dump(by_alias=True, exclude_unset=True)
    meta = (ctx.params or {}).get("_meta")
    return meta.get(CLIENT_CAPABILITIES_META_KEY) if isinstance(meta, Mapping) else None


def without_answers(ctx: Context) -> Context:
    """The call without what answers an earlier result of it: only who asked reads that."""
    kept = {name: value for name, value in (ctx.params or {}).items() if name not in _ANSWERS}
    return replace(ctx, params=kept)


def is_cut(ctx: Context) -> bool:
    """Whether the HTTP connection of this call was cut before its answer."""
    connection = getattr(ctx.request, "scope", {}).get(_CONNECTION)
    return isinstance(connection, ServedConnection) and connection.is_cut


async def ask(ctx: Context, question: ServerMessage) -> ClientReply:
    """Send a request on the stream of this call; its answer as it came, not validated."""
    # The session's own methods validate the answer, and would decide for the extension.
    outbound = ctx.session._request_outbound
    try:
        result = await outbound.send_raw_request(question.method, dict(question.params))
    except NoBackChannelError:
        return ClientReply(ReplyKind.UNREACHABLE)
    except MCPError as error:
        return ClientReply(ReplyKind.ERROR, error=error.error.model_dump(exclude_none=True))
    return ClientReply(ReplyKind.ANSWERED, result)


async def tell(ctx: Context, message: ServerMessage) -> None:
    """Send a notification on the stream of this call."""
    await ctx.session._request_outbound.notify(message.method, dict(message.params))


async def reply_to(held: HeldCall, ctx: Context, clock: Clock, tell: Tell = tell) -> ClientReply:
    """Ask and wait, until something ends it."""
    replies: list[ClientReply] = []

    async def first(wait: Callable[..., Awaitable[ClientReply]], *arguments: Any) -> None:
        replies.append(await wait(*arguments))
        tasks.cancel_scope.cancel()  # the other one; an open question then is cancelled too

    async with anyio.create_task_group() as tasks:
        if held.question is not None:
            tasks.start_soon(first, ask, ctx, held.question)
        tasks.start_soon(first, watch, held, ctx, clock, tell)
    # An answer may have come together with the end of the call.
    await anyio.lowlevel.checkpoint_if_cancelled()
    return replies[0]


async def watch(held: HeldCall, ctx: Context, clock: Clock, tell: Tell) -> ClientReply:
    """Look now and then whether it is to end without an answer."""
    give_up = clock.now() + held.patience
    at_last = anyio.current_time() + held.patience.total_seconds()
    while True:
        if is_cut(ctx):
            return ClientReply(ReplyKind.GONE)
        await _tell_news(held, ctx, tell)
        if held.ready is not None and await anyio.to_thread.run_sync(held.ready):
            # It may have become ready since the last look.
            await _tell_news(held, ctx, tell)
            return ClientReply(ReplyKind.READY)
        if clock.now() >= give_up or anyio.current_time() >= at_last:
            return ClientReply(ReplyKind.SILENT)
        await anyio.sleep(_LOOK_SECONDS)


async def _tell_news(held: HeldCall, ctx: Context, tell: Tell) -> None:
    news = await anyio.to_thread.run_sync(held.news) if held.news is not None else None
    if news is not None:
        await tell(ctx, news)


async def settled(
    outcome: Any, ctx: Context, reply: Callable[[HeldCall, Context], Awaitable[ClientReply]]
) -> Any:
    """What a call comes to, however often it is held. A cancelled one is told so."""
    while isinstance(outcome, HeldCall):
        try:
            came = await reply(outcome, ctx)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), suppress(ErrorAnswer):
                await anyio.to_thread.run_sync(outcome.then, ClientReply(ReplyKind.GONE))
            raise
        outcome = await anyio.to_thread.run_sync(outcome.then, came)
    return outcome
