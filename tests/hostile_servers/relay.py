"""A server that is healthy until it is not: a relay to a good server, with one bad habit.

    python -S -E relay.py stdio|http FOLDER

FOLDER/plan.json says at which method, from which request of it on and how often the habit shows;
the counts are kept in FOLDER, so that they outlive the server's own deaths. Standard library only,
so that it starts at once. What it relays to lives on: a death costs the server, not the state.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.wire.hostile import HostileServer
from tests.wire.hostile import http as http_answer

PIECE = b"x" * 65536
GIGABYTE = 2**30
UGLY = "\x1b[31mred\x1b[0m\x1b]0;title\x07\u202eesrever\u200b\x00\x9b5m\r\x08\x7f\u2066\ufeffend"
"""Colours, a window title, right to left, invisible, control characters of both sets."""
METHODS = {
    "opening": ("initialize", "server/discover"),
    "begin": ("approval/enroll/begin",),
    "finish": ("approval/enroll/finish",),
    "challenge": ("approval/challenge/create",),
}
IN_A_CHECK = "in-a-check"
"""A file that is there while the body of a check runs."""
SLEEPER = "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()"

ODD_IDS = ("1e999", "-1e400", "null", "true", "[[1]]", '{"a":{}}', "9" * 400, "1.5", '"\\ud800"')
"""What JSON allows and JSON-RPC does not, and what is merely strange."""
HUGE = "x" * 7_000_000

APPROVAL = "io.modelcontextprotocol/verified-approval"

Json = dict[str, Any]


class Death(BaseException):
    """The server ends here."""


class Plan:
    """When the habit shows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        told = json.loads((folder / "plan.json").read_text())
        self.upstream: str = told["upstream"]
        self.habit: str = told.get("do", "")
        at: str = told.get("at", "")
        self.methods = METHODS.get(at, (at,) if at else ())
        self.tool: str = told.get("tool", "")
        """For tools/call: only calls of this tool."""
        self.first: int = told.get("first", 1)
        self.times: int = told.get("times", 10**9)
        self.in_checks: bool = told.get("in_checks", False)
        """Only while the body of a check runs: neither before it nor when the suite checks the
        server's health after it."""
        self.every: int = told.get("every", 1)
        """Of these requests each such one; the counts outlive its deaths."""
        self.port: int = told.get("port", 0)
        self.words: list[str] = told.get("words", [])
        """What it says where it is asked to repeat something; the next ones each time."""
        self.stays_dead: bool = told.get("stays_dead", False)

    def shows(self, request: Json) -> bool:
        if not self.habit or (self.methods and request.get("method") not in self.methods):
            return False
        if self.in_checks and not (self.folder / IN_A_CHECK).exists():
            return False
        called = (request.get("params") or {}).get("name")
        if self.tool and request.get("method") == "tools/call" and called != self.tool:
            return False
        number = self.count("requests")
        due = number % self.every == 0
        return due and self.first <= number < self.first + self.times

    def next_words(self, number: int) -> list[str]:
        at = self.count("words") * number
        return [self.words[(at + n) % len(self.words)] for n in range(number)]

    def count(self, what: str) -> int:
        """One more of these, and how many there have been."""
        with (self.folder / what).open("ab") as file:
            file.write(b".")
            return file.tell()


