"""A uvicorn server that leaves when it is told to.

uvicorn looks ten times a second whether it should leave, and then waits a tenth of a second
whether or not anybody is connected. A server that is started and stopped for every check spends
most of its time in these waits. Knows no application.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket

import uvicorn

_TICK_SECONDS = 1.0
"""How often the header with the date is renewed."""
_TICKS = 10
"""By uvicorn's count, which has ten to a second."""


class PromptServer(uvicorn.Server):
    """Call `leave` from any thread."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._told = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def leave(self) -> None:
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has left already
                self._loop.call_soon_threadsafe(self._told.set)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += _TICKS
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), _TICK_SECONDS)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """If nobody waits for an answer, at once."""
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)  # in which those that were idle are closed
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        await self.lifespan.shutdown()
