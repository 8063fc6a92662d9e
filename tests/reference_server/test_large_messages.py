"""Large messages at the door: bounded in bytes and in values, and nobody else waits for them."""

import json
import threading
import tracemalloc

import anyio
import pytest

from pytest_mcp_approval.reference_server import build
from pytest_mcp_approval.reference_server.server import door, door_http, door_thread
from tests.reference_server.running import HEADERS, MODERN, HttpClient, exchange, process, serving
from tests.reference_server.test_door import request

LARGE = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"%s"}}' % (
    b"x" * door_thread.LARGE_BYTES
)


@pytest.fixture(scope="module")
def port():
    with serving(build()) as port:
        yield port


@pytest.fixture
def held_check(monkeypatch):
    """Large messages are not done before the test says so; `begun` when one has begun."""
    begun, go_on, check = threading.Event(), threading.Event(), door.check

    def held(body):
        if len(body) > door_thread.LARGE_BYTES:
            begun.set()
            assert go_on.wait(20)
        return check(body)

    monkeypatch.setattr(door, "check", held)
    yield begun, go_on
    go_on.set()


def test_values_are_counted_and_the_text_between_them_is_not():
    most = door.MAXIMUM_VALUES
    door.check(request("[" + "0," * (most - 10) + "0]"))
    door.check(request(json.dumps("[{," * most)))
    door.check(request(json.dumps('\\"[{,' * (most // 4))))
    for body in (
        b"[" + b"0," * most + b"0]",
        b"[]," * most,
        b"{" * most * 2,
        b'","' + b"," * most * 2,
    ):
        with pytest.raises(door.TooManyValuesRefusal) as caught:
            door.check(body)
        assert caught.value.to_json()["error"]["code"] == door.INVALID_REQUEST


def test_too_many_values_are_counted_without_being_made():
    body = request("[" + "[]," * (door.MAXIMUM_BYTES // 3 - 100) + "0]")
    tracemalloc.start()
    try:
        with pytest.raises(door.TooManyValuesRefusal):
            door.check(body)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * len(body), "as values they would take twenty times as much"


def test_a_small_message_does_not_wait_for_a_large_one(port, held_check):
    begun, go_on = held_check
    client = HttpClient(port, MODERN)
    answered = []
    other = threading.Thread(target=lambda: answered.append(exchange(port, LARGE, HEADERS)))
    other.start()
    assert begun.wait(20)
    assert client.request("tools/list")["result"]["tools"]
    assert not answered
    go_on.set()
    other.join(20)
    assert answered


def test_large_messages_take_turns_and_do_not_wait_for_ever(port, held_check, monkeypatch):
    begun, go_on = held_check
    monkeypatch.setattr(door_thread, "WAIT_SECONDS", 0.01)
    answered = []
    first = threading.Thread(target=lambda: answered.append(exchange(port, LARGE, HEADERS)))
    first.start()
    assert begun.wait(20)
    status, _, content = exchange(port, LARGE, HEADERS)
    assert (status, json.loads(content)["error"]["code"]) == (503, door.INTERNAL_ERROR)
    go_on.set()
    first.join(20)
    assert answered[0][0] != 503
    assert exchange(port, LARGE, HEADERS)[0] != 503


def test_over_stdio_a_large_message_is_checked_beside_the_loop(monkeypatch):
    threads = []
    monkeypatch.setattr(door, "let_in", lambda _: threads.append(threading.get_ident()))

    async def both():
        await door_thread.let_in(b"{}")
        await door_thread.let_in(LARGE)

    anyio.run(both)
    assert threads[0] == threading.get_ident() != threads[1]


def test_over_stdio_large_messages_keep_their_order():
    large = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"t": "x" * 300_000}})
    bad = [b"[" + b"0," * door.MAXIMUM_VALUES + b"0]", b"nonsense"]
    with process("--stdio") as running:
        running.stdin.write(b"\n".join([*bad, large.encode(), b""]))
        running.stdin.flush()
        answers = [json.loads(running.stdout.readline()) for _ in range(3)]
    assert [one["error"]["code"] for one in answers[:2]] == [-32600, -32700]
    assert answers[2]["id"] == 1


def test_a_body_that_does_not_arrive_is_not_waited_for(port, monkeypatch):
    monkeypatch.setattr(door_http, "READ_SECONDS", 0.01)
    headers = {**HEADERS, "Content-Length": "1000"}
    status, answered, content = exchange(port, b"{", headers)
    assert (status, answered["connection"]) == (408, "close")
    assert json.loads(content)["error"]["code"] == door.INVALID_REQUEST
