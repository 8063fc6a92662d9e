"""SIGTERM and SIGHUP end a run as Ctrl-C does: everything open is closed, then pytest ends.

Otherwise they would end pytest at once, without closing its fixtures. A signal that is ignored
(nohup) or handled by somebody else is left alone. If a run is killed, its guard cleans up
(`support.guard`).
"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

_NAMES = ("SIGTERM", "SIGHUP")


class Ending:
    """Handles the signals from its creation until `restore`."""

    def __init__(self) -> None:
        self._ours: list[int] = []
        self.exit_code = 0
        """128 + the signal, as in shells, once a signal has come."""
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)
                    self._ours.append(number)

    def _end(self, number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG002
        self.exit_code = 128 + number
        self.restore()  # a second signal ends pytest at once
        raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

    def restore(self) -> None:
        """Put the previous signal handlers back."""
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)
