"""A process that outlives ours by a moment: it ends what we started and removes our folders.

It reads from its standard input what to guard, one JSON list per line. The pipe closes when our
process ends, in whatever way; what was not released by then is cleaned up. Run by `guard`. Imports
only a little of the standard library, because every run that starts a server starts it.
"""

import contextlib
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import leftovers

FOLDER = "mcp-approval-"
"""The prefix of all our folders' names. No other folder is ever removed."""
_GRACE_SECONDS = 1.0
_PIECE = 64 * 1024


def main() -> None:
    # A signal that is meant for the run must not end its guard first.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    kept: dict[tuple[str, str], None] = {}
    for line in _lines(int(sys.argv[1])):
        with contextlib.suppress(ValueError):
            todo, kind, value = json.loads(line)
            if todo == "keep":
                kept[kind, value] = None
            else:
                kept.pop((kind, value), None)
    clean_up(
        marks=[value for kind, value in kept if kind == "mark"],
        groups=[int(value) for kind, value in kept if kind == "group"],
        folders=[Path(value) for kind, value in kept if kind == "folder"],
    )


def clean_up(marks: list[str], groups: list[int], folders: list[Path]) -> None:
    """Processes first: one that still runs may write into its folder."""
    if marks or groups:
        alive = _signal_groups(groups, signal.SIGTERM)
        if sys.platform == "linux":
            leftovers.ask_marked(*marks, seconds=_GRACE_SECONDS)
        elif alive:
            time.sleep(_GRACE_SECONDS)  # nothing reports when the last process of a group has ended
        _signal_groups(groups, signal.SIGKILL)
        leftovers.end_marked(*marks)
    for folder in folders:
        if folder.is_absolute() and folder.name.startswith(FOLDER):
            shutil.rmtree(folder, ignore_errors=True)


def _signal_groups(groups: list[int], number: signal.Signals) -> bool:
    """Returns whether any of them still had a process."""
    alive = False
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, number)
            alive = True
    return alive


def _lines(parent: int) -> Iterator[bytes]:
    """What the parent says, until it is gone."""
    source = sys.stdin.fileno()
    watch = select.poll()
    watch.register(source, select.POLLIN)
    # A fork of the parent may hold the pipe open after the parent has ended.
    gone = False
    if hasattr(os, "pidfd_open"):
        try:
            watch.register(os.pidfd_open(parent), select.POLLIN)
        except ProcessLookupError:
            gone = True
        except OSError:
            pass  # an old kernel: the pipe must be enough
    buffer = b""
    while True:
        ready = {number for number, _ in watch.poll(0 if gone else None)}
        # Read first what was written before the end.
        piece = os.read(source, _PIECE) if source in ready else b""
        if not piece:
            return
        *lines, buffer = (buffer + piece).split(b"\n")
        yield from lines
