"""The effects before and after something is done, even if others are active too.

A look also serves as "before" for the next act, so that an act costs one more request and not two.
But only if nothing else in this process has acted since, on this target or another: twins, replicas
and clients with their own processes may all show the same effects. Knows no family.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .effects import Effects, EffectsProbe

Given = TypeVar("Given")


class _Activity:
    """How often anybody in this process has done something that may have effects."""

    acts = 0


class EffectsWatch:
    """Looks at the effects through one probe, for all drivers of one target."""

    def __init__(self, probe: Callable[[], EffectsProbe | None]) -> None:
        self._find_probe = probe
        self._last: Effects | None = None
        self._seen_after = -1
        """The number of acts at the time of the last look."""

    @property
    def probe(self) -> EffectsProbe | None:
        return self._find_probe()

    def forget(self) -> None:
        """Something was done that nobody watched: everybody must look again."""
        _Activity.acts += 1

    def during(self, act: Callable[[], Given]) -> tuple[Given, tuple[Effects, Effects] | None]:
        """What `act` returns, and the effects before and after it, if there is a probe."""
        probe = self.probe
        if probe is None:
            return act(), None
        before = self._last if self._seen_after == _Activity.acts else None
        if before is None:
            before = probe.look()
        try:
            given = act()
        finally:
            _Activity.acts += 1
        acts = _Activity.acts
        after = probe.look()
        self._last, self._seen_after = after, acts
        return given, (before, after)
