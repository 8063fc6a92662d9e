"""Questions inside open calls that reach the wrong ears, or take answers from the wrong mouth."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion
from pytest_mcp_approval.reference_server.server import conversation
from pytest_mcp_approval.reference_server.server.conversation import Context
from pytest_mcp_approval.reference_server.server.extension import Extension
from pytest_mcp_approval.reference_server.server.held_calls import (
    ClientReply,
    HeldCall,
    ReplyKind,
    ServerMessage,
)
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

SESSION = "elicitation/state-session"
PENDING = "elicitation/pending-not-shared"


class _Overhears(ReferenceServer):
    """Sees the answers of all sessions before the SDK does."""

    def asgi_app(self, **options: Any) -> Any:
        app = super().asgi_app(**options)

        async def door(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http" or scope["method"] != "POST":
                await app(scope, receive, send)
                return
            read: list[Any] = []
            while not read or read[-1].get("more_body", False):
                read.append(await receive())
            body = b"".join(one.get("body", b"") for one in read)
            self.overheard(body)

            async def again() -> Any:
                return read.pop(0) if read else await receive()

            await app(scope, again, send)

        return door

    def overheard(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except ValueError:
            return
        if isinstance(message, dict) and "method" not in message:
            self.answer_came(message)

    def answer_came(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    @property
    def waiting(self) -> dict[Any, asyncio.Future[Any]]:
        found: dict[Any, asyncio.Future[Any]] = self.__dict__.setdefault("_waiting", {})
        return found

    async def reply_to(self, extension: Extension, held: HeldCall, ctx: Context) -> ClientReply:
        if held.question is None:
            return await super().reply_to(extension, held, ctx)
        came: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        key = self.key_of(ctx)
        self.waiting[key] = came
        replies: list[ClientReply] = []
        async with anyio.create_task_group() as tasks:

            async def properly() -> None:
                replies.append(await super(_Overhears, self).reply_to(extension, held, ctx))
                tasks.cancel_scope.cancel()

            async def otherwise() -> None:
                replies.append(ClientReply(ReplyKind.ANSWERED, await came))
                tasks.cancel_scope.cancel()

            tasks.start_soon(properly)
            tasks.start_soon(otherwise)
        self.waiting.pop(key, None)
        return replies[0]

    def key_of(self, ctx: Context) -> Any:
        raise NotImplementedError


@mutant(kills=SESSION, because=RAN, protocol=HANDSHAKE)
class OneTableForAllSessions(_Overhears):
    """Keeps the open questions of all sessions in one table, by the id of the request."""

    def key_of(self, ctx: Context) -> Any:
        # The SDK counts the questions of a session from 1.
        counts: dict[int, int] = self.__dict__.setdefault("_counts", {})
        place = id(ctx.session._connection)
        counts[place] = counts.get(place, 0) + 1
        return counts[place]

    def answer_came(self, message: dict[str, Any]) -> None:
        came = self.waiting.get(message.get("id"))
        if came is not None and not came.done() and isinstance(message.get("result"), dict):
            came.set_result(message["result"])


@mutant(kills=SESSION, because=RAN, protocol=HANDSHAKE)
class AnyAnswerWillDo(_Overhears):
    """Takes the next answer that comes, from any session and under any id."""

    def key_of(self, ctx: Context) -> Any:
        return id(ctx)

    def answer_came(self, message: dict[str, Any]) -> None:
        for came in list(self.waiting.values())[-1:]:
            if not came.done() and isinstance(message.get("result"), dict):
                came.set_result(message["result"])


@mutant(kills=PENDING, because="2 runs", protocol=HANDSHAKE, timeout=2.0)
class OnePendingQuestion(_Overhears):
    """Has room for one open question: an answer reaches the call that asked last."""

    def key_of(self, ctx: Context) -> Any:
        return "pending"

    def answer_came(self, message: dict[str, Any]) -> None:
        came = self.waiting.get("pending")
        if came is not None and not came.done() and isinstance(message.get("result"), dict):
            came.set_result(message["result"])


@mutant(
    kills=PENDING,
    because="no answer|nothing within|not served|waits",
    protocol=HANDSHAKE,
    timeout=2.0,
)
class ServesOneAtATime(ReferenceServer):
    """Serves no other tool while a question is open."""

    async def answer(self, *work: Any) -> dict[str, Any]:
        lock: anyio.Lock = self.__dict__.setdefault("_lock", anyio.Lock())
        async with lock:
            return await super().answer(*work)


@mutant(kills=PENDING, because="no answer|nothing within|not run|error", protocol=HANDSHAKE)
class ANewQuestionEndsTheOld(ReferenceServer):
    """Gives an open question up when another one is asked, whoever asks."""

    async def reply_to(self, extension: Extension, held: HeldCall, ctx: Context) -> ClientReply:
        before = self.__dict__.get("_scope")
        if before is not None:
            before.cancel()
        replies: list[ClientReply] = []
        with anyio.CancelScope() as scope:
            self.__dict__["_scope"] = scope
            replies.append(await super().reply_to(extension, held, ctx))
        return replies[0] if replies else ClientReply(ReplyKind.SILENT)


class TellsAll(ReferenceServer):
    """Knows all connections."""

    async def reply_to(self, extension: Extension, held: HeldCall, ctx: Context) -> ClientReply:
        self.connections.add(ctx.session._connection)
        return await super().reply_to(extension, held, ctx)

    async def middleware(self, ctx: Any, call_next: Any) -> Any:
        self.connections.add(ctx.session._connection)
        return await super().middleware(ctx, call_next)

    @property
    def connections(self) -> set[Any]:
        found: set[Any] = self.__dict__.setdefault("_connections", set())
        return found


@mutant(
    kills="elicitation/url-complete-notice", because="another session|other", protocol=HANDSHAKE
)
class Broadcasts(TellsAll):
    """Tells every session that a person has finished on a page."""

    async def tell(self, ctx: Context, message: ServerMessage) -> None:
        await super().tell(ctx, message)
        for one in self.connections - {ctx.session._connection}:
            with anyio.move_on_after(0.5):
                await one.notify(message.method, dict(message.params))


@mutant(kills="elicitation/url-complete-notice", because="has finished", protocol=HANDSHAKE)
@in_extension
class TellsTheEndAtOnce(ElicitationGate):
    """Tells that a page is finished as soon as there is one, and as often as it looks."""

    def news(self, question: ElicitationQuestion) -> ServerMessage | None:
        return ServerMessage("notifications/elicitation/complete", {"elicitationId": question.id})


@mutant(kills="elicitation/url-complete-notice", because="one with the page", protocol=HANDSHAKE)
class TellsAnotherId(ReferenceServer):
    """Tells the end of a page under an id that nobody knows."""

    async def tell(self, ctx: Context, message: ServerMessage) -> None:
        params = {**message.params, "elicitationId": "the page"}
        await conversation.tell(ctx, ServerMessage(message.method, params))
