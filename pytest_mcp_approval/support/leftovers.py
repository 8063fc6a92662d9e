"""Finds by a mark, and ends, what a command started and left running, wherever it went.

A process group is not enough: a process that calls setsid leaves it, as every daemon does. The
environment is inherited, so on Linux a mark in it shows in /proc which command a process came from.
Elsewhere nothing is found. Knows nothing about commands.
"""

import contextlib
import os
import secrets
import select
import signal
import sys
import time
from pathlib import Path

MARK = "MCP_APPROVAL_STARTED_BY"
_PROCESSES = Path("/proc")
_ROUNDS = 5
"""How often to look: a process may start another while it is being ended."""
_END_SECONDS = 2.0


def new_mark() -> dict[str, str]:
    """The environment variable that marks a command and everything that it starts."""
    return {MARK: f"{os.getpid()}-{secrets.token_hex(8)}"}


def marked(*marks: str) -> list[int]:
    """The processes with one of these marks, as far as we may read them."""
    if sys.platform != "linux":
        return []
    wanted = {f"{MARK}={mark}".encode() for mark in marks}
    found = []
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue  # not ours, or gone
        if not wanted.isdisjoint(environment.split(b"\0")):
            found.append(int(folder.name))
    return found


def end_marked(*marks: str) -> int:
    """Kill them without asking; returns how many there were."""
    ended = 0
    for _ in range(_ROUNDS):
        there = _signalled(marked(*marks), signal.SIGKILL, _END_SECONDS)
        if not there:
            break
        ended += there
    return ended


def ask_marked(*marks: str, seconds: float) -> None:
    """Ask them to end, and wait at most `seconds` for that."""
    _signalled(marked(*marks), signal.SIGTERM, seconds)


def _signalled(numbers: list[int], number: signal.Signals, seconds: float) -> int:
    """Signal these processes and wait until they have ended; returns how many there were."""
    held = [one for each in numbers if (one := _hold(each)) is not None]
    # A clock that no test freezes (see `deadline`); it exists wherever pidfds do.
    give_up = time.clock_gettime(time.CLOCK_MONOTONIC) + seconds if held else 0.0
    for descriptor in held:
        with contextlib.suppress(OSError):  # it may have ended
            signal.pidfd_send_signal(descriptor, number)
    for descriptor in held:
        left = give_up - time.clock_gettime(time.CLOCK_MONOTONIC)
        select.select([descriptor], [], [], max(0.0, left))  # readable once it has ended
        os.close(descriptor)
    return len(held)


def _hold(number: int) -> int | None:
    """A descriptor for this process, and not for a later one with the same number."""
    try:
        return os.pidfd_open(number)
    except OSError:
        return None
