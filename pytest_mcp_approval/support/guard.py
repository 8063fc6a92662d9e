"""Servers, their children and temporary folders do not outlive this process, however it ends.

A process that is killed cannot clean up, so another one does: `guard_process`, started with the
first thing that there is to keep an eye on. Elsewhere than on Linux it finds what stayed in its
process group; on Windows there is none. Knows nothing of servers.
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
    """Who was told, and of what."""

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

    def _tell(self, todo: str, kind: str, value: str) -> None:
        if self._owner != os.getpid():
            # First use; or this is a fork, and what there was is its parent's to keep.
            self._owner, self._process = os.getpid(), None
            self._kept = {(kind, value): None} if todo == "keep" else {}
        if self._process is not None and self._write([[todo, kind, value]]):
            return
        if self._kept:
            self._see_off()
            self._process = _started()
            self._write([["keep", *one] for one in self._kept])

    def _write(self, messages: list[list[str]]) -> bool:
        """Whether the guard is there to hear it."""
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
        """At the end of this process: it cleans up what is left, and ends."""
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
            start_new_session=True,  # signals to our group are not for it
        )
    except OSError:
        return None  # then a run that is killed leaves something behind, as all did before


_guard = _Guard()
atexit.register(_guard.close)


def keep_processes(mark: str) -> None:
    """All that will be started with this mark (see `leftovers`)."""
    _guard.keep("mark", mark)


def keep_group(number: int) -> None:
    """A process group, which is all that can be found where there is no /proc."""
    _guard.keep("group", str(number))


def release_group(number: int) -> None:
    _guard.release("group", str(number))


def release_processes(mark: str) -> None:
    """They have ended."""
    _guard.release("mark", mark)


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """One that goes with this process, however that ends; `what` is a part of its name."""

    def __init__(self, what: str = "") -> None:
        prefix = f"{FOLDER}{what}-" if what else FOLDER
        super().__init__(prefix=prefix, ignore_cleanup_errors=True)
        _guard.keep("folder", self.name)

    def cleanup(self) -> None:
        super().cleanup()
        _guard.release("folder", self.name)
