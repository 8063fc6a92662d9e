"""The system behind the tools: it closes and deletes, and records each thing that it did.

Some variants fail, halfway or late, or are slow: real back ends do, and the tools in front must
tell the truth about it. Knows no token and no preview.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..server.effects import RecordedEffects
from .refusals import BackEndError
from .store import PreparationStore

_SLOW_SECONDS = 0.4


class BackEnd:
    """A healthy one. Every change applies only to the version that the caller has seen."""

    def __init__(self, store: PreparationStore, effects: RecordedEffects) -> None:
        self.store = store
        self.effects = effects

    def change(self, name: str, subject: str, version: int, told: dict[str, Any]) -> bool:
        """Make the change of that name in the store, and record it; returns whether it was made."""
        change: Callable[[str, int], bool] = getattr(self.store, name)
        done = change(subject, version)
        if done:
            self.effects.record(name, told)
        return done

    def before(self) -> None:
        """Once for each confirmation, before its first change."""


class Fails(BackEnd):
    """Does nothing and says so."""

    def change(self, *_: Any) -> bool:
        raise BackEndError("the back end is not there")


class HalfFails(BackEnd):
    """Does the first thing of a confirmation, and no other."""

    def before(self) -> None:
        self._changes = 0

    def change(self, *asked: Any) -> bool:
        self._changes += 1
        if self._changes > 1:
            raise BackEndError("the back end went away")
        return super().change(*asked)


class FailsLate(BackEnd):
    """Does what it should, but the answer is lost."""

    def change(self, *asked: Any) -> bool:
        super().change(*asked)
        raise BackEndError("the back end did not answer")


class Slow(BackEnd):
    """Takes its time, and then does it."""

    def before(self) -> None:
        threading.Event().wait(_SLOW_SECONDS)


BACK_ENDS: dict[str, type[BackEnd]] = {
    "healthy": BackEnd,
    "fails": Fails,
    "half_fails": HalfFails,
    "fails_late": FailsLate,
    "slow": Slow,
}
