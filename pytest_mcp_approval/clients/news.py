"""Somebody waits until something has happened: a message came, the screen changed, a client ended.

One object for all of these, so that a scenario waits for whichever comes first. Knows no messages
and no screens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..support.deadline import Deadline


class News:
    """Told by many threads, waited for by one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def tell(self) -> None:
        """Something has happened; whoever waits looks again."""
        with self._changed:
            self._changed.notify_all()

    def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until it holds; returns whether it does. `holds` must not wait itself."""
        deadline = Deadline(seconds)
        with self._changed:
            while not holds():
                left = deadline.left()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True
