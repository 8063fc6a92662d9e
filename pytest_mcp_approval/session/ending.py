"""SIGTERM and SIGHUP end a run as Ctrl-C does: what is open is closed, then pytest ends.

Without that they end pytest on the spot, and with it every fixture. A signal that somebody ignores
(nohup) or handles otherwise is left alone. What a run cannot close, because it is killed, its guard
cleans up (`support.guard`).
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP")


class Ending:
    """From when it is made until `restore`."""

    def __init__(self) -> None:
        self._ours: list[int] = []
        self.exit_code = 0
        """As shells say it, once a signal has come."""
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)
                    self._ours.append(number)

    def _end(self, number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG002
        self.exit_code = 128 + number
        self.restore()  # the next one ends pytest on the spot
        raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

    def restore(self) -> None:
        """Leave signals as they were."""
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)
