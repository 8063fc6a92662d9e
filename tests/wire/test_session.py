"""Conversations with a real MCP server, over every transport and in both eras."""

import json
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters

from pytest_mcp_approval.support.deadline import now
from pytest_mcp_approval.support.recording import Recording
from pytest_mcp_approval.wire import (
    Era,
    HttpTransport,
    InProcessTransport,
    Outcome,
    RawJson,
    RevisionError,
    Session,
    StdioTransport,
    Transport,
    open_session,
    race,
    request_bytes,
)
from tests.wire.conftest import SAMPLE_SERVER
from tests.wire.hostile import AT_ONCE, HANG_SECONDS
from tests.wire.recorded import exchanges
from tests.wire.sample_server import TOOLS, build


def echoed(session: Session, arguments: object) -> object:
    reply = session.call("tools/call", {"name": "echo", "arguments": arguments})
    assert reply.outcome is Outcome.RESULT, reply.describe()
    return json.loads(reply.result["content"][0]["text"])


def test_a_conversation_from_opening_to_close(session: Session) -> None:
    assert session.server_info["name"] == "sample"
    assert session.server_info["version"] == "1.2"
    assert "tools" in session.capabilities
    assert [tool["name"] for tool in session.list_tools()] == list(TOOLS)
    assert echoed(session, {"quantity": 10, "symbol": "ÄAPL"}) == {"quantity": 10, "symbol": "ÄAPL"}

    error = session.call("no/such").error
    assert error is not None
    assert error.code == -32601


def test_session_ids_belong_to_the_handshake_era_over_http(session: Session) -> None:
    over_http = not isinstance(session.transport, StdioTransport)
    assert (session.session_id is not None) == (over_http and session.era is Era.HANDSHAKE)


def test_auto_prefers_the_newest_revision(transport: Transport) -> None:
    with open_session(transport, deadline=20) as session:
        assert (session.revision, session.era) == ("2026-07-28", Era.SESSIONLESS)
        assert len(session.list_tools()) == len(TOOLS)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
def test_older_revisions_can_be_asked_for(revision: str) -> None:
    with (
        InProcessTransport(build().streamable_http_app()) as transport,
        open_session(transport, revision) as session,
    ):
        assert session.revision == revision
        assert session.call("ping").outcome is Outcome.RESULT


def test_an_unknown_revision_is_named(transport: Transport) -> None:
    with pytest.raises(
        RevisionError, match=r"unknown protocol revision '2031-01-01'; known are .*2026"
    ):
        open_session(transport, "2031-01-01")


def test_messages_before_the_answer_are_passed_over(session: Session) -> None:
    params = {"name": "talk", "arguments": {}, "_meta": {"progressToken": "t"}}
    reply = session.call("tools/call", params)
    assert reply.outcome is Outcome.RESULT, reply.describe()


def test_requests_of_the_server_are_answered(transport: Transport, recorded: Recording) -> None:
    """A ping gets its pong, and what this client cannot do gets "method not found"."""
    with open_session(transport, "2025-11-25", deadline=20) as session:
        reply = session.call("tools/call", {"name": "ask", "arguments": {}}, deadline=HANG_SECONDS)
    if reply.error is not None:
        # An answer that is one JSON body has no room for requests: the server says so itself.
        assert "no back-channel" in reply.error.message
        assert isinstance(transport, HttpTransport)
    else:
        assert reply.result["content"][0]["text"] == "pong, roots -32601"
        asked = [one for one in exchanges(recorded) if one.outcome is None]
        assert {"ping", "roots/list"} <= {one.method for one in asked}


def test_a_call_without_an_answer_ends_at_its_deadline_and_harms_no_other(session: Session) -> None:
    began = now()
    reply = session.call("tools/call", {"name": "wait", "arguments": {}}, deadline=0.2)
    assert now() - began >= 0.2, "the deadline begins before the request goes out"
    assert reply.outcome is Outcome.NO_ANSWER
    assert reply.seconds < AT_ONCE
    assert reply.describe() == "no answer in time: nothing within 0.2 s"
    assert session.call("tools/list").outcome is Outcome.RESULT


