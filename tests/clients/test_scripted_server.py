"""The server that the suite plays: what it keeps of a client, and what it says in each era."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_mcp_approval.clients.http_door import ScriptedHttpDoor
from pytest_mcp_approval.clients.messages import HangUp
from pytest_mcp_approval.clients.news import News
from pytest_mcp_approval.clients.scripted_server import ScriptedServer
from pytest_mcp_approval.wire.eras import Era

DECLARED = {"elicitation": {"form": {}}}


@pytest.fixture(scope="module")
def door() -> Iterator[ScriptedHttpDoor]:
    opened = ScriptedHttpDoor()
    yield opened
    opened.close()


def send(
    url: str, message: Any, session: str = "", method: str = "POST"
) -> tuple[int, dict[str, str], Any]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    headers = {"Mcp-Session-Id": session} if session else {}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    with contextlib.closing(connection):
        connection.request(method, parts.path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
    return answer.status, dict(answer.headers), json.loads(content) if content else None


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def test_what_a_client_declared_is_known_after_its_session(door):
    """A command that is run once for each call ends its session before anybody looks."""
    server = ScriptedServer(Era.HANDSHAKE, News(), 5)
    url = door.serve(server)
    begun = request("initialize", protocolVersion="2025-11-25", capabilities=DECLARED)
    _, headers, _ = send(url, begun)
    session = headers["Mcp-Session-Id"]
    send(url, request("tools/call", name="a"), session)
    send(url, b"", session, "DELETE")
    (call,) = server.calls("a")
    assert server.declared(call) == DECLARED
    status, _, _ = send(url, request("tools/call", name="a"), session)
    assert status == 404


@pytest.mark.parametrize(
    ("era", "method", "code"),
    [
        (Era.SESSIONLESS, "initialize", -32022),
        (Era.HANDSHAKE, "server/discover", -32601),
        (Era.HANDSHAKE, "approval/challenge/create", -32601),
    ],
)
def test_it_speaks_one_era(door, era, method, code):
    _, _, answer = send(door.serve(ScriptedServer(era, News(), 5)), request(method))
    assert answer["error"]["code"] == code


def test_every_byte_is_kept_and_nonsense_is_answered(door):
    server = ScriptedServer(Era.SESSIONLESS, News(), 5)
    url = door.serve(server)
    spelled = b'{"id": 1.0, "jsonrpc":"2.0",  "method":"ping", "params":{"a":1.50}}'
    assert send(url, spelled)[0] == 200
    assert send(url, b"nonsense")[0] == 400
    assert [one.raw for one in server.received] == [spelled, b"nonsense"]


def test_an_answer_can_break_off(door):
    server = ScriptedServer(Era.SESSIONLESS, News(), 5)
    server.handlers["tools/call"] = lambda _: HangUp()
    with pytest.raises(http.client.IncompleteRead):
        send(door.serve(server), request("tools/call", name="a"))


def test_a_server_that_is_gone_is_not_found(door):
    url = door.serve(ScriptedServer(Era.SESSIONLESS, News(), 5))
    door.withdraw(url)
    assert send(url, request("ping"))[0] == 404
