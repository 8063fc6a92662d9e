"""Starts commands in their own process groups, and runs them to their end within a time limit.

Waits only on locks, never on `subprocess`'s timeouts, which a frozen clock turns into endless
loops. Output goes into files, not pipes: background processes of a command may hold its output
open, and we must not wait for them unless asked to. Does not know what a command is for; for a
command to talk to while it runs see `child`.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

from .text import last_lines, neutralise

KEPT = 64 * 1024
_END_SECONDS = 10.0
"""How long a killed process may take to disappear."""
_WINDOWS = sys.platform == "win32"


class CommandError(Exception):
    """A command could not be run, or failed; one line says why, safe to print."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended, and its output."""

    code: int
    """Below zero: the signal that ended it."""
    output: bytes
    """The first part of it."""
    errors: bytes
    """The last part of it."""

    def check(self) -> Finished:
        """`CommandError` unless it ended with 0."""
        if self.code:
            said = last_lines(self.errors) or last_lines(self.output)
            tail = f": {said}" if said else ""
            raise CommandError(f"got exit code {self.code}, expected 0{tail}")
        return self


def run_command(
    command: str | Sequence[str],
    *,
    seconds: float,
    given: bytes = b"",
    directory: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit: int = KEPT,
    with_children: bool = False,
) -> Finished:
    """Run it to its end, or kill it with everything that it started and raise a `CommandError`.

    `command` is a line or its words, `given` its standard input, `environment` its whole
    environment. `with_children` also waits for what it started and what holds its output open, and
    ends its whole group afterwards.
    """
    words = words_of(command)
    with (
        tempfile.TemporaryFile() as told,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        told.write(given)
        told.seek(0)
        streams = (PIPE, PIPE) if with_children else (output, errors)
        process = start(
            words, directory, env=environment, stdin=told, stdout=streams[0], stderr=streams[1]
        )
        said: list[bytes] = []

        def attend() -> None:
            if with_children:
                said.extend(process.communicate())
            else:
                await_end(process)

        waiting = threading.Thread(target=attend, daemon=True)
        waiting.start()
        ended = False
        try:
            waiting.join(min(seconds, threading.TIMEOUT_MAX))
            ended = not waiting.is_alive()
        finally:
            if with_children or not ended:
                signal_group(process, kill=True)
            waiting.join(_END_SECONDS)
            code = process.poll()
        if not ended or code is None:
            raise CommandError(f"{Path(words[0]).name} did not end within {seconds:g} s")
        if with_children:
            return Finished(code, said[0][:limit], said[1][-limit:])
        output.seek(0)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - limit))
        return Finished(code, output.read(limit), errors.read(limit))


def words_of(command: str | Sequence[str]) -> list[str]:
    """The words of a command line."""
    try:
        return shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as problem:
        raise CommandError(f"cannot read {neutralise(str(command))!r}: {problem}") from None


def start(
    words: Sequence[str], directory: str | Path | None, **how: Any
) -> subprocess.Popen[bytes]:
    """Start it in its own process group; `CommandError` says why that failed."""
    try:
        return subprocess.Popen(list(words), cwd=directory, start_new_session=True, **how)
    except FileNotFoundError as problem:
        what = "directory" if problem.filename == str(directory) else "command"
        raise CommandError(f"no such {what}: {neutralise(str(problem.filename))}") from None
    except (OSError, ValueError, IndexError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        shown = neutralise(words[0]) if words else ""
        raise CommandError(f"cannot run {shown!r}: {neutralise(str(reason))}") from None


def await_end(process: subprocess.Popen[bytes]) -> int:
    """Its exit code. If possible it is not reaped, so that its number still belongs to its
    group."""
    if not hasattr(os, "waitid"):
        return process.wait()
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if ended is None:
        return 0
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def signal_group(process: subprocess.Popen[bytes], *, kill: bool = False) -> None:
    """Ask its whole group to end, or kill it. Only while the process is not reaped."""
    with contextlib.suppress(OSError):
        if _WINDOWS:
            process.terminate()
        else:
            os.killpg(process.pid, signal.SIGKILL if kill else signal.SIGTERM)
