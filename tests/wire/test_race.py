"""Races: close enough together to find a server that checks first and consumes later."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_mcp_approval.support.connection import Connection
from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import (
    HttpTransport,
    InProcessTransport,
    Outcome,
    Outgoing,
    Session,
    Transport,
    race,
    race_replicas,
    request_bytes,
)
from pytest_mcp_approval.wire.session import Terms
from tests.wire.hostile import HANG_SECONDS, HostileServer, http, says

RUNNERS = 8


def converse(transport: Transport) -> Session:
    """A session without an opening: these servers know one method only."""
    transport.start(Deadline(HANG_SECONDS))
    terms = Terms("2025-11-25")
    return Session(transport, terms, client_info={}, client_capabilities={}, deadline=HANG_SECONDS)


class Tickets:
    """A ticket that may be used once, looked at and used up with `gap()` in between."""

    def __init__(self) -> None:
        self.unused = 0
        self.runs = 0
        self.lock = threading.Lock()


def take_over_http(tickets: Tickets) -> Any:
    """Looks whether others ask meanwhile: a request that is alone shows no bug, however slow."""
    together = threading.Barrier(2)

    def behave(connection: Any, request: bytes) -> None:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        allowed = tickets.unused > 0
        try:
            together.wait(0.1)
        except threading.BrokenBarrierError:
            together.reset()
        if allowed:
            with tickets.lock:
                tickets.unused -= 1
                tickets.runs += 1
        answer = {"jsonrpc": "2.0", "id": body["id"], "result": allowed}
        connection.sendall(http(json.dumps(answer).encode()))

    return behave


def test_a_last_byte_race_finds_the_double_run() -> None:
    tickets = Tickets()
    with HostileServer(take_over_http(tickets)) as server, HttpTransport(server.url) as transport:
        session = converse(transport)
        tickets.unused, tickets.runs = 1, 0
        # One after the other the server looks healthy.
        assert [session.call("take").result for _ in range(2)] == [True, False]
        assert tickets.runs == 1
        tickets.unused, tickets.runs = 1, 0
        ran = race(session, [("take", None)] * RUNNERS)
        assert tickets.runs > 1
        assert sum(reply.result for reply in ran) == tickets.runs


class CountingTransport(HttpTransport):
    """Knows how many connections it opened: a server that is short of time counts them late."""

    opened = 0

    def connect(self, deadline: Deadline) -> Connection:
        connection = super().connect(deadline)
        self.opened += 1
        return connection


def test_no_request_is_complete_before_all_are_nearly_there() -> None:
    """Each server thread notes when its request is whole: only after all connections are open."""
    open_when_whole: list[int] = []

    def notes(connection: Any, request: bytes) -> None:
        open_when_whole.append(transport.opened)
        says(http(b'{"jsonrpc":"2.0","id":7,"result":1}'))(connection, request)

    with HostileServer(notes) as server, CountingTransport(server.url) as transport:
        together = [Outgoing(request_bytes(7, "x"), 7)] * RUNNERS
        replies = transport.exchange_together(together, Deadline(HANG_SECONDS))
        assert [reply.result for reply in replies] == [1] * RUNNERS
        assert open_when_whole == [RUNNERS] * RUNNERS


def test_replicas_are_raced_across() -> None:
    tickets = Tickets()
    behave = take_over_http(tickets)
    with (
        HostileServer(behave) as one,
        HostileServer(behave) as two,
        HttpTransport(one.url) as first,
        HttpTransport(two.url) as second,
    ):
        sessions = [converse(first), converse(second)]
        tickets.unused = 1
        ran = race_replicas([(session, ("take", None)) for session in sessions * 3])
        assert tickets.runs > 1
        assert (len(one.requests), len(two.requests)) == (3, 3)
        assert sum(reply.result for reply in ran) == tickets.runs


def test_replicas_need_http() -> None:
    async def nothing(scope: Any, receive: Any, send: Any) -> None: ...

    with (
        InProcessTransport(nothing) as transport,
        pytest.raises(ValueError, match="over HTTP only"),
    ):
        race_replicas([(converse(transport), ("x", None))])


@pytest.mark.parametrize("atomic", [True, False])
def test_a_gathered_race_finds_the_double_run(atomic: bool) -> None:
    tickets = Tickets()

    async def application(scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        assert scope["type"] == "http"
        body, more = b"", True
        while more:
            piece = await receive()
            body, more = body + piece["body"], piece["more_body"]
        allowed = tickets.unused > 0
        if not atomic:
            await asyncio.sleep(0)
        if allowed:
            tickets.unused -= 1
            tickets.runs += 1
        answer = {"jsonrpc": "2.0", "id": json.loads(body)["id"], "result": allowed}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    with InProcessTransport(application) as transport:
        session = converse(transport)
        tickets.unused = 1
        ran = race(session, [("take", None)] * RUNNERS)
        assert tickets.runs == (1 if atomic else RUNNERS)
        assert sum(reply.result for reply in ran) == tickets.runs


def test_one_silent_runner_costs_the_others_nothing() -> None:
    lock = threading.Lock()
    served: list[int] = []

    def silent_at_first(connection: Any, request: bytes) -> None:
        with lock:
            served.append(1)
            first = len(served) == 1
        if not first:
            says(http(b'{"jsonrpc":"2.0","id":7,"result":1}'))(connection, request)

    with HostileServer(silent_at_first) as server, HttpTransport(server.url) as transport:
        together = [Outgoing(request_bytes(7, "x"), 7)] * 4
        replies = transport.exchange_together(together, Deadline(3))
    outcomes = [reply.outcome for reply in replies]
    assert outcomes.count(Outcome.RESULT) == 3
    assert outcomes.count(Outcome.NO_ANSWER) == 1


def test_nobody_there() -> None:
    with HostileServer(says()) as server:
        url = server.url
    with HttpTransport(url) as transport:
        ran = race(converse(transport), [("x", None)] * 3)
    assert [reply.outcome for reply in ran] == [Outcome.UNREACHABLE] * 3
