"""A key that a thread serves to other programs, from entering a `with` block to leaving it.

What the packets travel by, its subclasses know.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from .hid import PATIENCE, HidKey

if TYPE_CHECKING:
    from types import TracebackType

    from ..authenticator import Authenticator


class ServedKey(ABC):
    """A fault that a test asked for and that is impossible is raised when the block is left: while
    it lasts, there is nobody here to raise it to."""

    key: HidKey

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        self._open()
        self.key = HidKey(self._authenticator, self._send)
        self._stop.clear()
        self._thread = threading.Thread(target=self._serve, name=type(self).__name__, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        self.key.close()
        self._close()
        failure = self.key.failure
        if error is None and failure is not None and not isinstance(failure, OSError):
            raise failure

    def _serve(self) -> None:
        while not self._stop.is_set():
            self._step()
            self.key.tick()

    @abstractmethod
    def _open(self) -> None:
        """Get hold of what the packets travel by, and tell others that the key is there."""

    @abstractmethod
    def _step(self) -> None:
        """Take what has come to `self.key`; wait for it no longer than KEEPALIVE_INTERVAL."""

    @abstractmethod
    def _send(self, packet: bytes) -> None:
        """Send a packet; an empty one is none."""

    @abstractmethod
    def _close(self) -> None: ...
