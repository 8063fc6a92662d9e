"""Applications in this process: lifespan, faults, and a clock that somebody has frozen."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import freezegun
import pytest

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import (
    ApplicationFailedError,
    InProcessTransport,
    Outcome,
    Outgoing,
    Reply,
    open_session,
    request_bytes,
)
from tests.wire.hostile import AT_ONCE, HANG_SECONDS
from tests.wire.sample_server import TOOLS, build

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[None]]

OK = b'{"jsonrpc":"2.0","id":7,"result":{"ok":true}}'


def ask(transport: InProcessTransport, seconds: float = HANG_SECONDS) -> Reply:
    return transport.exchange(Outgoing(request_bytes(7, "ping"), 7, "ping"), Deadline(seconds))


async def start(send: Send, status: int = 200, kind: bytes = b"application/json") -> None:
    headers = [(b"content-type", kind)]
    await send({"type": "http.response.start", "status": status, "headers": headers})


def only_http(handle: Callable[[Receive, Send], Awaitable[None]]) -> Application:
    """An application without a lifespan, which says so as ASGI wants it: by raising."""

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await handle(receive, send)

    return application


async def answers(receive: Receive, send: Send) -> None:
    await start(send)
    await send({"type": "http.response.body", "body": OK})


async def raises(receive: Receive, send: Send) -> None:
    raise LookupError("no \x1b[31mtool")


async def leaves(receive: Receive, send: Send) -> None:
    await start(send)


async def exits(receive: Receive, send: Send) -> None:
    raise SystemExit(3)


async def waits(receive: Receive, send: Send) -> None:
    await asyncio.Event().wait()


async def floods(receive: Receive, send: Send) -> None:
    await start(send)
    while True:
        await send({"type": "http.response.body", "body": b"x" * 2**20, "more_body": True})


async def streams_for_ever(receive: Receive, send: Send) -> None:
    await start(send, kind=b"text/event-stream")
    await send({"type": "http.response.body", "body": b"data: " + OK + b"\n\n", "more_body": True})
    while True:
        await send({"type": "http.response.body", "body": b": more\n\n", "more_body": True})


async def refuses(receive: Receive, send: Send) -> None:
    await start(send, 503, b"text/plain")
    await send({"type": "http.response.body", "body": b"busy"})


@pytest.mark.parametrize(
    ("handle", "outcome", "words"),
    [
        (answers, Outcome.RESULT, 'result {"ok":true}'),
        (
            raises,
            Outcome.CLOSED,
            r"the connection was closed: the application raised LookupError: no \u001b[31mtool",
        ),
        (
            leaves,
            Outcome.CLOSED,
            "the connection was closed: the application returned without an answer",
        ),
        (exits, Outcome.CLOSED, "the connection was closed: the application raised SystemExit: 3"),
        (waits, Outcome.NO_ANSWER, "no answer in time: nothing within 0.5 s"),
        (floods, Outcome.TOO_LARGE, "too large: more than 8388608 bytes, at most 8388608 are read"),
        (streams_for_ever, Outcome.RESULT, 'result {"ok":true}'),
        (refuses, Outcome.HTTP_STATUS, "HTTP 503 without JSON-RPC: busy"),
    ],
)
def test_each_deed_has_its_outcome(
    handle: Callable[[Receive, Send], Awaitable[None]], outcome: Outcome, words: str
) -> None:
    with InProcessTransport(only_http(handle)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        reply = ask(transport, 0.5 if handle is waits else HANG_SECONDS)
        assert (reply.outcome, reply.describe()) == (outcome, words)
        assert reply.seconds < AT_ONCE


def test_the_next_call_is_served_after_each_misdeed() -> None:
    deeds = [raises, exits, waits, answers]

    async def next_deed(receive: Receive, send: Send) -> None:
        await deeds.pop(0)(receive, send)

    with InProcessTransport(only_http(next_deed)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        times = [0.3 if deed is waits else HANG_SECONDS for deed in deeds]
        outcomes = [ask(transport, seconds).outcome for seconds in times]
    assert outcomes == [Outcome.CLOSED, Outcome.CLOSED, Outcome.NO_ANSWER, Outcome.RESULT]


def test_an_application_that_blocks_its_loop_blocks_no_test() -> None:
    release = threading.Event()

    async def blocks(receive: Receive, send: Send) -> None:
        release.wait(30)

    with InProcessTransport(only_http(blocks)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport, 0.2).outcome is Outcome.NO_ANSWER
        release.set()


def test_a_client_that_goes_is_noticed() -> None:
    noticed = threading.Event()

    async def watches(receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        noticed.set()

    with InProcessTransport(only_http(watches)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport, 0.1).outcome is Outcome.NO_ANSWER
        assert noticed.wait(HANG_SECONDS)


def test_lifespan_is_lived() -> None:
    heard: list[str] = []

    async def application(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                kind = (await receive())["type"]
                heard.append(kind)
                scope["state"]["ready"] = True
                await send({"type": f"{kind}.complete"})
        else:
            heard.append(f"ready {scope['state']['ready']}")
            await answers(receive, send)

    with InProcessTransport(application) as transport:
        transport.start(Deadline(HANG_SECONDS))
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport).outcome is Outcome.RESULT
    assert heard == ["lifespan.startup", "ready True", "lifespan.shutdown"]
    assert ask(transport).describe() == "the connection was closed: not started, or stopped"


async def fails_to_start(scope: Any, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})


async def never_starts(scope: Any, receive: Receive, send: Send) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("application", "words"),
    [
        (fails_to_start, "fails_to_start in this process: start-up failed: no database"),
        (never_starts, r"never_starts in this process: not started within 0\.3 s"),
    ],
)
def test_what_does_not_start_is_told(application: Application, words: str) -> None:
    with (
        InProcessTransport(application) as transport,
        pytest.raises(ApplicationFailedError, match=words),
    ):
        open_session(transport, deadline=0.3)


@pytest.mark.parametrize("real_asyncio", [False, True])
def test_timers_run_while_the_clock_is_frozen(real_asyncio: bool) -> None:
    async def takes_a_moment(receive: Receive, send: Send) -> None:
        await asyncio.wait_for(asyncio.sleep(0.01), HANG_SECONDS)
        await answers(receive, send)

    with (
        freezegun.freeze_time("2030-06-01 12:00:00", real_asyncio=real_asyncio),
        InProcessTransport(only_http(takes_a_moment)) as transport,
    ):
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport).outcome is Outcome.RESULT


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("real_asyncio", [False, True])
def test_a_frozen_clock_stops_neither_answers_nor_deadlines(
    protocol: str, real_asyncio: bool
) -> None:
    with (
        freezegun.freeze_time("2030-06-01 12:00:00", real_asyncio=real_asyncio) as frozen,
        InProcessTransport(build().streamable_http_app()) as transport,
        open_session(transport, protocol) as session,
    ):
        assert len(session.list_tools()) == len(TOOLS)
        frozen.move_to("2031-01-01")
        reply = session.call("tools/call", {"name": "wait", "arguments": {}}, deadline=0.2)
        assert reply.outcome is Outcome.NO_ANSWER
        assert 0.15 <= reply.seconds < AT_ONCE
        echo = session.call("tools/call", {"name": "echo", "arguments": {"a": 1}})
        assert json.loads(echo.result["content"][0]["text"]) == {"a": 1}
