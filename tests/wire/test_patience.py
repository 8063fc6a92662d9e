"""Patience: how long is waited after a silence, and what counts as trouble."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.support.leftovers import MARK, end_marked, marked, new_mark
from pytest_mcp_approval.wire import (
    Outcome,
    Outgoing,
    Patience,
    Reply,
    StdioTransport,
    keeping,
    request_bytes,
)
from tests.wire.hostile import HANG_SECONDS, program

CALL = request_bytes(1, "tools/call", {"name": "trade", "arguments": {}})
ANSWER = Reply(Outcome.RESULT, message={"result": {}})


def silence(seconds: float) -> Reply:
    return Reply(Outcome.NO_ANSWER, detail="nothing", seconds=seconds)


def asks(method: str = "x", body: bytes = b"{}", *headers: tuple[str, str]) -> Outgoing:
    return Outgoing(body, 1, method, headers)


def hear(patience: Patience, reply: Reply, method: str = "x", body: bytes = b"{}") -> None:
    patience.heard(asks(method, body), reply)


def test_the_first_silence_of_a_check_takes_its_time_and_the_next_ones_little() -> None:
    patience = Patience(10)
    given = Deadline(10)
    assert patience.allow(asks("x"), given) is given
    hear(patience, silence(10))
    again = patience.allow(asks("x"), Deadline(10))
    assert again is not None
    assert again.seconds == 0.5
    hear(patience, silence(0.5))
    assert patience.allow(asks("y"), Deadline(10)) is None
    assert [one.curtailed for one in patience.troubles] == [False, True]
    patience.begin()
    assert patience.allow(asks("x"), given) is given


def test_who_gives_up_early_proves_no_silence() -> None:
    """A scenario may leave a call at once: the next one is waited for as long as ever."""
    patience, whole = Patience(10), Deadline(10)
    patience.allow(asks("x"), Deadline(0.1))
    hear(patience, silence(0.1))
    assert [one.abandoned for one in patience.troubles] == [True]
    assert patience.allow(asks("x"), whole) is whole
    hear(patience, silence(10))
    assert [one.abandoned for one in patience.troubles] == [True, False]


def test_what_was_silent_in_three_checks_gets_a_second() -> None:
    patience = Patience(10)
    for _ in range(3):
        patience.begin()
        patience.allow(asks("tools/call", CALL), Deadline(10))
        hear(patience, silence(10), "tools/call", CALL)
    patience.begin()
    less = patience.allow(asks("tools/call", CALL), Deadline(10))
    assert less is not None
    assert less.seconds == 1.0
    other = request_bytes(1, "tools/call", {"name": "other"})
    given = Deadline(10)
    assert patience.allow(asks("tools/call", other), given) is given
    hear(patience, ANSWER, "tools/call", CALL)
    assert patience.allow(asks("tools/call", CALL), given) is given


def test_an_answer_of_the_same_kind_ends_the_trouble() -> None:
    patience = Patience(1)
    hear(patience, Reply(Outcome.CLOSED, detail="bye"), "tools/call", CALL)
    hear(patience, ANSWER, "x")
    assert [one.line for one in patience.troubles] == [
        "tools/call trade: the connection was closed: bye"
    ]
    assert patience.last is None
    hear(patience, ANSWER, "tools/call", CALL)
    assert patience.troubles == []
    assert patience.samples["tools/call trade"] == CALL


@pytest.mark.parametrize(
    ("status", "header", "ended"),
    [(404, "Mcp-Session-Id", True), (404, "X", False), (400, "Mcp-Session-Id", False)],
)
def test_a_session_that_was_ended_is_trouble(status: int, header: str, ended: bool) -> None:
    patience = Patience(1)
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Session not found"}}
    reply = Reply(Outcome.ERROR, message=error, status=status)
    patience.heard(asks("x", b"{}", (header, "1")), reply)
    assert [one.line for one in patience.troubles] == (
        ["x: the server ended the session (HTTP 404)"] if ended else []
    )


def test_transports_ask_the_patience_in_force() -> None:
    patience = Patience(0.4)
    with StdioTransport(program("wait()")) as transport, keeping(patience):
        transport.start(Deadline(HANG_SECONDS))
        for number in (1, 2, 3, 4):
            reply = transport.exchange(
                Outgoing(request_bytes(number, "x"), number, "x"), Deadline(0.4)
            )
            assert reply.outcome is Outcome.NO_ANSWER
    assert reply.describe() == "no answer in time: not asked any more, after so much silence"
    assert len(patience.troubles) == 4


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_left_its_group_is_found_and_ended() -> None:
    mark = new_mark()
    text = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
    process = subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", text],
        env={**os.environ, **mark},
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 20)[0]
        assert marked(mark[MARK]) == [process.pid]
        assert end_marked(mark[MARK]) == 1
        assert process.wait(HANG_SECONDS) == -9
        assert marked(mark[MARK]) == []
    finally:
        process.kill()
        process.communicate()
