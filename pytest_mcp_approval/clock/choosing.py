"""Which clock a target gets: what the user said, else what suits that kind of target.

Knows the kinds of clocks, and of a target only whether the suite starts it as a process.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .base import ClockControl, ClockError, NoClock
from .faketime import FaketimeClock, find_library, why_not_found
from .hook import HookClock
from .waiting import WaitClock

_HELP = "--mcp-approval-clock=hook:<command or URL>, or wait"
NOT_STARTED = f"the suite did not start this server: --mcp-approval-launch, or {_HELP}"


def choose_clock(
    wanted: str,
    *,
    automatic: Callable[[], ClockControl],
    starts_a_process: bool,
    longest_wait: float,
    hook_timeout: float,
    directory: Path | None = None,
    nearby: bool = True,
) -> ClockControl:
    """`wanted` as in the settings; `automatic` makes what this kind of target takes by itself.

    `nearby`: the target has the clock of this machine. `directory` is for a command that is a hook.
    """
    if wanted == "none":
        return NoClock("switched off (--mcp-approval-clock=none)")
    if wanted.startswith("hook:"):
        return HookClock(wanted.removeprefix("hook:"), hook_timeout, directory)
    if wanted == "wait" or wanted.startswith("wait:"):
        return WaitClock(longest_wait, nearby=nearby)
    if wanted == "faketime":
        if not starts_a_process:
            return NoClock("libfaketime reaches only a server that the suite starts as a command")
        return faketime_clock()
    return automatic()


def faketime_clock() -> ClockControl:
    """libfaketime, or why not."""
    library = find_library()
    if library is None:
        return NoClock(f"{why_not_found()}; or {_HELP}")
    try:
        return FaketimeClock(library)
    except ClockError as error:
        return NoClock(str(error))
