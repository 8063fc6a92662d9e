"""The person in front of the browser: what they do when a prompt appears, and when one stays open.

    key.person.will("decline", "wait")     one for each request, then they approve
    prompt = key.asked()                   the second one is open now
    key.person.approves()                  and ends

Knows nothing of browsers: a key acts the gestures out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .errors import BrowserError

APPROVE, DECLINE, WAIT = "approve", "decline", "wait"
TIME_OUT, REMOVE, WRONG_FINGER = "time-out", "remove", "wrong-finger"
GESTURES = (APPROVE, DECLINE, WAIT, TIME_OUT, REMOVE, WRONG_FINGER)
_MOST_FINGERS = 16


class BrowserPerson:
    """Acts out the gestures lined up with `will`, then does what `always` says."""

    def __init__(self, act: Callable[[str], None]) -> None:
        """`act` does a gesture on the prompt that is open."""
        self._act = act
        self._always = APPROVE
        self._planned: deque[str] = deque()

    def will(self, *gestures: str) -> None:
        """Line up what to do at the next requests, one gesture each. After a wrong finger the same
        request goes on with the next one."""
        self._planned.extend(_gesture(one) for one in gestures)

    @property
    def always(self) -> str:
        """What they do when nothing is lined up."""
        return self._always

    @always.setter
    def always(self, gesture: str) -> None:
        if gesture == WRONG_FINGER:
            raise BrowserError(
                f"always: got {gesture!r}, which would never end, expected approve, decline, ..."
            )
        self._always = _gesture(gesture)

    @property
    def planned(self) -> list[str]:
        """What they will do next, in order."""
        return list(self._planned)

    def take(self) -> list[str]:
        """What they do at one request: wrong fingers, if any, and what follows."""
        taken: list[str] = []
        while len(taken) < _MOST_FINGERS:
            taken.append(self._planned.popleft() if self._planned else self._always)
            if taken[-1] != WRONG_FINGER:
                return taken
        return [*taken, DECLINE]

    # ---- what ends a prompt that is open

    def approves(self) -> None:
        """Touch the key, show the right finger."""
        self._act(APPROVE)

    def declines(self) -> None:
        """Press cancel."""
        self._act(DECLINE)

    def times_out(self) -> None:
        """Do nothing until the request's time is over. No time passes here."""
        self._act(TIME_OUT)

    def removes(self) -> None:
        """Take the key out."""
        self._act(REMOVE)

    def shows_wrong_finger(self) -> None:
        """Fail to be verified; the prompt stays open for another try, up to the third failure."""
        self._act(WRONG_FINGER)


def _gesture(name: str) -> str:
    if name not in GESTURES:
        raise BrowserError(f"gesture: got {name!r}, expected one of {', '.join(GESTURES)}")
    return name
