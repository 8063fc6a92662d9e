"""The server for the next scenario, started in the background while this one is judged.

Only for `reset = "restart"`, where each scenario waits for a server to start. Does not know how a
server is started, or what makes it safe to run two at once.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Generic, TypeVar

from ..support.deadline import Deadline
from .targets import Target

T = TypeVar("T", bound=Target)


class NextServer(Generic[T]):
    """Owns the target until it is taken."""

    def __init__(self, target: T) -> None:
        self._target = target
        self._started = False
        self._thread = threading.Thread(
            target=self._start, name="mcp-approval next server", daemon=True
        )
        self._thread.start()

    def take(self) -> T | None:
        """The target once it is ready; None if it did not start, and then it is closed.

        The start has its own deadline, so this wait ends.
        """
        self._thread.join()
        if self._started:
            return self._target
        self._target.close()
        return None

    def close(self) -> None:
        taken = self.take()
        if taken is not None:
            taken.close()

    def _start(self) -> None:
        # Whoever starts it in the ordinary way then tells what is wrong.
        with contextlib.suppress(Exception):
            self._target.transport.start(Deadline(self._target.settings.launch_timeout))
            self._started = True
