"""A child process in its own process group: started, fed, watched, and stopped completely.

Knows nothing about JSON-RPC: lines come out, bytes go in. Waits only on locks and pipes, never on
`subprocess`'s timeouts, which a frozen clock turns into endless loops.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from . import guard, leftovers
from .command import CommandError, await_end, signal_group, start
from .deadline import Deadline
from .text import last_lines

_PIECE = 64 * 1024
KEPT_OF_STDERR = 1024 * 1024
"""A server's output may be searched for secrets, so it is kept, up to this limit."""
_DISCARDED_AT_MOST = 16
"""How much of an endless line, in multiples of the limit, is dropped before giving up."""
_GENTLE_SECONDS = 1.0
_HURRIED_SECONDS = 0.25
"""For a child that has already used up its time."""
_KILLED_SECONDS = 5.0
_QUIET_SECONDS = 0.25
_LAST_WORDS_SECONDS = 2.0
"""After the command has ended: its last output may still be on its way."""
_WINDOWS = sys.platform == "win32"


class Child:
    """`on_line` gets each line of standard output, `on_too_long` the beginning of one beyond
    `limit`, and `on_end` is called when there will be no more; all from the reading thread.
    `CommandError` if it cannot be started."""

    _kept_of_output = KEPT_OF_STDERR

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None,
        directory: str | Path | None,
        limit: int = 0,
        on_line: Callable[[bytes], None] = lambda _: None,
        on_too_long: Callable[[bytes], None] = lambda _: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._limit = limit
        self._on_line, self._on_too_long, self._on_end = on_line, on_too_long, on_end
        self._stderr = bytearray()
        self._exited = threading.Event()
        self._heard = threading.Event()
        self._told_of_the_end = threading.Lock()
        self._given_up = ""
        mark = leftovers.new_mark()
        self._mark = mark[leftovers.MARK]
        self.exit_code: int | None = None
        """Below zero: the signal that ended it. None while it runs."""
        guard.keep("mark", self._mark)  # before it starts: we may be killed right after
        try:
            self._process = start(
                command,
                directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, **(environment or {}), **mark},
            )
        except CommandError:
            guard.release("mark", self._mark)
            raise
        guard.keep("group", str(self._process.pid))
        assert self._process.stdin is not None
        self._input = self._process.stdin.fileno()
        if not _WINDOWS:
            os.set_blocking(self._input, False)
        self._threads = [
            threading.Thread(
                target=work, name=f"mcp-approval {name} of {self._process.pid}", daemon=True
            )
            for name, work in (
                ("output", self._read_output),
                ("errors", self._read_errors),
                ("exit", self._await_exit),
            )
        ]
        for thread in self._threads:
            thread.start()

    def write(self, data: bytes, deadline: Deadline) -> int:
        """Returns how many bytes the child took in time. Raises `OSError` if it takes no more at
        all."""
        taken = 0
        while taken < len(data):
            try:
                taken += os.write(self._input, data[taken : taken + _PIECE] if taken else data)
            except BlockingIOError:
                left = deadline.left()
                if left <= 0:
                    break
                self._await_room(left)
        return taken

    def explain_exit(self, deadline: Deadline) -> str:
        """How it ended, in words, with its last output; waits a moment if it is just ending."""
        if self._given_up:
            return self._with_errors(self._given_up)
        if not self._exited.wait(min(deadline.left(), _GENTLE_SECONDS)):
            return self._with_errors("its standard output was closed")
        # Its last output may still be on its way.
        self._threads[1].join(min(deadline.left(), 0.5))
        code = self.exit_code or 0
        if code < 0:
            with contextlib.suppress(ValueError):
                return self._with_errors(f"command was ended by {signal.Signals(-code).name}")
        return self._with_errors(f"command exited with {code}")

    @property
    def stderr_tail(self) -> bytes:
        return bytes(self._stderr)

    def stop(self, *, hurried: bool = False) -> None:
        """Close its input, wait, ask it to end, then kill it, its group, and what has left the
        group.

        `hurried`: it has already missed a deadline and gets only a moment.
        """
        gentle = _HURRIED_SECONDS if hurried else _GENTLE_SECONDS
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        if not self._exited.wait(gentle):
            signal_group(self._process)
            self._exited.wait(gentle)
        # Also if the child is gone: what it started may not be. The child is not reaped yet, so its
        # number still belongs to this group.
        signal_group(self._process, kill=True)
        if self._exited.wait(_KILLED_SECONDS):
            # Once it is reaped, its number may be reused.
            guard.release("group", str(self._process.pid))
            self._process.wait()
        leftovers.end_marked(self._mark)
        guard.release("mark", self._mark)
        self._threads[0].join(_GENTLE_SECONDS)
        # Drop further output: it must not reach those who talk to the next child.
        self._on_line = self._on_too_long = lambda _: None
        self._told_of_the_end.acquire(blocking=False)
        for thread, stream in zip(
            self._threads, (self._process.stdout, self._process.stderr), strict=False
        ):
            thread.join(_GENTLE_SECONDS)
            # A process that left the group may hold the pipe; then the (daemon) thread keeps it.
            if not thread.is_alive() and stream is not None:
                stream.close()

    def kill(self) -> bool:
        """Kill it at once, without warning, as a failing machine would; returns whether it is
        gone."""
        signal_group(self._process, kill=True)
        return self._exited.wait(_KILLED_SECONDS)

    def _with_errors(self, line: str) -> str:
        said = last_lines(self.stderr_tail)
        return f"{line}: {said}" if said else line

    def _await_room(self, seconds: float) -> None:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._input, select.POLLOUT)
            poll.poll(seconds * 1000)

    def _await_exit(self) -> None:
        self.exit_code = await_end(self._process)
        self._exited.set()
        # A process that it started may hold its output open, but nobody answers any more.
        output, deadline = self._threads[0], Deadline(_LAST_WORDS_SECONDS)
        while output.is_alive() and not deadline.passed:
            self._heard.clear()
            output.join(_QUIET_SECONDS)
            if not self._heard.is_set():
                break
        self._end()

    def _read_errors(self) -> None:
        self._keep_output(self._process.stderr)

    def _keep_output(self, stream: IO[bytes] | None) -> None:
        """Read a stream to its end, for `stderr_tail`."""
        assert stream is not None
        with contextlib.suppress(OSError):
            while piece := os.read(stream.fileno(), _PIECE):
                self._stderr += piece
                del self._stderr[: -self._kept_of_output]

    def _read_output(self) -> None:
        try:
            self._split_lines()
        finally:
            self._end()

    def _end(self) -> None:
        if self._told_of_the_end.acquire(blocking=False):  # never released: report it only once
            self._on_end()

    def _split_lines(self) -> None:
        assert self._process.stdout is not None
        number = self._process.stdout.fileno()
        buffer = bytearray()
        discarded = 0
        with contextlib.suppress(OSError):
            while piece := os.read(number, _PIECE):
                self._heard.set()
                searched = len(buffer)
                buffer += piece
                begin = 0
                while (end := buffer.find(b"\n", max(begin, searched))) >= 0:
                    line = bytes(buffer[begin:end]).removesuffix(b"\r")
                    begin = end + 1
                    if not discarded:
                        (self._on_line if len(line) <= self._limit else self._on_too_long)(line)
                    discarded = 0
                del buffer[:begin]
                if len(buffer) > self._limit and not discarded:
                    self._on_too_long(bytes(buffer))
                if len(buffer) > self._limit or discarded:
                    discarded += len(buffer)
                    buffer.clear()
                if discarded > self._limit * _DISCARDED_AT_MOST:
                    self._given_up = f"a line without an end, more than {discarded >> 20} MB"
                    return
            if buffer and not discarded:
                self._on_line(bytes(buffer))  # the last line had no line end
