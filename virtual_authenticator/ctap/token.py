"""The pinUvAuthToken: what it allows, and for how long (CTAP 2.1, sections 6.5.2.1 to 6.5.2.3).

One object stands for the tokens of all protocols: making a new one ends the others, so at most one
is ever in use. Knows nothing of how a platform earns a token.
"""

from __future__ import annotations

import math
from enum import IntFlag

from ..clock import Clock
from ..entropy import Entropy
from .pin_protocols import PinProtocol

INITIAL_USAGE_LIMIT = 30.0
"""Seconds within which a token must be used first (and the limit of a presence it carries)."""
MAXIMUM_USAGE = 600.0
"""Seconds after which it ends in any case."""


class Permission(IntFlag):
    """What a token may be used for (section 6.5.5.7)."""

    MAKE_CREDENTIAL = 0x01
    GET_ASSERTION = 0x02
    CREDENTIAL_MANAGEMENT = 0x04
    BIO_ENROLLMENT = 0x08
    LARGE_BLOB_WRITE = 0x10
    AUTHENTICATOR_CONFIGURATION = 0x20
    PERSISTENT_CREDENTIAL_MANAGEMENT = 0x40


class PinUvAuthToken:
    """The token, or the absence of one (`in_use` is then False)."""

    def __init__(self, clock: Clock, entropy: Entropy, *, limited: bool) -> None:
        self._clock = clock
        self._entropy = entropy
        self._limited = limited
        """CTAP 2.0 has no time limits, no binding to an RP ID, and nothing is used up."""
        self.stop()

    def stop(self) -> None:
        """stopUsingPinUvAuthToken: whatever was issued is worthless from here on."""
        self._value = b""
        self._version = 0
        self._started = 0.0
        self._used = False
        self._in_use = False
        self._user_present = False
        self._user_verified = False
        self.permissions = Permission(0)
        self.rp_id: str | None = None

    def issue(
        self,
        protocol: PinProtocol,
        permissions: Permission,
        rp_id: str | None,
        *,
        user_present: bool,
    ) -> bytes:
        """resetPinUvAuthToken and beginUsingPinUvAuthToken: a new token, which ends the last."""
        self.stop()
        self._value = self._entropy.bytes(32)
        self._version = protocol.version
        self._started = self._clock.now()
        self._in_use = self._user_verified = True
        self._user_present = user_present
        self.permissions = permissions
        self.rp_id = rp_id
        return self._value

    def _observe(self) -> None:
        """pinUvAuthTokenUsageTimerObserver: the time is checked when it matters."""
        if not self._in_use or not self._limited:
            return
        elapsed = self._clock.now() - self._started
        # If the clock was set back, the token's age is unknown: it ends.
        elapsed = math.inf if elapsed < 0 else elapsed
        if elapsed >= MAXIMUM_USAGE or (elapsed >= INITIAL_USAGE_LIMIT and not self._used):
            self.stop()
        elif elapsed >= INITIAL_USAGE_LIMIT:
            self._user_present = False

    @property
    def in_use(self) -> bool:
        self._observe()
        return self._in_use

    @property
    def user_present(self) -> bool:
        self._observe()
        return self._user_present

    @property
    def user_verified(self) -> bool:
        self._observe()
        return self._user_verified

    def verify(self, protocol: PinProtocol, message: bytes, signature: bytes) -> bool:
        """Whether this token, still valid, made the signature over the message."""
        if not self.in_use or protocol.version != self._version:
            return False
        if not protocol.verify(self._value, message, signature):
            return False
        self._used = True
        return True

    def bind(self, rp_id: str) -> None:
        """The first use of a token that has no RP ID gives it one."""
        if self._limited and self.rp_id is None:
            self.rp_id = rp_id

    def spend(self) -> None:
        """After an operation with user presence: clearUserPresentFlag, clearUserVerifiedFlag,
        clearPinUvAuthTokenPermissionsExceptLbw."""
        if self._limited:
            self._user_present = self._user_verified = False
            self.permissions &= Permission.LARGE_BLOB_WRITE
