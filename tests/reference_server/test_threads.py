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
    """Notes whether a call has the loop's thread to itself."""

    def call(self, name, arguments, caller):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self.__dict__.setdefault("on_loop", []).append(False)
        else:
            self.__dict__.setdefault("on_loop", []).append(True)
        if (meeting := self.__dict__.get("meeting")) is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                meeting.wait(SECONDS)
                self.__dict__.setdefault("met", []).append(name)
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
    session, extension = opened(build_watched())
    for _ in range(2):
        assert session.call(*CALL).result is not None
    assert extension.on_loop == [True, True]


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
