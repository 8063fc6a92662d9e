"""What bad programs do on standard input and output: each has its outcome, in clear words."""

import os
import re
import select
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    BadAddressError,
    CommandFailedError,
    NothingAnsweredError,
    NotMcpError,
    Outcome,
    Outgoing,
    Reply,
    StdioTransport,
    WireError,
    open_session,
    race,
    request_bytes,
)
from tests.wire.hostile import AT_ONCE, HANG_SECONDS, SERVE_HANDSHAKE, program
from tests.wire.recorded import exchanges


def ask(transport: StdioTransport, seconds: float = HANG_SECONDS, request_id: int = 7) -> Reply:
    body = request_bytes(request_id, "tools/list")
    return transport.exchange(Outgoing(body, request_id, "tools/list"), Deadline(seconds))


def ask_once(text: str) -> Reply:
    with StdioTransport(program(text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        return ask(transport)


ENDS = [
    pytest.param(
        "read(); print('no database\\n\\x1b[31mred', file=sys.stderr); sys.exit(3)",
        Outcome.CLOSED,
        r"the connection was closed: command exited with 3: no database | \u001b[31mred",
        id="exits with 3",
    ),
    pytest.param(
        "read(); os.kill(os.getpid(), 9)",
        Outcome.CLOSED,
        "the connection was closed: command was ended by SIGKILL",
        id="killed",
    ),
    pytest.param(
        "import subprocess; read(); "
        "subprocess.Popen([sys.executable, '-S', '-c', 'import signal; signal.pause()'], "
        "start_new_session=True); os._exit(3)",
        Outcome.CLOSED,
        "the connection was closed: command exited with 3",
        id="a child holds its output open",
    ),
    pytest.param(
        "import subprocess; read(); "
        "subprocess.Popen([sys.executable, '-S', '-c', "
        "'while True: print(7, flush=True)'], start_new_session=True); os._exit(3)",
        Outcome.GARBAGE,
        "no JSON-RPC: JSON, but not JSON-RPC 2.0; command exited with 3: 7",
        id="a child goes on speaking",
    ),
    pytest.param(
        "read(); sys.exit()",
        Outcome.CLOSED,
        "the connection was closed: command exited with 0",
        id="exits",
    ),
    pytest.param(
        'read(); say(b\'{"jsonrpc":"2.0","id":8,"result":{}}\'); wait()',
        Outcome.WRONG_ID,
        "an answer under another id: id 8",
        id="wrong id",
    ),
    pytest.param(
        'read(); say(b\'{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}\'); wait()',
        Outcome.NULL_ID,
        "an error under the id null: id null, error -32700",
        id="id null",
    ),
    pytest.param(
        "read(); say(b'x' * 100_000_000); wait()",
        Outcome.TOO_LARGE,
        "too large: more than 8388608 bytes in one line",
        id="100 MB",
    ),
    pytest.param(
        "read(); say(b'half an answer'); sys.exit(1)",
        Outcome.GARBAGE,
        "no JSON-RPC: not JSON; command exited with 1: half an answer",
        id="garbage, then exits",
    ),
]


@pytest.mark.parametrize(("text", "outcome", "words"), ENDS)
def test_each_misdeed_has_its_outcome(text: str, outcome: Outcome, words: str) -> None:
    reply = ask_once(text)
    assert reply.outcome is outcome
    assert reply.describe() == words
    assert reply.seconds < AT_ONCE


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        pytest.param(
            "wait()", Outcome.NO_ANSWER, "no answer in time: nothing within 2 s", id="silence"
        ),
        pytest.param(
            "say(b'\\xff\\x00'); wait()",
            Outcome.GARBAGE,
            r"no JSON-RPC: not UTF-8: \xff\u0000",
            id="not UTF-8",
        ),
        pytest.param(
            "os.close(1); sys.stderr.write('bye'); sys.stderr.flush(); wait()",
            Outcome.CLOSED,
            "the connection was closed: its standard output was closed: bye",
            id="closes standard output",
        ),
    ],
)
def test_what_takes_the_whole_deadline(text: str, outcome: Outcome, words: str) -> None:
    """It already runs when it is asked: its start does not count."""
    with StdioTransport(program("answer(read(), 0); read()\n" + text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport, request_id=6).result == 0
        reply = ask(transport, 2)
    assert reply.outcome is outcome
    assert reply.describe() == words
    assert reply.seconds < AT_ONCE


def test_a_program_that_never_reads_blocks_nobody() -> None:
    """More than a pipe holds: the write must end at its deadline, and so must those after it."""
    with StdioTransport(program("import signal; signal.pause()")) as transport:
        transport.start(Deadline(HANG_SECONDS))
        huge = Outgoing(b"x" * 2**20, 1, "huge")
        reply = transport.exchange(huge, Deadline(0.3))
        assert reply.describe() == (
            "no answer in time: it read nothing from its standard input for 0.3 s"
        )
        assert ask(transport, 0.2).outcome is Outcome.NO_ANSWER


def test_what_was_not_taken_in_time_does_not_spoil_the_next_message(tmp_path: Path) -> None:
    """The rest of a message that was given up is written before the next one begins."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    text = f"open({str(gate)!r}).close(); first = sys.stdin.buffer.readline(); request = read(); "
    text += "answer(request, len(first)); wait()"
    with StdioTransport(program(text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        given_up = transport.exchange(Outgoing(b"x" * 2**18, 1), Deadline(0.2))
        assert given_up.outcome is Outcome.NO_ANSWER
        gate.write_bytes(b"")  # only now does it begin to read
        assert ask(transport).result == 2**18 + 1


def test_the_reader_survives_a_line_beyond_measure() -> None:
    text = "read(); say(b'x' * 3000); request = read(); answer(request, 'fine'); wait()"
    with StdioTransport(program(text)) as transport:
        transport.limit = 1000
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport).outcome is Outcome.TOO_LARGE
        assert ask(transport, request_id=8).result == "fine"


def test_prints_before_the_answer_are_passed_over(recorded: Recording) -> None:
    text = "say(b'Starting...'); request = read(); say(b'!'); answer(request, 1)"
    with StdioTransport(program(text + "; wait()")) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport).result == 1
        overheard = [one.received.head for one in exchanges(recorded) if one.outcome is None]
        assert overheard == [b"Starting...", b"!"]


class Overhearing(StdioTransport):
    """Knows when something has come that nobody asked for."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(command)
        self.heard = threading.Event()

    def overheard(self, *what: Any) -> None:
        super().overheard(*what)
        self.heard.set()


def test_what_is_printed_before_the_first_question_is_told_if_nothing_else_comes() -> None:
    with Overhearing(program("say(b'Usage: ...'); wait()")) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert transport.heard.wait(HANG_SECONDS)
        with pytest.raises(NotMcpError, match=re.escape("not JSON: Usage: ...")):
            open_session(transport, deadline=0.5)


def test_what_is_printed_first_does_not_explain_a_later_silence() -> None:
    text = "say(b'Starting...'); request = read(); answer(request, 1); wait()"
    with Overhearing(program(text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert transport.heard.wait(HANG_SECONDS)
        assert ask(transport).result == 1
        assert ask(transport, 0.1, request_id=8).outcome is Outcome.NO_ANSWER


def test_a_late_answer_is_not_taken_for_another(recorded: Recording) -> None:
    text = "first = read(); second = read(); answer(first, 'late'); answer(second, 'right'); wait()"
    with StdioTransport(program(text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport, 0.1).outcome is Outcome.NO_ANSWER
        assert ask(transport, request_id=8).result == "right"
        details = [one.detail for one in exchanges(recorded)]
        assert "a late or second answer" in details


def test_answers_out_of_order_find_their_requests() -> None:
    text = SERVE_HANDSHAKE + "asked = [read() for _ in range(3)]\n"
    text += "for request in reversed(asked): answer(request, request['params']['n'])\nwait()"
    with StdioTransport(program(text)) as transport, open_session(transport) as session:
        ran = race(session, [("x", {"n": n}) for n in range(3)])
    assert [reply.result for reply in ran] == [0, 1, 2]


def test_one_id_cannot_wait_twice() -> None:
    with StdioTransport(program("read(); wait()")) as transport:
        transport.start(Deadline(HANG_SECONDS))
        twice = [Outgoing(request_bytes(7, "x"), 7)] * 2
        with pytest.raises(ValueError, match="under one id"):
            transport.exchange_together(twice, Deadline(HANG_SECONDS))
        assert ask(transport, 0.1).outcome is Outcome.NO_ANSWER


def test_the_very_bytes_go_both_ways(tmp_path: Path) -> None:
    got = tmp_path / "got"
    sent = b'{ "id":7,"a":NaN,"a":"\\ud800\xff"}\r'
    back = b'{"id" : 7, "jsonrpc":"2.0","result":[1,  2]}'
    text = "line = sys.stdin.buffer.readline(); "
    text += f"open({str(got)!r}, 'wb').write(line); say({back!r}); wait()"
    with StdioTransport(program(text)) as transport:
        transport.start(Deadline(HANG_SECONDS))
        reply = transport.exchange(Outgoing(sent, 7), Deadline(HANG_SECONDS))
    assert got.read_bytes() == sent + b"\n"
    assert reply.raw == back


def test_after_the_end_every_call_says_so() -> None:
    with StdioTransport(program("print('why', file=sys.stderr); sys.exit(3)")) as transport:
        transport.start(Deadline(HANG_SECONDS))
        for number in (1, 2):
            reply = ask(transport, request_id=number)
            assert reply.describe() == "the connection was closed: command exited with 3: why"
    assert ask(transport).describe() == "the connection was closed: not started, or stopped"


@pytest.mark.parametrize("stubborn", [False, True], ids=["leaves", "ignores signals"])
def test_nothing_is_left_behind(stubborn: bool) -> None:
    """Neither the program nor what it started, even if they ignore every polite request."""
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if stubborn else ""
    text = deaf + "import subprocess\n"
    text += "child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])\n"
    text += "request = read(); answer(request, [os.getpid(), child.pid])\n"
    text += "signal.pause()" if stubborn else "wait()"
    transport = StdioTransport(program(text))
    transport.start(Deadline(HANG_SECONDS))
    watched = [os.pidfd_open(number) for number in ask(transport).result]
    assert len(watched) == 2
    transport.close()
    transport.close()
    for descriptor in watched:
        # Readable once the process has ended; the kernel takes a moment over what was killed.
        assert select.select([descriptor], [], [], HANG_SECONDS)[0]
        os.close(descriptor)


# Opening a conversation


def test_a_server_that_dies_of_the_first_question_is_started_again() -> None:
    text = "request = read()\nif request['method'] != 'initialize': sys.exit(1)\n"
    text += "answer(request, {'protocolVersion': '2025-06-18'}); read(); wait()"
    with (
        StdioTransport(program(text)) as transport,
        open_session(transport, deadline=HANG_SECONDS) as session,
    ):
        assert session.revision == "2025-06-18"
        assert (session.capabilities, session.server_info) == ({}, {})


def test_an_old_server_is_found_out() -> None:
    with StdioTransport(program(SERVE_HANDSHAKE + "wait()")) as transport:
        assert open_session(transport, deadline=HANG_SECONDS).revision == "2025-11-25"


def test_a_slow_starter_that_chose_the_new_era_is_asked_again() -> None:
    """It answered our first question too late, and now refuses the old handshake."""
    text = "first = read(); second = read()\n"
    text += "say(json.dumps({'jsonrpc': '2.0', 'id': second['id'], 'error': "
    text += "{'code': -32022, 'message': '', 'data': {'supported': ['2026-07-28']}}}).encode())\n"
    text += "answer(read(), {'supportedVersions': ['2026-07-28'], 'capabilities': {}}); wait()"
    with StdioTransport(program(text)) as transport:
        assert open_session(transport, deadline=6).revision == "2026-07-28"


@pytest.mark.parametrize(
    ("command", "kind", "words", "seconds"),
    [
        pytest.param(
            ["no-such-command-at-all"],
            CommandFailedError,
            "no such command: no-such-command",
            HANG_SECONDS,
            id="missing",
        ),
        pytest.param(
            ["/"],
            CommandFailedError,
            "cannot run '/': Permission denied",
            HANG_SECONDS,
            id="directory",
        ),
        pytest.param(
            ["a\0b"], CommandFailedError, "cannot run .*embedded null", HANG_SECONDS, id="null"
        ),
        pytest.param(
            program("print('no \\x1b[1mkey', file=sys.stderr); sys.exit(3)"),
            CommandFailedError,
            re.escape(r"command exited with 3: no \u001b[1mkey"),
            HANG_SECONDS,
            id="exits",
        ),
        pytest.param(
            program("wait()"), NothingAnsweredError, "nothing within 1 s", 1, id="silence"
        ),
        pytest.param(
            # By a shell, which starts sooner than Python: all of the time is waited for.
            ["sh", "-c", "read -r line; echo 'Usage: ...'; while read -r line; do :; done"],
            NotMcpError,
            "not an MCP server: no JSON-RPC: not JSON: Usage: ...",
            3,
            id="prints",
        ),
    ],
)
def test_openings_fail_in_one_clear_line(
    command: list[str], kind: type[WireError], words: str, seconds: float
) -> None:
    with StdioTransport(command) as transport, pytest.raises(kind, match=words) as caught:
        open_session(transport, deadline=seconds)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 800


def test_a_missing_directory_is_named() -> None:
    with (
        StdioTransport([sys.executable], directory="/no/such") as transport,
        pytest.raises(CommandFailedError, match="no such directory: /no/such"),
    ):
        transport.start(Deadline(HANG_SECONDS))


def test_a_command_is_needed() -> None:
    with pytest.raises(BadAddressError, match="a command is needed"):
        StdioTransport([])


def test_the_environment_is_added_to_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "1")
    text = "request = read(); ask = os.environ.get; "
    text += "answer(request, [ask('OURS'), ask('THEIRS')]); wait()"
    with StdioTransport(program(text), {"THEIRS": "2"}) as transport:
        transport.start(Deadline(HANG_SECONDS))
        assert ask(transport).result == ["1", "2"]
