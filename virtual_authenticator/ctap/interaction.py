"""The person, as CTAP sees them: asked for a touch or a finger while the platform waits.

Turns gestures into statuses and keeps the platform informed. Knows nothing of commands;
`authorisation` decides what a verification is worth and how many are left.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from ..core import Core
from ..person import Gesture
from .status import CtapFailure, DeviceRemoved, Status

USER_ACTION_TIMEOUT = 30.0
KEEPALIVE_INTERVAL = 0.1
"""Seconds; CTAP 2.1, section 11.2.9.1.7, asks for at least one every 100 ms."""
UP_NEEDED = 2
"""Keepalive status: the authenticator waits for its user."""


class Interaction:
    """The person and the platform during one command."""

    def __init__(
        self,
        core: Core,
        cancelled: Event | None = None,
        on_keepalive: Callable[[int], None] | None = None,
    ) -> None:
        self._core = core
        self._cancelled = cancelled
        self._on_keepalive = on_keepalive
        self.callback_error: Exception | None = None
        """What the caller's own callback raised: it goes back to the caller, not into a status."""

    def presence(self) -> None:
        """Evidence of user interaction; any finger will do."""
        self._gesture()

    def verification(self) -> bool:
        """One attempt at the built-in verification; True when it was the right finger."""
        return self._gesture() is Gesture.APPROVE

    def touch_now(self) -> bool:
        """Whether a touch comes at once, for U2F, which does not wait."""
        gesture = self._core.person.act()
        if gesture is Gesture.REMOVE:
            raise DeviceRemoved
        return gesture in (Gesture.APPROVE, Gesture.WRONG_FINGER)

    def _gesture(self) -> Gesture:
        if self._cancelled is not None and self._cancelled.is_set():
            raise CtapFailure(Status.KEEPALIVE_CANCEL)
        self._keepalive()
        gesture = self._core.person.act()
        if gesture is Gesture.IGNORE:
            self._wait_in_vain()
        if gesture is Gesture.DECLINE:
            raise CtapFailure(Status.OPERATION_DENIED)
        if gesture is Gesture.REMOVE:
            raise DeviceRemoved
        return gesture

    def _wait_in_vain(self) -> None:
        clock = self._core.clock
        for _ in range(round(USER_ACTION_TIMEOUT / KEEPALIVE_INTERVAL)):
            if clock.wait(KEEPALIVE_INTERVAL, self._cancelled):
                raise CtapFailure(Status.KEEPALIVE_CANCEL)
            self._keepalive()
        raise CtapFailure(Status.USER_ACTION_TIMEOUT)

    def _keepalive(self) -> None:
        if self._on_keepalive is not None:
            try:
                self._on_keepalive(UP_NEEDED)
            except Exception as error:
                self.callback_error = error
                raise
