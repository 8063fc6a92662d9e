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

import pytest

_NAMES = ("SIGTERM", "SIGHUP")


class Ending:
    """The hooks; from the beginning of a run to its end."""

    def __init__(self) -> None:
        self._ours: list[int] = []
        self._ended_by = 0
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)
                    self._ours.append(number)

    def _end(self, number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG002
        self._ended_by = number
        self._restore()  # the next one ends pytest on the spot
        raise KeyboardInterrupt(f"ended by {signal.Signals(number).name}")

    def _restore(self) -> None:
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._ended_by:
            session.exitstatus = 128 + self._ended_by  # as shells say it

    def pytest_unconfigure(self) -> None:
        self._restore()
