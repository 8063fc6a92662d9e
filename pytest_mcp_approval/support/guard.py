"""Servers, their children and temporary folders do not outlive this process, however it ends.

A process that is killed cannot clean up, so another one does: `guard_process`, started with the
first thing to guard. On Linux it finds everything; elsewhere only what stayed in its process group;
on Windows there is no guard. Knows nothing about servers.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .guard_process import FOLDER

_PACKAGE = __name__.rpartition(".")[0]
_START = f"""
import sys
sys.path.insert(0, sys.argv.pop(2))
from {_PACKAGE}.guard_process import main
main()
"""
_END_SECONDS = 5.0


class _Guard:
    """The guard process, and what it was told to guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], None] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def keep(self, kind: str, value: str) -> None:
        with self._lock:
            self._kept[kind, value] = None
            self._tell("keep", kind, value)

    def release(self, kind: str, value: str) -> None:
        with self._lock:
            if (kind, value) in self._kept:
                del self._kept[kind, value]
                self._tell("release", kind, value)

    def kept(self) -> frozenset[tuple[str, str]]:
        """What would be left behind if this process were killed now."""
        with self._lock:
            return frozenset(self._kept)

    def _tell(self, todo: str, kind: str, value: str) -> None:
        if self._owner != os.getpid():
            # First use; or this is a fork, and the parent guards what was there before.
            self._owner, self._process = os.getpid(), None
            self._kept = {(kind, value): None} if todo == "keep" else {}
        if self._process is not None and self._write([[todo, kind, value]]):
            return
        if self._kept:
            self._see_off()
            self._process = _started()
            self._write([["keep", *one] for one in self._kept])

    def _write(self, messages: list[list[str]]) -> bool:
        """Returns whether the guard is still there to read it."""
        if self._process is None or self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(
                b"".join(json.dumps(one).encode() + b"\n" for one in messages)
            )
        except OSError:
            return False
        return True

    def close(self) -> None:
        """At the end of this process: the guard cleans up what is left, and ends."""
        if self._owner == os.getpid():
            self._see_off()

    def _see_off(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                process.stdin.close()
                process.wait(_END_SECONDS)


def _started() -> subprocess.Popen[bytes] | None:
    if sys.platform == "win32":
        return None
    root = Path(__file__).parents[_PACKAGE.count(".") + 1]
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, str(os.getpid()), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=os.sep,
            start_new_session=True,  # it must not get our group's signals
        )
    except OSError:
        return None  # without a guard, a killed run leaves things behind


_guard = _Guard()
atexit.register(_guard.close)


keep, release, kept = _guard.keep, _guard.release, _guard.kept
"""Kinds: "mark", all processes started with it (see `leftovers`); "group", a process group,
which is all that can be found without /proc; "folder", a path."""


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A folder that is removed with this process, however that ends; `what` is part of its name."""

    def __init__(self, what: str = "") -> None:
        prefix = f"{FOLDER}{what}-" if what else FOLDER
        super().__init__(prefix=prefix, ignore_cleanup_errors=True)
        _guard.keep("folder", self.name)

    def cleanup(self) -> None:
        super().cleanup()
        _guard.release("folder", self.name)
