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
LONG_TOUCH = 5.0
"""Seconds that a long touch lasts (CTAP 2.3, section 6.6; ten in CTAP 2.2)."""
TAP = 1.0
"""Seconds that a touch takes which is too short."""
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

    def presence(self, when_ignored: Status = Status.OPERATION_DENIED) -> None:
        """Evidence of user interaction; any finger will do.

        MakeCredential and GetAssertion give one status to a person who declines and to one who
        never acts (CTAP 2.3, sections 6.1.2 steps 1 and 14, 6.2.2 steps 1 and 9); other commands
        tell them apart.
        """
        self._gesture(when_ignored)

    def long_presence(self) -> None:
        """A touch that lasts. Letting go too early is no answer: the key goes on waiting."""
        patience = USER_ACTION_TIMEOUT
        while self._gesture(Status.USER_ACTION_TIMEOUT) is not Gesture.APPROVE:
            patience -= TAP
            if patience <= 0:
                raise CtapFailure(Status.USER_ACTION_TIMEOUT)
            self._let_pass(TAP)
        self._let_pass(LONG_TOUCH)

    def verification(self) -> bool:
        """One attempt at the built-in verification; True when it was the right finger."""
        gesture = self._gesture(Status.USER_ACTION_TIMEOUT)
        return gesture in (Gesture.APPROVE, Gesture.TAP) and self._finger_is_known()

    def sample(self, seconds: float) -> Gesture:
        """What a fingerprint sensor sees within this time, IGNORE if nothing."""
        try:
            return self._gesture(Status.USER_ACTION_TIMEOUT, seconds)
        except CtapFailure as failure:
            if failure.status is not Status.USER_ACTION_TIMEOUT:
                raise
            return Gesture.IGNORE

    def _finger_is_known(self) -> bool:
        """Devices whose fingers are not enrolled over CTAP know their owner by other means."""
        core = self._core
        return not core.profile.fingerprint_sensor or core.settings.knows(core.person.finger)

    def touch_now(self) -> bool:
        """Whether a touch comes at once, for U2F, which does not wait."""
        gesture = self._core.person.act()
        if gesture is Gesture.REMOVE:
            raise DeviceRemoved
        return gesture not in (Gesture.DECLINE, Gesture.IGNORE)

    def _gesture(self, when_ignored: Status, patience: float = USER_ACTION_TIMEOUT) -> Gesture:
        if self._cancelled is not None and self._cancelled.is_set():
            raise CtapFailure(Status.KEEPALIVE_CANCEL)
        self._keepalive()
        gesture = self._core.person.act()
        if gesture is Gesture.IGNORE:
            self._let_pass(patience)
            raise CtapFailure(when_ignored)
        if gesture is Gesture.DECLINE:
            raise CtapFailure(Status.OPERATION_DENIED)
        if gesture is Gesture.REMOVE:
            raise DeviceRemoved
        return gesture

    def _let_pass(self, seconds: float) -> None:
        """Wait, with the platform kept informed and able to cancel."""
        clock = self._core.clock
        for _ in range(max(1, round(seconds / KEEPALIVE_INTERVAL))):
            if clock.wait(KEEPALIVE_INTERVAL, self._cancelled):
                raise CtapFailure(Status.KEEPALIVE_CANCEL)
            self._keepalive()

    def _keepalive(self) -> None:
        if self._on_keepalive is not None:
            try:
                self._on_keepalive(UP_NEEDED)
            except Exception as error:
                self.callback_error = error
                raise