@pytest.mark.parametrize("text", ["[1,  2.50]", '{"a":1,"a":2}', '"\\ud83d\\ude00"', "1e2"])
def test_arguments_arrive_as_spelled(session: Session, text: str) -> None:
    body = session.prepare("tools/call", {"name": "echo", "arguments": {"raw": RawJson(text)}}).body
    assert b'"raw":' + text.encode() in body
    assert echoed(session, {"raw": RawJson(text)}) == {"raw": json.loads(text)}


def test_exact_bytes_are_sent_and_received(session: Session, recorded: Recording) -> None:
    """The recording holds the very bytes of both directions, and the reply those of the answer."""
    params = session.complete({"name": "echo", "arguments": {}})
    body = request_bytes("id-7", "tools/call", params).replace(b":", b" :  ")
    reply = session.send(body, "id-7", "tools/call", subject="echo")
    assert reply.outcome is Outcome.RESULT, reply.describe()
    assert json.loads(reply.raw) == reply.message
    entry = exchanges(recorded)[-1]
    assert entry.sent.head == body
    assert reply.raw in entry.received.head
    assert (entry.method, entry.outcome) == ("tools/call", Outcome.RESULT.value)
    assert entry.seconds == reply.seconds > 0


def test_what_is_no_json_gets_whatever_the_server_says(session: Session) -> None:
    """Over HTTP the SDK answers under the id null; on stdio it says nothing. Neither is an
    answer."""
    reply = session.send(b'{"jsonrpc":"2.0","id":77,"method":', 77, "tools/list", deadline=0.3)
    over_stdio = isinstance(session.transport, StdioTransport)
    assert reply.outcome is (Outcome.NO_ANSWER if over_stdio else Outcome.NULL_ID)
    if not over_stdio:
        assert reply.stray_error is not None
        assert reply.stray_error.code == -32700
    assert reply.error is None
    assert session.call("tools/list").answered


def test_a_lost_session_is_an_outcome(sample_url: str) -> None:
    with HttpTransport(sample_url) as transport, open_session(transport, "2025-11-25") as session:
        reply = session.call("tools/list", headers={"MCP-Session-Id": "0123456789abcdef"})
        assert reply.status == 404
        assert reply.outcome is not Outcome.RESULT
        without = session.call("tools/list", headers={"MCP-Session-Id": None})
        assert without.status == 400
        assert session.call("tools/list").answered


def test_closing_ends_the_session_at_the_server(sample_url: str) -> None:
    with HttpTransport(sample_url) as transport:
        session = open_session(transport, "2025-11-25")
        assert session.call("tools/list").answered
        session.close()
        assert session.call("tools/list").status == 404


@pytest.mark.parametrize("name", ["ünï", " echo", "=?base64?x?=", "a\nb"])
def test_names_that_no_header_can_carry_are_encoded(name: str) -> None:
    """The server compares Mcp-Name with the body: a mismatch would be its error -32020."""
    with (
        InProcessTransport(build().streamable_http_app()) as transport,
        open_session(transport, "2026-07-28") as session,
    ):
        reply = session.call("tools/call", {"name": name, "arguments": {}})
        assert reply.outcome is Outcome.RESULT, reply.describe()


def test_all_replies_of_a_race_come_in_order(session: Session) -> None:
    calls = [("tools/call", {"name": "echo", "arguments": {"n": n}}) for n in range(5)]
    ran = race(session, calls)
    assert [json.loads(reply.result["content"][0]["text"])["n"] for reply in ran] == list(range(5))
    assert len(ran) == 5


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_the_official_client_sees_the_same_tools(kind: str, sample_url: str) -> None:
    async def ask_officially() -> list[str]:
        command = StdioServerParameters(command=sys.executable, args=[SAMPLE_SERVER, "stdio"])
        async with Client(command if kind == "stdio" else sample_url) as client:
            names: list[str] = []
            page = await client.list_tools()
            names += [tool.name for tool in page.tools]
            while page.next_cursor:
                page = await client.list_tools(cursor=page.next_cursor)
                names += [tool.name for tool in page.tools]
            return names

    transport: Transport = HttpTransport(sample_url)
    if kind == "stdio":
        transport = StdioTransport([sys.executable, SAMPLE_SERVER, "stdio"])
    with transport, open_session(transport, deadline=20) as session:
        assert [tool["name"] for tool in session.list_tools()] == anyio.run(ask_officially)
