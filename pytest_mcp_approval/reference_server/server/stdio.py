"""Runs an MCP server on standard input and output, behind the door. Knows no approval.

While it serves, descriptor 1 is standard error's, so that a stray print cannot harm the wire.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from .door_stdio import StdioDoor


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
    files: Any = (door.lines(), door.output)  # all that the SDK asks of its two files
    with suppress(asyncio.CancelledError):
        async with stdio_server(*files) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())