class Upstream:
    """The good server."""

    def __init__(self, url: str) -> None:
        self.parts = urlsplit(url)

    def ask(self, body: bytes, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        """Status, headers, and the message itself out of whatever it came in."""
        connection = http.client.HTTPConnection(
            self.parts.hostname or "", self.parts.port or 80, timeout=20
        )
        with contextlib.closing(connection):
            usual = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            connection.request("POST", self.parts.path, body, {**usual, **headers})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            text = answer.read()
        if found.get("content-type", "").startswith("text/event-stream"):
            data = [line[5:].strip() for line in text.splitlines() if line.startswith(b"data:")]
            text = next((line for line in reversed(data) if line), b"")
        return answer.status, found, text


class Relay:
    """What both kinds share: the habits that are words rather than ways of speaking."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.upstream = Upstream(plan.upstream)

    def changed(self, request: Json, honest: Callable[[], bytes]) -> bytes | None:
        """The answer by habit; None for habits of another kind."""
        match self.plan.habit:
            case "die":
                raise Death
            case "die of no evidence":
                if "_meta" not in request["params"] or APPROVAL not in request["params"]["_meta"]:
                    raise Death
                return honest()
            case "lie, then die":
                if self.plan.count("lies") > 1:
                    raise Death
                return json_rpc(request, '{"content":[],"structuredContent":{"executed":1}}')
            case "die of words":
                sys.stderr.write("\n".join(["", *self.plan.next_words(3), ""]))
                sys.stderr.flush()
                raise Death
            case "repeat":
                first, *others = self.plan.next_words(24)
                data = {"reason": others[0], "others": others, others[1]: first}
                error = {"code": -32603, "message": first, "data": data}
                return json.dumps(
                    {"jsonrpc": "2.0", "id": request.get("id"), "error": error},
                    ensure_ascii=False,
                ).encode()
            case "repeat and run":
                told = self.plan.next_words(24)
                content = [{"type": "text", "text": one} for one in told]
                return json_rpc(request, json.dumps({"content": content, told[0]: told[1]}))
            case "die after":
                honest()
                raise Death
            case "wrong id":
                return json.dumps({**json.loads(honest()), "id": 987654321}).encode()
            case "not UTF-8":
                return honest().replace(b'"jsonrpc"', b'"\xff\xfe":1,"jsonrpc"', 1)
            case "html":
                return b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
            case "deep":
                return json_rpc(request, "[" * 200_000 + "]" * 200_000)
            case "lie":
                return json_rpc(request, '{"content":[],"structuredContent":{"executed":1}}')
            case "many tools":
                return json_rpc(request, '{"tools":[' + ",".join(_tools(60_000)) + "]}")
            case "endless pages":
                cursor = f'"nextCursor":"page-{self.plan.count("pages")}"'
                return json_rpc(request, f'{{"tools":[{next(_tools(1))}],{cursor}}}')
            case "ugly":
                return json.dumps(_ugly(json.loads(honest()))).encode()
            case "huge error":
                error = {"code": -32603, "message": HUGE, "data": {"reason": HUGE[:100]}}
                return json.dumps(
                    {"jsonrpc": "2.0", "id": request.get("id"), "error": error}
                ).encode()
            case "ugly error":
                error = {"code": -32603, "message": UGLY, "data": {"reason": UGLY, UGLY: UGLY}}
                return json.dumps(
                    {"jsonrpc": "2.0", "id": request.get("id"), "error": error}
                ).encode()
        return None


def json_rpc(request: Json, result: str) -> bytes:
    number = json.dumps(request.get("id"))
    return f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'.encode()


def odd_requests() -> list[bytes]:
    """Requests of the server's own under ids that are no good."""
    return [
        f'{{"jsonrpc":"2.0","id":{one},"method":"{method}"}}'.encode()
        for one in ODD_IDS
        for method in ("ping", "roots/list")
    ]


def _tools(number: int) -> Iterator[str]:
    return (f'{{"name":"tool-{n}","inputSchema":{{"type":"object"}}}}' for n in range(number))


_MEANT = (
    "jsonrpc",
    "id",
    "protocolVersion",
    "supportedVersions",
    "challenge",
    "rp",
    "type",
    "name",
)
"""Members without which the ceremony would not get anywhere."""


def _ugly(value: Any, name: str = "") -> Any:
    """Every text that nothing depends on, made ugly; and a member of an ugly name."""
    if isinstance(value, dict):
        kept = {key: one if key in _MEANT else _ugly(one, key) for key, one in value.items()}
        return {**kept, UGLY: UGLY} if name not in ("requestOptions", "options") else kept
    if isinstance(value, list):
        return [_ugly(one, name) for one in value]
    if isinstance(value, str) and name in ("title", "description", "version", "displayText"):
        return UGLY + value
    return value


def hang() -> None:
    """For ever; signals still work."""
    while True:
        select.select([], [], [], 3600)


def offspring(plan: Plan) -> None:
    """Children that outlive their parent: one in its group, one that left it."""
    plan.count("offspring")
    plan.count("offspring")
    command = [sys.executable, "-S", "-E", "-c", SLEEPER]
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing)
    subprocess.Popen(command, stdin=nothing, start_new_session=True)


