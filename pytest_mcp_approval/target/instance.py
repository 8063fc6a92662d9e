"""One instance of a server that the suite starts: its own port and folder, by placeholders.

`{port}` stands for a free port of the loopback interface, `{state}` for a folder that is empty at
first, is kept over restarts and removed with the instance. A twin has its own port and folder; a
replica has another port and the same folder. Does not know what uses them.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import shutil
import socket
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..config.settings import Settings
from ..support.guard import TemporaryFolder
from ..support.json_reading import with_texts
from .errors import TargetError
from .grammar import PORT, STATE, TargetSpec

_WITH_PLACEHOLDERS = (
    *("effects", "reset", "clock", "headers", "second_user_headers", "environment"),
    "family_settings",
)
"""The settings that may contain them."""
_PORTS = range(20_000, 32_000)
"""Below those that systems hand out themselves, to whoever connects anywhere: one of these could be
taken by any connection of this machine before the server has started."""
_TRIES = 50
_given_out: set[int] = set()


class Instance:
    """What the placeholders stand for."""

    def __init__(self, texts: Iterable[str], sibling: Instance | None = None) -> None:
        """`texts` may contain placeholders; the state is shared with `sibling`."""
        joined = "\n".join(texts)
        self.port = free_port() if PORT in joined else None
        self.has_state = STATE in joined
        self._holder: TemporaryFolder | None = None
        self._state: Path | None = None
        if self.has_state and sibling is not None:
            self._state = sibling._state
        elif self.has_state:
            self._holder = TemporaryFolder("state")
            self._state = Path(self._holder.name)

    def take_another_port(self) -> None:
        self.port = free_port()

    def fill(self, text: str) -> str:
        if self.port is not None:
            text = text.replace(PORT, str(self.port))
        if self._state is not None:
            text = text.replace(STATE, str(self._state))
        return text

    def fill_settings(self, settings: Settings) -> Settings:
        """The settings as they are for this instance."""
        filled = {
            name: with_texts(getattr(settings, name), self.fill) for name in _WITH_PLACEHOLDERS
        }
        return replace(settings, **filled)

    def fill_spec(self, spec: TargetSpec) -> TargetSpec:
        """The target as it is for this instance; its text stays as the user wrote it."""
        return replace(
            spec, url=self.fill(spec.url), command=tuple(self.fill(word) for word in spec.command)
        )

    def empty_state(self) -> None:
        """Make the state folder empty again."""
        if self._state is None:
            return
        try:
            for entry in self._state.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry)
                else:
                    entry.unlink()
        except OSError as error:
            raise TargetError(
                f"{STATE}: {error.filename} cannot be removed: {error.strerror}"
            ) from None

    def close(self) -> None:
        if self._holder is not None:
            self._holder.cleanup()
            self._holder = None


def free_port() -> int:
    """A port that nobody listens on, on either loopback address."""
    for _ in range(_TRIES):
        port = secrets.choice(_PORTS)
        if port not in _given_out and _is_free("127.0.0.1", port) and _is_free("::1", port):
            _given_out.add(port)
            return port
    raise TargetError("no free port was found on 127.0.0.1")


def _is_free(address: str, port: int) -> bool:
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as listener:
            listener.bind((address, port))
    except OSError as error:
        # Without IPv6 the address does not exist, so it is not taken.
        return error.errno not in (errno.EADDRINUSE, errno.EACCES)
    return True


def listens(host: str, port: int, seconds: float = 1.0) -> bool:
    """Whether somebody accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), seconds):
        return True
    return False
