"""What lasts from one power-up to the next; the core outlives both.

Key agreement keys, the token, the count of wrong PINs in a row, what was begun and not finished,
the time of power-up. Knows nothing of messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..core import Core
from .features import Features
from .pin_protocols import PROTOCOLS, PinProtocol
from .status import CtapFailure, Status
from .token import PinUvAuthToken

Answers = Iterator[Callable[[], dict[int, Any]]]
STATEFUL_LIMIT = 30.0
"""Seconds that a half-done enumeration is kept (CTAP 2.1, sections 6 and 6.3)."""
RESET_WINDOW = 10.0
"""Seconds after power-up in which a reset is accepted (section 6.6)."""


@dataclass
class Enumeration:
    """Answers still to be fetched by "next" commands, each made when it is needed."""

    kind: str
    answers: Answers
    touched: float


@dataclass
class BlobWrite:
    """A large-blob array that arrives in fragments (CTAP 2.1, section 6.10.2)."""

    length: int
    received: bytes = b""


@dataclass
class Enrollment:
    """A finger that is being enrolled (CTAP 2.1, section 6.7.4)."""

    template_id: bytes
    finger: str | None
    """Known with the first sample that could be read."""
    remaining: int


class Session:
    """The volatile state of one authenticator."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.features = Features(core.profile)
        # Its own stream: CTAP traffic takes nothing from the stream that makes credentials.
        self._entropy = core.entropy.fork("ctap")
        self.power_up()

    def power_up(self) -> None:
        """The key is plugged in: everything here starts anew."""
        self.removed = False
        self.powered_up = self.core.clock.now()
        self.enumeration: Enumeration | None = None
        self.blob_write: BlobWrite | None = None
        self.enrollment: Enrollment | None = None
        self.consecutive_failures = 0
        self.protocols: dict[int, PinProtocol] = {
            version: PROTOCOLS[version](self._entropy) for version in self.features.pin_protocols
        }
        self.token = PinUvAuthToken(self.core.clock, self._entropy, limited=self.features.since_2_1)

    def protocol(self, version: int) -> PinProtocol:
        protocol = self.protocols.get(version)
        if protocol is None:
            raise CtapFailure(Status.INVALID_PARAMETER)
        return protocol

    @property
    def resettable(self) -> bool:
        return 0 <= self.core.clock.now() - self.powered_up <= RESET_WINDOW

    @property
    def protected(self) -> bool:
        """Whether some form of user verification is set up."""
        return self.verifies_now or self.core.pin.hash is not None

    @property
    def pin_serves(self) -> bool:
        """Whether a PIN is set that earns tokens for making credentials and for assertions."""
        return self.features.pin_verifies and self.core.pin.hash is not None

    @property
    def verifies_now(self) -> bool:
        """The `uv` option: built-in verification, with a finger enrolled where that is needed."""
        features = self.features
        return features.built_in and not (
            features.bio_enrollment and not self.core.settings.fingerprints
        )

    @property
    def always_uv(self) -> bool:
        return self.features.since_2_1 and self.core.settings.always_uv

    @property
    def uv_not_required(self) -> bool:
        """makeCredUvNotRqd, which alwaysUv rules out (section 7.2)."""
        return self.features.since_2_1 and not self.always_uv

    @property
    def u2f(self) -> bool:
        """alwaysUv switches U2F off, which cannot verify its user (section 7.2.4)."""
        return self.features.u2f and not self.always_uv

    @property
    def remaining(self) -> int | None:
        """How many more discoverable credentials fit; None when there is no limit."""
        capacity = self.core.profile.capacity
        return max(0, capacity - self.core.store.discoverable_count) if capacity else None

    @property
    def persistent_token(self) -> bytes:
        """The persistentPinUvAuthToken; whatever ends it makes way for another."""
        settings = self.core.settings
        if settings.persistent_token is None:
            settings.persistent_token = self._entropy.bytes(32)
        return settings.persistent_token

    @property
    def identifier(self) -> bytes:
        settings = self.core.settings
        if settings.identifier is None:
            settings.identifier = self._entropy.bytes(16)
        return settings.identifier

    def random(self, length: int) -> bytes:
        return self._entropy.bytes(length)

    def stop_tokens(self) -> None:
        """resetPinUvAuthToken and resetPersistentPinUvAuthToken, for all protocols."""
        self.token.stop()
        self.core.settings.persistent_token = None

    def enumerate(self, kind: str, answers: Answers) -> None:
        """Keep answers for the "next" commands of this kind."""
        self.enumeration = Enumeration(kind, answers, self.core.clock.now())

    def following(self, kind: str) -> dict[int, Any]:
        """The next answer of an enumeration that is still alive."""
        state = self.enumeration
        now = self.core.clock.now()
        answer = None
        if state is not None and state.kind == kind and 0 <= now - state.touched <= STATEFUL_LIMIT:
            state.touched = now
            with suppress(RuntimeError):  # credentials came or went: the rest is another list
                answer = next(state.answers, None)
        if answer is None:
            self.enumeration = None
            raise CtapFailure(Status.NOT_ALLOWED)
        return answer()
