"""Open calls in an application in this process: its faults, its streams, and a frozen clock."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import freezegun
import pytest

from pytest_mcp_approval.wire import (
    InProcessTransport,
    OpenCall,
    Outcome,
    ServerRequest,
    Session,
    open_session,
)
from tests.wire.conftest import CAN_BE_ASKED
from tests.wire.hostile import HANG_SECONDS

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handle = Callable[["Conversation", Any], Awaitable[None]]

QUESTION = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}


class Conversation:
    """One request of the client's, and ways to answer it."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send

    async def start(self, status: int = 200, kind: bytes = b"text/event-stream") -> None:
        headers = [(b"content-type", kind), (b"mcp-session-id", b"s")]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def say(self, message: object) -> None:
        data = b"data: " + json.dumps(message).encode() + b"\n\n"
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def answer(self, body: object, status: int = 200) -> None:
        await self.start(status, b"application/json")
        data = b"" if body is None else json.dumps(body).encode()
        await self._send({"type": "http.response.body", "body": data})

    async def wait_for_the_client_to_go(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


class Application:
    """Opens sessions properly; `on_call` and `on_get` do what they like."""

    def __init__(self, on_call: Handle, on_get: Handle | None = None) -> None:
        self.on_call, self.on_get = on_call, on_get
        self.answers: asyncio.Queue[Any] = asyncio.Queue()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        here = Conversation(receive, send)
        if scope["method"] == "GET":
            await (self.on_get(here, self) if self.on_get else here.answer(None, 405))
            return
        body = (await receive())["body"]
        message = json.loads(body) if body else {}
        match message.get("method"):
            case "initialize":
                terms = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
                await here.answer({"jsonrpc": "2.0", "id": message["id"], "result": terms})
            case "tools/call":
                await self.on_call(here, self)
            case None if body:
                await self.answers.put(message)
                await here.answer(None, 202)
            case _:
                await here.answer(None, 202)


@contextmanager
def talking_to(on_call: Handle, on_get: Handle | None = None) -> Iterator[Session]:
    with (
        InProcessTransport(Application(on_call, on_get)) as transport,
        open_session(
            transport, "2025-11-25", capabilities=CAN_BE_ASKED, deadline=HANG_SECONDS
        ) as session,
    ):
        yield session


def opened(session: Session) -> OpenCall:
    return session.open_call("tools/call", {"name": "x", "arguments": {}})


def question(call: OpenCall) -> ServerRequest:
    request = call.next_request(HANG_SECONDS)
    assert request is not None, call.reply
    return request


async def asks_and_repeats(here: Conversation, application: Any) -> None:
    await here.start()
    await here.say(QUESTION)
    told = await application.answers.get()
    await here.say({"jsonrpc": "2.0", "id": 2, "result": told["result"]})


async def asks_and_raises(here: Conversation, application: Any) -> None:
    await here.start()
    await here.say(QUESTION)
    await application.answers.get()
    raise LookupError("no tool")


async def asks_without_end(here: Conversation, application: Any) -> None:
    await here.start()
    while True:
        await here.say(QUESTION)


@pytest.mark.parametrize("real_asyncio", [False, True])
def test_a_frozen_clock_stops_no_open_call(real_asyncio: bool) -> None:
    with (
        freezegun.freeze_time("2030-06-01 12:00:00", real_asyncio=real_asyncio) as frozen,
        talking_to(asks_and_repeats) as session,
        opened(session) as call,
        session.listen() as stream,
    ):
        asked = question(call)
        assert stream.notifications(0.01) == []
        assert call.wait(0.05).outcome is Outcome.NO_ANSWER
        frozen.move_to("2031-01-01")
        assert call.is_open
        call.answer(asked, result={"action": "accept"})
        assert call.wait(HANG_SECONDS).result == {"action": "accept"}


def test_an_application_that_raises_ends_its_call() -> None:
    with talking_to(asks_and_raises) as session, opened(session) as call:
        call.answer(question(call), result={})
        assert call.wait(HANG_SECONDS).describe() == (
            "the connection was closed: the application raised LookupError: no tool"
        )


def test_an_application_that_asks_without_end_is_bounded() -> None:
    with talking_to(asks_without_end) as session, opened(session) as call:
        assert question(call).id == "q"
        assert call.wait(HANG_SECONDS).describe() == (
            "too large: more than 500 requests of its own in one answer"
        )


def test_an_application_notices_that_its_caller_hangs_up() -> None:
    noticed = threading.Event()

    async def asks_and_watches(here: Conversation, application: Any) -> None:
        await here.start()
        await here.say(QUESTION)
        await here.wait_for_the_client_to_go()
        noticed.set()

    with talking_to(asks_and_watches) as session:
        call = opened(session)
        question(call)
        assert call.hang_up()
        assert noticed.wait(HANG_SECONDS)
        assert call.reply is not None
        assert call.reply.describe() == "the connection was closed: this client hung up"


def test_a_stream_is_refused_or_ended_or_listened_to() -> None:
    notes = [{"jsonrpc": "2.0", "method": f"notifications/{n}"} for n in range(2)]

    async def ends(here: Conversation, application: Any) -> None:
        await here.start()
        await here.say(notes[0])

    async def stays(here: Conversation, application: Any) -> None:
        await here.start()
        for note in notes:
            await here.say(note)
        await here.wait_for_the_client_to_go()

    with talking_to(asks_and_repeats) as session, session.listen() as stream:
        assert (stream.is_open, stream.reply and stream.reply.status) == (False, 405)
    with talking_to(asks_and_repeats, ends) as session, session.listen() as stream:
        assert len(stream.notifications(HANG_SECONDS, at_least=2)) == 1
        assert not stream.is_open
    with talking_to(asks_and_repeats, stays) as session, session.listen() as stream:
        assert len(stream.notifications(HANG_SECONDS, at_least=2)) == 2
        assert stream.is_open


def test_a_transport_that_is_closed_ends_its_calls() -> None:
    with talking_to(asks_and_repeats) as session:
        call = opened(session)
        question(call)
        session.transport.close()
        assert call.wait(HANG_SECONDS).outcome is Outcome.CLOSED
        late = opened(session)
        assert late.wait(HANG_SECONDS).describe() == (
            "the connection was closed: not started, or stopped"
        )
