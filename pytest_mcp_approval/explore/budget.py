"""How long an exploration may take, kept even if the server hangs. Knows no model."""

from __future__ import annotations

import time

from ..support.deadline import Deadline, now
from ..wire import Patience, Reply
from ..wire.messages import Outgoing

_LEAST = 0.05


class OutOfTime(BaseException):
    """The budget is used up. Not an `Exception`, because Hypothesis would take that for a find."""


class Budget:
    """Seconds from now on, and how many requests a second at most."""

    def __init__(self, seconds: float, rate: float | None = None) -> None:
        self.seconds = seconds
        self._began = now()
        self._between = 1.0 / rate if rate else 0.0
        self._next = 0.0

    @property
    def used(self) -> float:
        return now() - self._began

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.used)

    def check(self) -> None:
        if self.left <= 0:
            raise OutOfTime

    def pace(self) -> None:
        """Wait until the next request may be sent, where the rate is limited."""
        if not self._between:
            return
        wait = min(self._next - now(), self.left)
        if wait > 0:
            time.sleep(wait)
        self._next = max(now(), self._next) + self._between


class BudgetPatience(Patience):
    """Waits no longer for an answer than the budget lasts, and sends no more often than it says."""

    def __init__(self, timeout: float, budget: Budget) -> None:
        super().__init__(timeout)
        self._budget = budget
        self.requests = 0

    def allow(
        self, outgoing: Outgoing, deadline: Deadline, *, waited: float = 0.0
    ) -> Deadline | None:
        self._budget.pace()
        left = self._budget.left
        if left < _LEAST:
            return None
        allowed = super().allow(outgoing, deadline, waited=waited)
        if allowed is None or allowed.left() <= left:
            return allowed
        return Deadline(left)

    def heard(self, outgoing: Outgoing, reply: Reply) -> None:
        super().heard(outgoing, reply)
        self.requests += 1
