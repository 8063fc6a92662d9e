"""What a command has started and left running, wherever it went: found by a mark, and ended.

A process group is not enough: who calls setsid leaves it, as every daemon does. The environment is
inherited, so a mark in it shows on Linux, in /proc, whose child a process is. Elsewhere nothing is
found. Knows nothing of commands.
"""

import os
import secrets
import select
import signal
import sys
from pathlib import Path

from pytest_mcp_approval.wire.clock import Deadline

MARK = "MCP_APPROVAL_STARTED_BY"
_PROCESSES = Path("/proc")
_ROUNDS = 5
"""One that is just being ended may have started another in the meantime."""
_END_SECONDS = 2.0


def new_mark() -> dict[str, str]:
    """The environment variable that marks a command and all that it starts."""
    return {MARK: f"{os.getpid()}-{secrets.token_hex(8)}"}


def marked(mark: str) -> list[int]:
    """The processes with this mark, as far as we may look."""
    if sys.platform != "linux":
        return []
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue  # somebody else's, or gone
        if wanted in environment.split(b"\0"):
            found.append(int(folder.name))
    return found


def end_marked(mark: str) -> int:
    """End them without asking; says how many there were."""
    ended = 0
    for _ in range(_ROUNDS):
        watched = [one for number in marked(mark) if (one := _hold(number)) is not None]
        if not watched:
            break
        ended += len(watched)
        deadline = Deadline(_END_SECONDS)
        for descriptor in watched:
            try:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                # Readable once it has ended.
                select.select([descriptor], [], [], deadline.left())
            except OSError:
                pass
            finally:
                os.close(descriptor)
    return ended


def _hold(number: int) -> int | None:
    """A descriptor that stands for this process and no later one of the same number."""
    try:
        return os.pidfd_open(number)
    except OSError:
        return None
