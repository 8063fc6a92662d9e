"""Runs an MCP server on standard input and output, behind the door. Knows no approval.

`StdioDoor.lines` and `StdioDoor.output` replace the two text files that the SDK's stdio transport
reads and writes: they answer what the door refuses. A thread reads the input, so that its end and a
signal both end the server at once. While it serves, descriptor 1 leads to standard error, so that a
stray print cannot damage the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, BinaryIO

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from . import door, door_thread

_CHUNK = 65536
_LINES_AHEAD = 16
_LAST_ANSWERS = 5.0


def run(server: Server[Any]) -> None:
    """Until input ends, or SIGTERM or SIGINT comes."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_serve(server, StdioDoor(0, wire)))
    finally:
        os.dup2(wire, 1)
        os.close(wire)


async def _serve(server: Server[Any], door: StdioDoor) -> None:
    serving = asyncio.current_task()
    assert serving is not None
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, ValueError):  # Windows, or not the main thread
            loop.add_signal_handler(name, serving.cancel)
    files: Any = (door.lines(), door.output)  # all that the SDK needs of its two files
    with suppress(asyncio.CancelledError):
        async with stdio_server(*files) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())


class Output:
    """Writes whole lines to a descriptor, one at a time, from any task."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._owed: set[str] = set()
        self._asked: set[str] = set()
        self._all_answered = asyncio.Event()

    def owe(self, message: dict[str, Any]) -> None:
        """Note what came in: the answer to a request must come out."""
        if "method" not in message:
            self._asked.discard(json.dumps(message["id"]))
        elif "id" in message:
            self._owed.add(json.dumps(message["id"]))

    async def all_answered(self, seconds: float) -> None:
        """Wait for the answers that are owed, but not for ever, nor for those calls whose questions
        nobody can answer any more."""
        while len(self._owed) > len(self._asked):
            self._all_answered.clear()
            with anyio.move_on_after(seconds) as scope:
                await self._all_answered.wait()
            if scope.cancelled_caught:
                return

    async def write(self, text: str) -> None:
        data = text.encode("utf-8")
        await anyio.to_thread.run_sync(self._write, data)
        message = json.loads(text)
        if "method" in message:
            if "id" in message:
                self._asked.add(json.dumps(message["id"]))
        else:
            self._owed.discard(json.dumps(message.get("id")))
            self._all_answered.set()

    async def flush(self) -> None:
        """Nothing to do: nothing is buffered."""

    def _write(self, data: bytes) -> None:
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


def read_line(file: BinaryIO) -> bytes | None:
    """The next line; None for one that is too long, nothing at the end of input."""
    line = file.readline(door.MAXIMUM_BYTES + 1)
    if line.endswith(b"\n"):
        return line
    if len(line) <= door.MAXIMUM_BYTES:
        return b""  # half a line does not count
    while line and not line.endswith(b"\n"):
        line = file.readline(_CHUNK)
    return None


class StdioDoor:
    """Both directions of stdio, from within a running event loop."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self._descriptor = read_descriptor
        self.output = Output(write_descriptor)

    async def lines(self) -> AsyncIterator[str]:
        """The messages that may come in, one a line; the others are answered here."""
        async for line in self._read():
            if line is not None and not line.strip():
                continue
            try:
                if line is None:
                    raise door.TooLargeRefusal
                message = await door_thread.let_in(line.removesuffix(b"\n"))
                self.output.owe(json.loads(message))
            except door.DoorRefusal as refusal:
                await self.output.write(refusal.to_bytes().decode("ascii") + "\n")
            else:
                yield message.decode("utf-8") + "\n"
        # The SDK drops what it is still working on when input ends: let it finish first.
        await self.output.all_answered(_LAST_ANSWERS)

    async def _read(self) -> AsyncIterator[bytes | None]:
        loop = asyncio.get_running_loop()
        read: asyncio.Queue[bytes | None] = asyncio.Queue()
        room = threading.Semaphore(_LINES_AHEAD)

        def reader() -> None:
            # RuntimeError: the loop has ended first.
            with suppress(RuntimeError), open(self._descriptor, "rb", closefd=False) as file:
                line: bytes | None = None
                while line != b"":
                    room.acquire()
                    try:
                        line = read_line(file)
                    except OSError:
                        line = b""
                    loop.call_soon_threadsafe(read.put_nowait, line)

        # A daemon: a read that never returns must not keep the process alive.
        threading.Thread(target=reader, name="stdin", daemon=True).start()
        while (line := await read.get()) != b"":
            yield line
            room.release()
