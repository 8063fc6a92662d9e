"""The door for a server with an event loop: large messages are checked in a thread, one at a time.

So nobody waits for another's large message except those who send one too, and they only so long.
Knows no transport and no JSON.
"""

from __future__ import annotations

import anyio
from anyio.lowlevel import RunVar

from . import door

LARGE_BYTES = 64 * 1024
"""Up to this size a check takes less time than handing it to a thread may take."""
WAIT_SECONDS = 10.0
_TURN: RunVar[anyio.CapacityLimiter] = RunVar("large messages")


class BusyRefusal(door.DoorRefusal):
    """Too many large messages at once: this one was not looked at."""

    def __init__(self) -> None:
        super().__init__(
            door.INTERNAL_ERROR, "message: too many large ones at once, try again later"
        )


async def let_in(body: bytes) -> bytes:
    """As `door.let_in`, from within an event loop."""
    if len(body) <= LARGE_BYTES:
        return door.let_in(body)
    waiting = anyio.move_on_after(WAIT_SECONDS)
    with waiting:
        await _turn().acquire()
    if waiting.cancelled_caught:
        raise BusyRefusal
    try:
        return await anyio.to_thread.run_sync(door.let_in, body)
    finally:
        _turn().release()


def _turn() -> anyio.CapacityLimiter:
    """One for each event loop."""
    try:
        return _TURN.get()
    except LookupError:
        _TURN.set(anyio.CapacityLimiter(1))
        return _TURN.get()
