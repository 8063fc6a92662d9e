"""What the drivers of all families share: a target, and a look at what its tools have done.

Knows no specification and no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..target import Effects, EffectsProbe, Target
from ..wire import Reply, Session
from ..wire.clock import now

Given = TypeVar("Given")


class DriverError(Exception):
    """The target did not give what the next step needs; one line says what came instead."""

    def __init__(self, line: str, reply: Reply | None = None) -> None:
        super().__init__(line)
        self.reply = reply


class Driver:
    """Speaks one specification to one target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._probe: EffectsProbe | None = None
        self._probe_known = False
        self._effects: Effects | None = None
        self._interruptions = 0

    @property
    def session(self) -> Session:
        return self.target.session()

    @property
    def effects(self) -> EffectsProbe | None:
        if not self._probe_known:
            self._probe, self._probe_known = self.target.effects(), True
        return self._probe

    def forget(self) -> None:
        """After a reset or restart: what was seen before says nothing about now."""
        self._effects = None

    def served(self) -> None:
        """An honest approval was served, just now: the target is well."""
        self.target.last_served = now()

    def runs_during(self, act: Callable[[], Given]) -> tuple[Given, int | None]:
        """What `act` gives, and how often a tool ran meanwhile (None: there is no telling)."""
        if self.effects is None:
            return act(), None
        if self._interruptions != self.target.clock.interruptions:
            # Others had their turn while this test waited.
            self._interruptions = self.target.clock.interruptions
            self.forget()
        before = self._effects or self.effects.look()
        given = act()
        self._effects = self.effects.look()
        return given, self._effects.runs_since(before)
