"""Reads what a server writes to its log while something happens, if the suite can see it.

A server in this process logs and prints here; a command that we start has a standard error; for any
other the user may name a file. Knows no family's rules.
"""

from __future__ import annotations

import base64
import contextlib
import io
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

from ...catalogue import NotVerified
from ...support.child import KEPT_OF_STDERR
from ...target import Target
from ...wire import StdioTransport

_MOST = 4 * 1024 * 1024


class Log:
    """What was written since the beginning of the watch."""

    def __init__(self, target: Target, file: str) -> None:
        self._target = target
        self._file = Path(target.settings.directory, file) if file else None
        self._size = self._file_size()
        self.lines = io.StringIO()

    def _file_size(self) -> int:
        if self._file is None or not self._file.is_file():
            return 0
        return self._file.stat().st_size

    def text(self) -> str:
        parts = [self.lines.getvalue()]
        transport = self._target.transport
        if isinstance(transport, StdioTransport):
            parts.append(transport.stderr_tail.decode("utf-8", "replace"))
        if self._file is not None and self._file.is_file():
            with self._file.open("rb") as handle:
                handle.seek(self._size)
                parts.append(handle.read(_MOST).decode("utf-8", "replace"))
        return "\n".join(parts)

    def need_whole(self) -> None:
        """Call if nothing was found: that proves something only if the log is complete."""
        transport = self._target.transport
        if isinstance(transport, StdioTransport) and len(transport.stderr_tail) >= KEPT_OF_STDERR:
            raise NotVerified("the server says so much on its standard error that a part was lost")

    def holds(self, token: str) -> bool:
        return holds_whole(self.text(), token)


def holds_whole(text: str, token: str) -> bool:
    """Whether a text contains the whole token: plain, however its quotes and backslashes are
    escaped, or in a spelling that anyone can turn back."""
    searched = _plain(text)
    return any(_plain(one) in searched for one in _spellings(token))


def _spellings(token: str) -> Iterator[str]:
    as_bytes = token.encode("utf-8", "replace")
    yield token
    yield quote(token, safe="")
    yield quote_plus(token)
    yield base64.b64encode(as_bytes).decode().rstrip("=")
    yield base64.urlsafe_b64encode(as_bytes).decode().rstrip("=")
    yield as_bytes.hex()


def _plain(text: str) -> str:
    return text.translate({ord(character): None for character in "\\\"'\r\n"})


def visible(target: Target, file: str) -> bool:
    """Whether there is a log to look at."""
    in_this_process = target.spec.kind in ("python", "reference")
    return in_this_process or bool(file) or isinstance(target.transport, StdioTransport)


@contextlib.contextmanager
def watched_log(target: Target, file: str) -> Iterator[Log]:
    """The log of the target from here on."""
    log = Log(target, file)
    handler = logging.StreamHandler(log.lines)
    handler.setLevel(logging.INFO)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        with contextlib.redirect_stdout(log.lines), contextlib.redirect_stderr(log.lines):
            yield log
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
