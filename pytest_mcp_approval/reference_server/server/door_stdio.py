"""The door on stdio: lines come in through it, and refusals go out beside the SDK's answers.

`StdioDoor.lines` and `StdioDoor.output` stand in for the two text files that the SDK's stdio
transport reads and writes. Descriptors are read by a thread of its own, so that the end of input
and a signal both end the server at once. Knows no JSON of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio

from . import door

_CHUNK = 65536
_CHUNKS_AHEAD = 16
_LAST_ANSWERS = 5.0


class Output:
    """Whole lines to a descriptor, one at a time, whoever writes them."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._owed: set[str] = set()
        self._all_answered = asyncio.Event()

    def owe(self, message: dict[str, Any]) -> None:
        """A request went in: its answer is to come out."""
        if "id" in message and "method" in message:
            self._owed.add(json.dumps(message["id"]))

    async def all_answered(self, seconds: float) -> None:
        """Wait for the answers that are owed, but not for ever."""
        while self._owed:
            self._all_answered.clear()
            with anyio.move_on_after(seconds) as scope:
                await self._all_answered.wait()
            if scope.cancelled_caught:
                return

    async def write(self, text: str) -> None:
        data = text.encode("utf-8")
        await anyio.to_thread.run_sync(self._write, data)
        message = json.loads(text)
        if "method" not in message:
            self._owed.discard(json.dumps(message.get("id")))
            self._all_answered.set()

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, data: bytes) -> None:
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


class Lines:
    """Cuts bytes into lines; of one that is too long, only that it was there."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._overlong = False

    def feed(self, chunk: bytes) -> list[bytes | None]:
        """The lines that this chunk completes, None for each that was too long."""
        *ends, rest = chunk.split(b"\n")
        lines = [self._end(end) for end in ends]
        self._begin(rest)
        return lines

    def _begin(self, part: bytes) -> None:
        self._overlong = self._overlong or len(self._begun) + len(part) > door.MAXIMUM_BYTES
        self._begun = bytearray() if self._overlong else self._begun + part

    def _end(self, part: bytes) -> bytes | None:
        self._begin(part)
        line = None if self._overlong else bytes(self._begun)
        self._begun, self._overlong = bytearray(), False
        return line


class StdioDoor:
    """Both directions of stdio, from within a running event loop."""

    def __init__(self, read_descriptor: int, write_descriptor: int) -> None:
        self._descriptor = read_descriptor
        self.output = Output(write_descriptor)

    async def lines(self) -> AsyncIterator[str]:
        """The messages that may come in, one a line; the others are answered here."""
        cutter = Lines()
        async for chunk in self._chunks():
            for line in cutter.feed(chunk):
                if line is not None and not line.strip():
                    continue
                try:
                    if line is None:
                        raise door.TooLargeRefusal
                    self.output.owe(door.check(line))
                except door.DoorRefusal as refusal:
                    await self.output.write(refusal.to_bytes().decode("ascii") + "\n")
                else:
                    yield line.decode("utf-8") + "\n"
        # The SDK drops what it is still working on when input ends: let it finish first.
        await self.output.all_answered(_LAST_ANSWERS)

    async def _chunks(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        read: asyncio.Queue[bytes] = asyncio.Queue()
        room = threading.Semaphore(_CHUNKS_AHEAD)

        def reader() -> None:
            chunk = b"more"
            while chunk:
                room.acquire()
                try:
                    chunk = os.read(self._descriptor, _CHUNK)
                except OSError:
                    chunk = b""
                try:
                    loop.call_soon_threadsafe(read.put_nowait, chunk)
                except RuntimeError:
                    return  # the loop has ended first

        # A daemon: a read that never returns must not keep the process.
        threading.Thread(target=reader, name="stdin", daemon=True).start()
        while chunk := await read.get():
            yield chunk
            room.release()
