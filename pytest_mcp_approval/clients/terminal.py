"""A client in a terminal: a command in a pseudo-terminal, or a callable with two text streams.

What it shows is kept as text, without the codes that colour and move; what a person types goes in.
This is no emulator: a program that paints its screen anew is seen as the texts that it painted, one
after the other. Knows no server and no prompt.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.client_description import IN_PROCESS
from ..config.options import PREFIX, SettingsError
from ..config.user_code import imported
from ..support import guard, leftovers
from ..support.command import CommandError, await_end, signal_group, start
from ..support.text import neutralise
from .messages import ClientError
from .news import News

_COLUMNS, _LINES = 4000, 200
"""So wide that no client has to break a line."""
_MOST_SHOWN = 8 * 1024 * 1024
_PIECE = 64 * 1024
_END_SECONDS = 2.0
_CODES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[PX^_].*?\x1b\\"
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)


class Terminal(ABC):
    """A running client."""

    def __init__(self, news: News) -> None:
        self.news = news
        self.ended = False
        self._raw = ""
        self._lock = threading.Lock()

    @property
    def shown(self) -> str:
        """All that the client has shown so far, as text with plain line ends."""
        with self._lock:
            return _CODES.sub("", self._raw).replace("\r\n", "\n").replace("\r", "")

    @abstractmethod
    def type(self, text: str) -> None:
        """Type a line."""

    @abstractmethod
    def close(self) -> None:
        """End the client."""

    # ---- what is more than a line on a page

    def call(self, line: str, tool: str, arguments: str) -> None:  # noqa: ARG002
        """Have a tool called."""
        self.type(line)

    def fill(self, name: str, text: str) -> None:  # noqa: ARG002
        """Fill in a member of a form."""
        self.type(text)

    def watch(self, fields: Sequence[str]) -> None:
        """From now on these members of a form are looked for."""
        del fields  # a terminal shows them by itself

    def _show(self, text: str) -> None:
        with self._lock:
            self._raw = (self._raw + text)[-_MOST_SHOWN:]
        self.news.tell()

    def _end(self) -> None:
        self.ended = True
        self.news.tell()


class CommandTerminal(Terminal):
    """A command in a pseudo-terminal of its own."""

    def __init__(
        self,
        words: Sequence[str],
        news: News,
        *,
        environment: Mapping[str, str],
        directory: Path,
    ) -> None:
        super().__init__(news)
        if not hasattr(os, "openpty"):
            raise ClientError("a command needs a pseudo-terminal, which this system has not")
        self._master, slave = os.openpty()
        _prepare(slave)
        mark = leftovers.new_mark()
        self._mark = mark[leftovers.MARK]
        guard.keep("mark", self._mark)
        try:
            self._process = start(
                list(words),
                directory,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env={**os.environ, **environment, "TERM": "dumb", "NO_COLOR": "1", **mark},
            )
        except CommandError as error:
            os.close(self._master)
            guard.release("mark", self._mark)
            raise ClientError(f"the client cannot be started: {error}") from None
        finally:
            os.close(slave)
        guard.keep("group", str(self._process.pid))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        self._reader.start()
        self._waiter.start()

    def type(self, text: str) -> None:
        with contextlib.suppress(OSError):  # it has ended: whoever waits sees that
            content = text.encode() + b"\n"
            while content:
                content = content[os.write(self._master, content) :]

    def close(self) -> None:
        signal_group(self._process, kill=False)
        self._waiter.join(_END_SECONDS)
        signal_group(self._process, kill=True)
        self._waiter.join(_END_SECONDS)
        self._process.wait()
        guard.release("group", str(self._process.pid))
        leftovers.end_marked(self._mark)
        guard.release("mark", self._mark)
        self._reader.join(_END_SECONDS)
        if not self._reader.is_alive():
            os.close(self._master)

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        with contextlib.suppress(OSError):  # on Linux the end of a terminal is an error
            while piece := os.read(self._master, _PIECE):
                self._show(decoder.decode(piece))
        self._show(decoder.decode(b"", final=True))

    def _wait(self) -> None:
        await_end(self._process)
        # What it showed last may still be on its way.
        self._reader.join(_END_SECONDS)
        self._end()


def _prepare(slave: int) -> None:
    """Wide, and without an echo: what is seen is what the client shows."""
    import fcntl  # here and below: not on every system
    import struct
    import termios

    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    # Long lines arrive whole: a terminal that edits lines cuts them at 4 KB.
    attributes[3] &= ~termios.ICANON
    attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
    termios.tcsetattr(slave, termios.TCSANOW, attributes)


class CallableTerminal(Terminal):
    """A callable in this process: `main(arguments, stdin=..., stdout=..., environment=...)`."""

    def __init__(
        self,
        words: Sequence[str],
        news: News,
        *,
        environment: Mapping[str, str],
        directory: Path,
    ) -> None:
        super().__init__(news)
        main = _callable(words[0], directory)
        self._typed = _TypedLines()

        def run() -> None:
            try:
                main(
                    list(words[1:]),
                    stdin=self._typed,
                    stdout=_Screen(self._show),
                    environment=dict(environment),
                )
            except Exception as error:  # as a program that fails: it says why, and ends
                self._show(f"\n{type(error).__name__}: {neutralise(str(error), 300)}\n")
            finally:
                self._end()

        self._thread = threading.Thread(target=run, name="mcp-approval client", daemon=True)
        self._thread.start()

    def type(self, text: str) -> None:
        self._typed.add(text)

    def close(self) -> None:
        self._typed.end()
        self._thread.join(_END_SECONDS)


def _callable(word: str, directory: Path) -> Any:
    name = word.removeprefix(IN_PROCESS)
    try:
        return imported(f"{PREFIX}client", name, directory, "python:MODULE:CALLABLE")
    except SettingsError as error:
        raise ClientError(str(error)) from None


class _TypedLines(io.TextIOBase):
    """Standard input of a callable: a line waits until it is typed."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._over = False
        self._changed = threading.Condition()

    def add(self, text: str) -> None:
        with self._changed:
            self._lines.append(f"{text}\n")
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]  # noqa: ARG002
        with self._changed:
            while not self._lines and not self._over:
                self._changed.wait()
            return self._lines.pop(0) if self._lines else ""

    def readable(self) -> bool:
        return True


class _Screen(io.TextIOBase):
    """Standard output of a callable."""

    def __init__(self, show: Any) -> None:
        self._write = show

    def write(self, text: str, /) -> int:
        self._write(text)
        return len(text)

    def writable(self) -> bool:
        return True
