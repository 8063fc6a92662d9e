"""What lasts from one power-up to the next; the core outlives both.

Key agreement keys, the token, the count of wrong PINs in a row, half-done enumerations, the time of
power-up. Knows nothing of messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core import Core
from .features import Features
from .pin_protocols import PROTOCOLS, PinProtocol
from .status import CtapFailure, Status
from .token import PinUvAuthToken

STATEFUL_LIMIT = 30.0
"""Seconds that a half-done enumeration is kept (CTAP 2.1, sections 6 and 6.3)."""
RESET_WINDOW = 10.0
"""Seconds after power-up in which a reset is accepted (section 6.6)."""


@dataclass
class Enumeration:
    """Answers still to be fetched by "next" commands, each made when it is needed."""

    kind: str
    answers: list[Callable[[], dict[int, Any]]]
    touched: float
    position: int = field(default=0)


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
        return self.features.built_in or self.core.pin.hash is not None

    @property
    def remaining(self) -> int | None:
        """How many more discoverable credentials fit; None when there is no limit."""
        capacity = self.core.profile.capacity
        return max(0, capacity - self.core.store.discoverable_count) if capacity else None

    def enumerate(self, kind: str, answers: list[Callable[[], dict[int, Any]]]) -> None:
        """Keep answers for the "next" commands of this kind."""
        self.enumeration = Enumeration(kind, answers, self.core.clock.now())

    def following(self, kind: str) -> dict[int, Any]:
        """The next answer of an enumeration that is still alive."""
        state = self.enumeration
        now = self.core.clock.now()
        if (
            state is None
            or state.kind != kind
            or state.position >= len(state.answers)
            or not 0 <= now - state.touched <= STATEFUL_LIMIT
        ):
            self.enumeration = None
            raise CtapFailure(Status.NOT_ALLOWED)
        state.touched = now
        state.position += 1
        return state.answers[state.position - 1]()
