"""Which thread does the work of a call: the loop's own for one that is alone, else others."""

import asyncio
import contextlib
import threading

import pytest

from pytest_mcp_approval.reference_server import build
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.wire import InProcessTransport, open_session
from pytest_mcp_approval.wire.race import race

SECONDS = 10.0


class Watched(Sep2672Extension):
    """Notes whether a call has the loop's thread to itself, and which calls meet."""

    def __init__(self, parts):
        super().__init__(parts)
        self.on_loop = []
        self.meeting, self.met = None, []

    def call(self, name, arguments, caller):
        self.on_loop.append(asyncio._get_running_loop() is not None)
        if self.meeting is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                self.meeting.wait(SECONDS)
                self.met.append(name)
        return super().call(name, arguments, caller)


class WaitsElsewhere(Watched):
    waits = True


def build_watched(extension=Watched):
    server = build(extensions={extension.family: extension})
    server.has_quick_calls = True
    return server


@pytest.fixture
def opened():
    with contextlib.ExitStack() as stack:

        def open_with(server):
            transport = stack.enter_context(InProcessTransport(server.asgi_app()))
            return stack.enter_context(open_session(transport)), server.extension(Watched.family)

        yield open_with


CALL = ("tools/call", {"name": "get_quote", "arguments": {"symbol": "AAPL"}})


def test_a_call_that_is_alone_needs_no_thread(opened):
    """Some at least: an answer may be read while the server still clears up after it."""
    session, extension = opened(build_watched())
    for _ in range(10):
        assert session.call(*CALL).result is not None
    assert len(extension.on_loop) == 10
    assert any(extension.on_loop)


def test_calls_that_come_together_are_worked_at_together(opened):
    """Else no race would ever be seen."""
    session, extension = opened(build_watched())
    extension.meeting = threading.Barrier(3)
    race(session, [CALL] * 3)
    assert extension.on_loop == [False] * 3
    assert len(extension.met) == 3


@pytest.mark.parametrize(
    "server",
    [lambda: build_watched(WaitsElsewhere), lambda: build(extensions={Watched.family: Watched})],
    ids=["waits for others", "is used by others"],
)
def test_others_never_wait_for_a_call(opened, server):
    session, extension = opened(server())
    assert session.call(*CALL).result is not None
    assert extension.on_loop == [False]
