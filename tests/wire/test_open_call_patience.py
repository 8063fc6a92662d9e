"""Patience with open calls: whose turn it is decides whether silence counts."""

from collections.abc import Iterator

import pytest

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.deadline import now
from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    OpenCall,
    Outcome,
    Patience,
    ServerRequest,
    Session,
    StdioTransport,
    keeping,
    open_session,
)
from tests.wire.hostile import AT_ONCE, HANG_SECONDS, SERVE_HANDSHAKE, program
from tests.wire.recorded import exchanges

ASKS = (
    SERVE_HANDSHAKE
    + r"""
ask = b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}'
call = read(); say(ask); said = read()
if "result" in said:
    answer(call, {})
elif "error" in said:
    sys.exit(1)
wait()
"""
)
"""Asks once; answers the call if it was told a result, dies of an error, else says no more."""
SHORT = 0.4


@pytest.fixture
def session() -> Iterator[Session]:
    with (
        StdioTransport(program(ASKS)) as transport,
        open_session(transport, "2025-11-25", deadline=HANG_SECONDS) as opened,
    ):
        yield opened


@pytest.fixture
def patience() -> Iterator[Patience]:
    with keeping(Patience(SHORT)) as kept:
        yield kept


def asked(session: Session) -> tuple[OpenCall, ServerRequest]:
    call = session.open_call("tools/call", {"name": "x", "arguments": {}})
    request = call.next_request(HANG_SECONDS)
    assert request is not None
    return call, request


def test_while_a_question_is_open_silence_is_the_person_s(
    session: Session, patience: Patience
) -> None:
    call, request = asked(session)
    assert call.next_request(SHORT) is None
    for _ in range(2):
        assert call.wait(SHORT).outcome is Outcome.NO_ANSWER
    assert patience.troubles == []
    call.answer(request, result={})
    assert call.wait(HANG_SECONDS).outcome is Outcome.RESULT
    assert call.wait().seconds > SHORT
    assert (patience.troubles, patience.answered) == ([], {"tools/call x"})


def test_after_the_answer_silence_is_the_server_s(session: Session, patience: Patience) -> None:
    call, request = asked(session)
    call.answer(request, raw=b'{"jsonrpc":"2.0"}')
    call.note_answer(request)
    assert call.wait(SHORT).outcome is Outcome.NO_ANSWER
    assert [one.line for one in patience.troubles] == [
        "tools/call x: no answer in time: nothing within 0.4 s"
    ]
    assert [(one.curtailed, one.abandoned) for one in patience.troubles] == [(False, False)]
    began = now()
    assert call.next_request(HANG_SECONDS) is None
    assert session.call("ping", deadline=HANG_SECONDS).outcome is Outcome.NO_ANSWER
    assert now() - began < AT_ONCE, "there is little patience left"


def test_who_waits_for_a_question_in_vain_says_so_at_the_end(
    session: Session, patience: Patience
) -> None:
    call, request = asked(session)
    call.note_answer(request)
    assert call.next_request(SHORT) is None
    assert patience.troubles == []
    assert call.wait(0).outcome is Outcome.NO_ANSWER
    assert [(one.broken_off, one.abandoned) for one in patience.troubles] == [(True, False)]


def test_the_caller_may_say_that_nothing_is_due(session: Session, patience: Patience) -> None:
    """A person at a page takes their time, and no question is open meanwhile."""
    call, request = asked(session)
    call.note_answer(request)
    assert call.next_request(SHORT, due=False) is None
    assert call.wait(SHORT, due=False).outcome is Outcome.NO_ANSWER
    assert patience.troubles == []


def test_what_we_gave_up_is_no_trouble(session: Session, patience: Patience) -> None:
    call, request = asked(session)
    call.note_answer(request)
    call.cancel()
    assert call.wait(SHORT).outcome is Outcome.NO_ANSWER
    call.close()
    assert call.reply is not None
    assert call.reply.detail == "not awaited any longer"
    assert patience.troubles == []


def test_a_server_that_dies_in_an_open_call_is_trouble(
    session: Session, patience: Patience
) -> None:
    call, request = asked(session)
    assert call.wait(2 * SHORT).outcome is Outcome.NO_ANSWER
    call.answer(request, error={"code": -1, "message": "no"})
    assert call.wait(HANG_SECONDS).outcome is Outcome.CLOSED
    assert [(one.line, one.broken_off) for one in patience.troubles] == [
        ("tools/call x: the connection was closed: command exited with 1", True)
    ]


def test_after_much_silence_no_call_is_opened(session: Session, patience: Patience) -> None:
    call, request = asked(session)
    call.note_answer(request)
    assert call.wait(2 * SHORT + 0.2).outcome is Outcome.NO_ANSWER
    refused = session.open_call("tools/call", {"name": "x"})
    assert refused.next_request(HANG_SECONDS) is None
    assert refused.wait().detail == "not asked any more, after so much silence"
    assert not refused.hang_up()


def test_a_call_that_was_left_open_is_not_in_the_next_report(
    session: Session, recorded: Recording, patience: Patience
) -> None:
    call, request = asked(session)
    following = recording.begin()
    call.answer(request, error={"code": -1, "message": "no"})
    patience.begin()
    while call.is_open:
        call.wait(HANG_SECONDS, due=False)
    assert call.wait().outcome is Outcome.CLOSED
    assert [one.method for one in exchanges(following)] == ["answer to elicitation/create"]
    assert patience.troubles == []
    recording.resume(recorded)