# ---- standard input and output


class StdioRelay(Relay):
    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.session: dict[str, str] = {}

    def say(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    def serve(self) -> None:
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            if "method" not in request:
                continue
            try:
                self.answer(request, line)
            except Death:
                self.plan.count("deaths")
                sys.stderr.write("out of luck\n")
                sys.stderr.flush()
                os._exit(3)

    def answer(self, request: Json, line: bytes) -> None:
        def honest() -> bytes:
            return self.relay(request, line)

        if "id" not in request:
            honest()
        elif not self.plan.shows(request):
            self.say(honest() + b"\n")
        elif (changed := self.changed(request, honest)) is not None:
            self.say(changed + b"\n")
        else:
            self.misbehave(honest)

    def misbehave(self, honest: Callable[[], bytes]) -> None:
        notification = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"n":1}}\n'
        match self.plan.habit:
            case "hang":
                hang()
            case "mute":
                pass
            case "flood":
                while True:
                    self.say(notification * 100)
            case "chatter":
                self.say(notification * 1000 + honest() + b"\n")
            case "odd requests":
                self.say(b"\n".join(odd_requests()) + b"\n" + honest() + b"\n")
            case "twice":
                answer = honest()
                self.say(answer + b"\n" + answer + b"\n")
            case "gigabyte":
                for _ in range(GIGABYTE // len(PIECE)):
                    self.say(PIECE)
                self.say(b"\n")
            case "drip":
                for byte in honest() + b"\n":
                    self.say(bytes([byte]))
                    select.select([], [], [], 0.02)
            case "stderr flood":
                threading.Thread(target=_flood_errors, daemon=True).start()
                self.say(honest() + b"\n")
            case "deaf":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                self.say(honest() + b"\n")
                hang()
            case "offspring":
                offspring(self.plan)
                self.say(honest() + b"\n")
            case other:
                raise ValueError(other)

    def relay(self, request: Json, line: bytes) -> bytes:
        params = request.get("params") or {}
        meta = params.get("_meta") or {} if isinstance(params, dict) else {}
        revision = meta.get("io.modelcontextprotocol/protocolVersion")
        headers = dict(self.session)
        if revision:
            headers = {"MCP-Protocol-Version": revision, "Mcp-Method": request["method"]}
            if request["method"] == "tools/call":
                headers["Mcp-Name"] = str(params.get("name"))
        _, found, answer = self.upstream.ask(line, headers)
        if request["method"] == "initialize":
            self.session = {
                "Mcp-Session-Id": found.get("mcp-session-id", ""),
                "MCP-Protocol-Version": params.get("protocolVersion", ""),
            }
        return answer


def _flood_errors() -> None:
    while True:
        sys.stderr.buffer.write((UGLY.encode() + b"\n") * 500)


# ---- HTTP


class HttpRelay(Relay):
    def serve(self) -> None:
        with HostileServer(self.behave, self.plan.port) as server:
            sys.stdout.write(server.url + "\n")
            sys.stdout.flush()
            hang()

    def behave(self, connection: socket.socket, raw: bytes) -> None:
        head, _, body = raw.partition(b"\r\n\r\n")
        try:
            request = json.loads(body) if body else {}
        except ValueError:
            request = {}
        given = dict(
            line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:] if ": " in line
        )
        headers = {name: given[name] for name in given if name.lower().startswith("mcp-")}
        extra = {"status": "200 OK", "kind": "application/json", "more": ""}

        def honest() -> bytes:
            status, found, answer = self.upstream.ask(body, headers)
            extra["status"] = f"{status} {http.client.responses.get(status, '')}"
            if "mcp-session-id" in found:
                extra["more"] = f"Mcp-Session-Id: {found['mcp-session-id']}\r\n"
            return answer

        def send(answer: bytes) -> None:
            connection.sendall(http_answer(answer, extra["status"], extra["kind"], extra["more"]))

        if head.startswith(b"DELETE"):
            connection.sendall(http_answer(b"", "405 Method Not Allowed"))
            return
        if not isinstance(request, dict) or "id" not in request or not self.plan.shows(request):
            send(honest())
            return
        try:
            changed = self.changed(request, honest)
        except Death:
            os._exit(3)
        if changed is not None:
            if self.plan.habit.startswith("repeat"):
                words = [one for one in self.plan.next_words(6) if one.isascii()]
                words = [one.replace("\r", " ").replace("\n", " ") for one in words]
                extra["more"] = "".join(f"X-Said-{n}: {one}\r\n" for n, one in enumerate(words))
            extra["kind"] = "text/html" if self.plan.habit == "html" else extra["kind"]
            send(changed)
        else:
            self.misbehave(connection, request, honest, send, extra)

    def misbehave(
        self,
        connection: socket.socket,
        request: Json,
        honest: Callable[[], bytes],
        send: Callable[[bytes], None],
        extra: dict[str, str],
    ) -> None:
        stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        event = b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'
        match self.plan.habit:
            case "hang" | "mute":
                hang()
            case "flood":
                connection.sendall(stream)
                while True:
                    connection.sendall(event * 100)
            case "endless stream":
                connection.sendall(stream)
                while True:  # never much, never an end
                    connection.sendall(b": still here\n\n")
                    select.select([], [], [], 0.05)
            case "chatter":
                connection.sendall(stream + event * 1000 + b"data: " + honest() + b"\n\n")
                raise ConnectionAbortedError
            case "odd requests":
                events = b"".join(b"data: " + one + b"\n\n" for one in odd_requests())
                connection.sendall(stream + events + b"data: " + honest() + b"\n\n")
                raise ConnectionAbortedError
            case "401" | "403" | "429":
                extra["status"] = f"{self.plan.habit} {http.client.responses[int(self.plan.habit)]}"
                extra["kind"] = "text/plain"
                extra["more"] = "Retry-After: 7\r\n" if self.plan.habit == "429" else ""
                send(b"no")
            case "429 in JSON-RPC":
                extra["status"] = "429 Too Many Requests"
                number = json.dumps(request.get("id"))
                error = '{"code":-32000,"message":"Too many requests"}'
                send(f'{{"jsonrpc":"2.0","id":{number},"error":{error}}}'.encode())
            case "twice":
                answer = b"data: " + honest() + b"\n\n"
                connection.sendall(stream + answer + answer)
                raise ConnectionAbortedError
            case "gigabyte":
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                for _ in range(GIGABYTE // len(PIECE)):
                    connection.sendall(PIECE)
            case "drip":
                for byte in http_answer(honest()):
                    connection.sendall(bytes([byte]))
                    select.select([], [], [], 0.02)
            case "wrong type":
                extra["kind"] = "text/plain"
                send(honest())
            case "redirect":
                port = connection.getsockname()[1]
                where = f"Location: http://127.0.0.1:{port}/mcp\r\n"
                connection.sendall(http_answer(b"", "307 Temporary Redirect", extra=where))
            case "end the session":
                connection.sendall(http_answer(b"", "404 Not Found"))
            case other:
                raise ValueError(other)


def supervise(plan: Plan) -> None:
    """An HTTP server that is started again whenever it has died, on the same port."""
    while True:
        child = os.fork()
        if child == 0:
            HttpRelay(plan).serve()
        os.waitpid(child, 0)


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    plan = Plan(folder)
    plan.count("starts")
    if kind == "stdio":
        if plan.stays_dead and (folder / "deaths").exists():
            sys.exit("out of luck for good")
        StdioRelay(plan).serve()
    elif kind == "supervised":
        supervise(plan)
    else:
        HttpRelay(plan).serve()


if __name__ == "__main__":
    main()
