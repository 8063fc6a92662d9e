"""The person in front of the authenticator: what they will do when they are asked next.

Without instructions they approve everything. Knows nothing of protocols: each layer turns a gesture
into its own language (a DOM exception, a CTAP status).
"""

from __future__ import annotations

from collections import deque
from enum import Enum

USUAL_PIN = "135790"
USUAL_FINGER = "right-index"
"""The finger that people use unless they say otherwise, and that a new sensor knows."""


class Gesture(Enum):
    """What a person does when the authenticator asks."""

    APPROVE = "approve"
    """Touches the key as long as it asks for, shows their finger, types the right PIN."""
    TAP = "tap"
    """As approve, but lets go at once, which is too short where a long touch is asked for."""
    DECLINE = "decline"
    """Presses cancel."""
    IGNORE = "ignore"
    """Does nothing at all until the request times out."""
    WRONG_FINGER = "wrong-finger"
    """Is present but fails verification once, and is then asked again."""
    SMUDGE = "smudge"
    """Shows their finger so badly that a sensor cannot read it."""
    REMOVE = "remove"
    """Takes the key out while it waits."""


class Person:
    """Makes the gestures queued with `will`, then approves (or does what `always` says)."""

    def __init__(self, *gestures: Gesture | str) -> None:
        self.always = Gesture.APPROVE
        self.planned: deque[Gesture] = deque(Gesture(gesture) for gesture in gestures)
        """What they will do next, in order."""
        self.pin: str | None = USUAL_PIN
        """What they set when a client asks for a PIN that the key does not have yet; None if they
        set none. They know the key's PIN, whoever set it."""
        self.finger = USUAL_FINGER
        """The one that they put on a fingerprint sensor."""

    def will(self, *gestures: Gesture | str) -> None:
        """Queue what to do at the next requests, one gesture each."""
        self.planned.extend(Gesture(gesture) for gesture in gestures)

    @property
    def has_a_mind_of_their_own(self) -> bool:
        """Whether they may do something else than approve."""
        return bool(self.planned) or self.always is not Gesture.APPROVE

    def act(self) -> Gesture:
        """The gesture made now."""
        return self.planned.popleft() if self.planned else self.always
