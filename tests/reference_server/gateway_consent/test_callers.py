"""Who calls: the name of the handshake or of the request, over HTTP and stdio, in both eras."""

from __future__ import annotations

import itertools
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import VAULT_KEY_VARIABLE, Choice
from pytest_mcp_approval.reference_server import build
from pytest_mcp_approval.reference_server.command_line import main
from pytest_mcp_approval.reference_server.gateway_consent.extension import GatewayExtension
from tests.reference_server.gateway_consent.person import choose
from tests.reference_server.running import (
    HANDSHAKE,
    HEADERS,
    INITIALIZE,
    MODERN,
    MODERN_META,
    Running,
    ask,
    exchange,
    message_in,
    process,
    serving,
)

LOOK = "com.x:look"
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
NONE = object()
UNNAMED: dict[str, Any] = {
    "none": NONE,
    "empty": {"name": "", "version": "1"},
    "no name": {"version": "1"},
    "a number": {"name": 7, "version": "1"},
    "null": None,
    "text": "A",
}
MODULE = "pytest_mcp_approval.reference_server.gateway_consent"
DEADLINE = 50
"""For a process to end: importing alone takes many seconds where every core is busy."""
_ids = itertools.count(1)


class Client:
    """One MCP client over HTTP, which says about itself what it is told to say."""

    def __init__(self, port: int, era: str, info: Any) -> None:
        self.port, self.era, self.info = port, era, info
        self.headers = {**HEADERS, "MCP-Protocol-Version": era}
        if era == HANDSHAKE:
            params = {**INITIALIZE, "clientInfo": info}
            if info is NONE:
                del params["clientInfo"]
            first, headers = self.post("initialize", params)
            assert "result" in first, first
            self.headers["Mcp-Session-Id"] = headers["mcp-session-id"]
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            exchange(port, json.dumps(note).encode(), self.headers)

    def post(self, method: str, params: dict[str, Any]) -> Any:
        headers = dict(self.headers)
        if self.era == MODERN:
            meta = {**MODERN_META, **({} if self.info is NONE else {CLIENT_INFO: self.info})}
            params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
            headers |= {"Mcp-Method": method, "Mcp-Name": params["name"]}
        body = {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
        _, answered, content = exchange(self.port, json.dumps(body).encode(), headers)
        return message_in(content), answered

    def call(self, name: str, **more: Any) -> Any:
        return self.post("tools/call", {"name": name, "arguments": {}, **more})[0]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    server = build(extensions={GatewayExtension.family: GatewayExtension})
    with serving(server) as found:
        yield found
    server.close()


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
def test_a_client_is_known_by_the_name_that_it_gives(port: int, era: str) -> None:
    names = [f"A {era}", f"B {era}", f"\u202e<b>{era}</b>\n\u0410", f"{era} " + "x" * 10_000]
    clients = {name: Client(port, era, {"name": name, "version": "1"}) for name in names}
    for name, client in clients.items():
        url = client.call(LOOK)["error"]["data"]["consentUrl"]
        assert choose(url, Choice.TOOL, remember=True).status == 200
        assert "result" in client.call(LOOK)
        later = names[names.index(name) + 1 :]
        assert all("error" in clients[other].call(LOOK) for other in later)
        again = Client(port, era, {"name": name, "version": "2"})
        assert "result" in again.call(LOOK)
    exported = clients[names[0]].call("gateway_export")["result"]["structuredContent"]
    assert set(names) <= set(exported)


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("info", UNNAMED.values(), ids=UNNAMED)
def test_a_client_that_gives_none_is_unknown_client(port: int, era: str, info: Any) -> None:
    unknown = Client(port, era, info)
    named = Client(port, era, {"name": "Unknown Client", "version": "1"})
    answer = unknown.call("com.x:touch")
    assert (
        answer["error"]["data"]["consentUrl"]
        == (named.call("com.x:touch")["error"]["data"]["consentUrl"])
    )


def test_a_name_without_a_version_is_a_name(port: int) -> None:
    short, whole = ({"name": "C"}, {"name": "C", "version": "1"})
    urls = {
        Client(port, era, info).call(LOOK)["error"]["data"]["consentUrl"]
        for era in (HANDSHAKE, MODERN)
        for info in (short, whole)
    }
    assert len(urls) == 1


def test_a_request_cannot_rename_its_session(port: int) -> None:
    client = Client(port, HANDSHAKE, {"name": "D", "version": "1"})
    url = client.call(LOOK)["error"]["data"]["consentUrl"]
    meta = {CLIENT_INFO: {"name": "E", "version": "1"}}
    for more in (
        {"_meta": meta},
        {"clientInfo": {"name": "E", "version": "1"}},
        {"arguments": {"caller": "E", "clientInfo": {"name": "E"}}},
    ):
        assert client.call(LOOK, **more)["error"]["data"]["consentUrl"] == url


@pytest.mark.parametrize("era", [HANDSHAKE, MODERN])
def test_half_of_a_surrogate_pair_does_not_come_in(port: int, era: str) -> None:
    info = '{"name": "A\\ud800", "version": "1"}'
    meta = json.dumps(MODERN_META)[:-1]
    if era == HANDSHAKE:
        method, params = "initialize", json.dumps(INITIALIZE)[:-1] + f', "x": {info}}}'
    else:
        method = "tools/call"
        params = f'{{"name": "{LOOK}", "_meta": {meta}, "{CLIENT_INFO}": {info}}}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}'
    headers = {**HEADERS, "MCP-Protocol-Version": era, "Mcp-Method": method, "Mcp-Name": LOOK}
    status, _, content = exchange(port, body.encode(), headers)
    assert (status, message_in(content)["error"]["code"]) == (400, -32700)


# ---- the entry point


@contextmanager
def gateway(*options: str, folder: Path) -> Iterator[Running]:
    environment = dict(os.environ)
    environment |= {name: str(folder) for name in ("XDG_STATE_HOME", "HOME", "LOCALAPPDATA")}
    # Whatever key store the machine has, it is not for tests.
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    environment.pop(VAULT_KEY_VARIABLE, None)
    with process(*options, module=MODULE, environment=environment) as running:
        yield running


def message(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
    ).encode()


def begin(running: Running, name: str) -> None:
    info = {"name": name, "version": "1"}
    answer = ask(running, message("initialize", {**INITIALIZE, "clientInfo": info}))
    assert "verifiedApproval" not in answer["result"]["capabilities"].get("extensions", {})
    running.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')


def call(running: Running, name: str) -> Any:
    return ask(running, message("tools/call", {"name": name, "arguments": {}}))


def test_the_gateway_alone_over_stdio_keeps_decisions_over_a_restart(tmp_path: Path) -> None:
    with gateway("--stdio", folder=tmp_path) as running:
        begin(running, "A")
        tools = ask(running, message("tools/list", {}))["result"]["tools"]
        names = {tool["name"] for tool in tools}
        assert {LOOK, "gateway_status", "list_effects"} <= names
        assert not names & {"place_trade", "prepare_close_projects"}
        url = call(running, LOOK)["error"]["data"]["consentUrl"]
        assert choose(url, Choice.TOOL, remember=True).status == 200
        assert "result" in call(running, LOOK)
        status = call(running, "gateway_status")["result"]["structuredContent"]
        assert status["storage"] == "file"
        assert Path(status["folder"]).is_relative_to(tmp_path)
        assert running.stdin is not None
        running.stdin.close()
        assert running.wait(DEADLINE) == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""
    with gateway("--stdio", folder=tmp_path) as running:
        begin(running, "A")
        assert "result" in call(running, LOOK)
        assert "error" in call(running, "com.x:touch")
    with gateway("--stdio", folder=tmp_path) as running:
        begin(running, "B")
        assert "error" in call(running, LOOK)


def test_the_gateway_alone_over_http(tmp_path: Path) -> None:
    with gateway("--http", "localhost:0", folder=tmp_path) as running:
        assert running.stdout is not None
        port = int(running.stdout.readline().decode().rsplit(":", 1)[1].partition("/")[0])
        clients = [Client(port, era, {"name": "A"}) for era in (HANDSHAKE, MODERN)]
        url = clients[0].call(LOOK)["error"]["data"]["consentUrl"]
        assert choose(url, Choice.ALL, remember=True).status == 200
        assert all("result" in client.call("com.x:touch") for client in clients)
        running.send_signal(signal.SIGTERM)
        assert running.wait(DEADLINE) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "gateway_consent.storage=keyring"], "no key store that can be used"),
        (["--set", "gateway_consent.storage=cloud"], "storage: got 'cloud'"),
    ],
)
def test_what_cannot_be_followed_is_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    with gateway("--stdio", *options, folder=tmp_path) as running:
        assert running.wait(DEADLINE) == 2
        assert running.stderr is not None
        (line,) = running.stderr.read().decode().splitlines()
        assert said in line


def test_only_a_family_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--stdio", "--only", "nothing"]) == 2
    assert "--only: got 'nothing', expected one of " in capsys.readouterr().err
