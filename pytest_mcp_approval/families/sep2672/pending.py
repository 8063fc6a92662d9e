"""One pending challenge that serves many calls which must be refused. Knows no rule."""

from __future__ import annotations

import time

from .driver import Challenge, Passkey
from .outcome import ApprovalOutcome
from .scenario import Ceremony

_USUAL_LIFE = 60


class PendingCall:
    """A challenge with its genuine evidence; a new one if it was used up, or is no longer young."""

    challenge: Challenge

    def __init__(self, ceremony: Ceremony, passkey: Passkey | None = None) -> None:
        self.ceremony, self.passkey = ceremony, passkey or ceremony.passkey
        ceremony.honest(passkey=passkey)
        if passkey is None:
            self.passkey = ceremony.passkey  # a spoilt one may have been replaced
        self.renew()

    def renew(self) -> None:
        self.challenge = self.ceremony.challenge()
        self._old_at = time.monotonic() + self._life() / 3
        self.genuine = self.ceremony.evidence(self.challenge, self.passkey)

    def _life(self) -> float:
        """Seconds that the challenge is good for, as far as is known."""
        try:
            left = self.challenge.expires_at - self.ceremony.target.clock.now()
        except ValueError:
            return _USUAL_LIFE
        return left.total_seconds() if left.total_seconds() > 0 else _USUAL_LIFE

    def keep_fresh(self, outcome: ApprovalOutcome | None = None) -> None:
        """Call after each attempt: a wrong server may have run it, a slow one taken its time."""
        used = outcome is not None and outcome.executed
        if used or time.monotonic() > self._old_at:
            self.renew()

    def close(self) -> None:
        """The honest twin: the same challenge serves the genuine evidence."""
        self.ceremony.expect_run(
            self.ceremony.call(self.challenge, self.genuine),
            sent="the genuine call, after all the others on its challenge were refused",
        )
