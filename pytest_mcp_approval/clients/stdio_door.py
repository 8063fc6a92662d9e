"""Scripted servers over stdio: the client starts a relay, and the relay connects to this door.

A client starts its own server and owns its pipes, so the suite cannot be that process. Knows no
family.
"""

from __future__ import annotations

import itertools
import json
import secrets
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..support import recording
from ..support.deadline import now
from ..support.exchanges import Excerpt, Exchange
from ..wire.eras import Era
from ..wire.reply import Outcome
from .messages import Ask, HangUp, Incoming, LostSession, Result
from .scripted_server import ScriptedServer

_RELAY = Path(__file__).with_name("stdio_relay.py")
_GREETING_SECONDS = 10.0


class ScriptedStdioDoor:
    """Open it once; `serve` gives each server a command."""

    def __init__(self) -> None:
        self.servers: dict[str, ScriptedServer] = {}
        self._numbers = itertools.count(1)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(
            target=self._listen, name="mcp-approval stdio door", daemon=True
        )
        self._thread.start()

    def serve(self, server: ScriptedServer) -> list[str]:
        """The words of the command that a client starts for this server."""
        key = secrets.token_hex(8)
        self.servers[key] = server
        port = self._listener.getsockname()[1]
        return [sys.executable, "-I", "-S", str(_RELAY), str(port), key]

    def withdraw(self, command: list[str]) -> None:
        self.servers.pop(command[-1], None)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection,), daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        connection.settimeout(_GREETING_SECONDS)
        with connection, suppress(OSError):
            lines = connection.makefile("rb")
            server = self.servers.get(lines.readline().strip().decode("ascii", "replace"))
            if server is not None:
                connection.settimeout(None)
                _Pipe(server, connection).run(lines)


class _Pipe:
    """One conversation."""

    def __init__(self, server: ScriptedServer, connection: socket.socket) -> None:
        self.server = server
        self._connection = connection
        self._session = f"pipe-{id(self)}"
        self._lock = threading.Lock()

    def run(self, lines: Any) -> None:
        self.server.sessions.add(self._session)  # a pipe is a session from its beginning
        for line in lines:
            raw = line.rstrip(b"\r\n")
            incoming = self.server.take(raw, (("Mcp-Session-Id", self._session),))
            if incoming is None:
                continue
            if incoming.method == "initialize" and self.server.era is Era.HANDSHAKE:
                self.server.begin_session(self._session, incoming)
            if incoming.is_request:
                # While the client is asked something, it may send more.
                threading.Thread(target=self._answer, args=(incoming,), daemon=True).start()
            elif not incoming.method:
                self._record(incoming, b"", now(), "answer", Outcome.ACCEPTED)

    def _answer(self, incoming: Incoming) -> None:
        began, sent = now(), b""
        with suppress(OSError):
            answer = self.server.answer(incoming)
            while isinstance(answer, Ask):
                own, request = self.server.asked(answer)
                sent += self._send(request)
                answer = self.server.go_on(
                    answer, self.server.await_answer(own, self.server.patience)
                )
            if isinstance(answer, (HangUp, LostSession)):
                self._record(incoming, sent, began, incoming.method, Outcome.CLOSED)
                self._connection.shutdown(socket.SHUT_RDWR)
                return
            told = self.server.wrapped(incoming, answer)
            outcome = Outcome.RESULT if isinstance(answer, Result) else Outcome.ERROR
            content = sent + json.dumps(told).encode()
            self._record(incoming, content, began, incoming.method, outcome)
            self._send(told)

    def _send(self, message: dict[str, Any]) -> bytes:
        line = json.dumps(message).encode() + b"\n"
        with self._lock:
            self._connection.sendall(line)
        return line

    def _record(
        self,
        incoming: Incoming,
        sent: bytes,
        began: float,
        method: str,
        outcome: Outcome = Outcome.RESULT,
    ) -> None:
        recording.add(
            Exchange(
                method=method,
                sent=Excerpt.of(incoming.raw),
                received=Excerpt.of(sent),
                outcome=outcome.value,
                detail="",
                started=began,
                seconds=now() - began,
            )
        )
