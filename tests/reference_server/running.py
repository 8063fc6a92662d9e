"""The reference server as it is really reached: uvicorn in a thread, and processes."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import uvicorn

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from pytest_mcp_approval.reference_server import ReferenceServer
from tests.warm_python import warm_python

ROOT = Path(__file__).parents[2]
DEADLINE = 20
HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": HANDSHAKE,
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@contextlib.contextmanager
def serving(server: ReferenceServer, **options: Any) -> Iterator[int]:
    """The port under which the server can be reached."""
    started = threading.Event()

    class Announcing(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            started.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(server.asgi_app(**options), log_level="warning")
        runner = Announcing(config)
        thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert started.wait(DEADLINE)
            yield listener.getsockname()[1]
        finally:
            runner.should_exit = True
            thread.join(DEADLINE)


def exchange(
    port: int, body: bytes, headers: dict[str, str], method: str = "POST", path: str = "/mcp"
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def message_in(content: bytes) -> Any:
    """The JSON of an answer, or of the one event in it."""
    if content.startswith(b"{"):
        return json.loads(content)
    data = [line[6:] for line in content.splitlines() if line.startswith(b"data: {")]
    return json.loads(data[-1])


class HttpClient:
    """Speaks one era to a port, with nothing repaired on the way."""

    def __init__(self, port: int, era: str) -> None:
        self.port, self.era, self.headers = port, era, dict(HEADERS)
        self.first: Any = None
        # In one session no two requests may wait under the same id: the SDK answers only one.
        self.ids = itertools.count(1)
        if era == HANDSHAKE:
            first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}
            _, answered, content = exchange(port, json.dumps(first).encode(), self.headers)
            self.first = message_in(content)["result"]
            self.headers["Mcp-Session-Id"] = answered["mcp-session-id"]
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            exchange(port, json.dumps(note).encode(), self._headers_for("", None))
        else:
            self.first = self.request("server/discover")["result"]

    def _headers_for(self, method: str, name: str | None) -> dict[str, str]:
        headers = {**self.headers, "MCP-Protocol-Version": self.era}
        if self.era == MODERN:
            headers["Mcp-Method"] = method
            if name is not None:
                headers["Mcp-Name"] = name
        return headers

    def post(self, body: bytes, method: str = "tools/call", name: str | None = "get_quote") -> Any:
        return exchange(self.port, body, self._headers_for(method, name))

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        params = dict(params or {})
        if self.era == MODERN:
            params["_meta"] = {**MODERN_META, **params.get("_meta", {})}
        message = {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params}
        _, _, content = self.post(json.dumps(message).encode(), method, params.get("name"))
        return message_in(content)

    def call(self, tool: str, arguments: Any, evidence: Any = None) -> Any:
        meta = {} if evidence is None else {META_KEY: evidence}
        return self.request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta})


SERVER = "pytest_mcp_approval.reference_server"


def command(*options: str, module: str = SERVER) -> list[str]:
    return [*warm_python(), "-m", module, *options]


class Running(subprocess.Popen[bytes]):
    """A process of which all three pipes are ours."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]


@contextlib.contextmanager
def process(
    *options: str, module: str = SERVER, environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """The command line's server, ended whatever happens."""
    with Running(
        command(*options, module=module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**(os.environ if environment is None else environment), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    ) as running:
        watchdog = threading.Timer(60, running.kill)
        watchdog.start()
        try:
            yield running
        finally:
            watchdog.cancel()
            running.kill()


def ask(running: Running, body: bytes) -> Any:
    """One line in, one line out."""
    running.stdin.write(body.replace(b"\n", b" ") + b"\n")
    running.stdin.flush()
    return json.loads(running.stdout.readline())
