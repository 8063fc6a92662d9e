"""The process that outlives ours by a moment: it ends what we started and removes our folders.

It reads from its standard input what there is to keep an eye on, one JSON list a line. The pipe
closes when our process ends, in whatever way; what was not taken back by then is cleaned up. Run by
`guard`. Imports the standard library only, and little of it, for it is started in every run that
starts a server.
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
"""How the name of every folder of ours begins. No other is ever removed."""
_GRACE_SECONDS = 1.0
_PIECE = 64 * 1024


def main() -> None:
    # What is meant for the run must not end its guard first.
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
            time.sleep(_GRACE_SECONDS)  # nothing tells when the last of a group has ended
        _signal_groups(groups, signal.SIGKILL)
        leftovers.end_marked(*marks)
    for folder in folders:
        if folder.is_absolute() and folder.name.startswith(FOLDER):
            shutil.rmtree(folder, ignore_errors=True)


def _signal_groups(groups: list[int], number: signal.Signals) -> bool:
    """Whether there was anybody in one of them."""
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
    # Somebody whom the parent forked may hold the pipe open when the parent has ended.
    gone = False
    if hasattr(os, "pidfd_open"):
        try:
            watch.register(os.pidfd_open(parent), select.POLLIN)
        except ProcessLookupError:
            gone = True
        except OSError:
            pass  # a kernel without them: the pipe has to do
    buffer = b""
    while True:
        ready = {number for number, _ in watch.poll(0 if gone else None)}
        # What was said before the end is heard first.
        piece = os.read(source, _PIECE) if source in ready else b""
        if not piece:
            return
        *lines, buffer = (buffer + piece).split(b"\n")
        yield from lines
