"""A call to the key that runs in a thread of its own, so that it can be watched and cancelled.

Knows nothing of packets and APDUs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fido2.ctap import STATUS, CtapDevice, CtapError

PROCESSING = 1
"""Keepalive status: at work, nobody is waited for."""


class RunningCall:
    """One call. `done` is set when there is an outcome: an answer, or why there is none."""

    def __init__(
        self,
        device: CtapDevice,
        command: int,
        payload: bytes,
        *,
        cancelled: threading.Event,
        when_done: Callable[[RunningCall], None] | None = None,
        when_status: Callable[[], None] | None = None,
    ) -> None:
        self.status = PROCESSING
        """What a keepalive message says at this time."""
        self.answer: bytes | None = None
        self.refused: CtapError | None = None
        self.failure: Exception | None = None
        """Not an answer: the key was taken out, or the test asked for an impossible fault."""
        self.done = threading.Event()
        self.cancelled = cancelled
        self._device, self._command, self._payload = device, command, payload
        self._when_done, self._when_status = when_done, when_status
        self._thread = threading.Thread(target=self._run, name="virtual authenticator", daemon=True)
        self._thread.start()

    def _note(self, status: STATUS) -> None:
        self.status = int(status)
        if self._when_status is not None:
            self._when_status()

    def _run(self) -> None:
        try:
            self.answer = self._device.call(
                self._command, self._payload, self.cancelled, self._note
            )
        except CtapError as error:
            self.refused = error
        except Exception as error:
            self.failure = error
        self.done.set()
        if self._when_done is not None:
            self._when_done(self)

    def stop(self, seconds: float) -> None:
        """Cancel it and wait for its end."""
        self.cancelled.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(seconds)
