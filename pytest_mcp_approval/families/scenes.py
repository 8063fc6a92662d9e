"""What the scenarios of all families share: one scenario's view of the target.

An expectation that is not met raises a `Finding`: what was sent, what was expected, what came. What
cannot be judged, because an honest step fails or the target lacks something, is `NotVerified`: a
refusal proves nothing where the honest call is refused too. Knows no specification.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ..catalogue import Finding, NotVerified
from ..clock import ClockControl
from ..run import WARNINGS, rules_of
from ..settings import PREFIX
from ..target import Target
from .needs import Check, check_needs

Warn = Callable[[str], None]
"""Notes a warning: something that a reading allows, but that the document would rather not have.
The verdict of the rule becomes "warning"."""


class Scene:
    """One scenario's view of the target; a family adds its honest steps and its expectations."""

    def __init__(self, target: Target, warn: Warn) -> None:
        self.target = target
        self.warn = warn

    @property
    def clock(self) -> ClockControl:
        if not self.target.clock.movable:
            raise NotVerified(f"needs a clock that can be moved: {self.target.clock.why_not}")
        return self.target.clock

    def need_effects(self) -> None:
        if self.target.effects() is None:
            raise NotVerified(f"needs to see what ran: {PREFIX}effects URL|tool:NAME")

    def expect(self, holds: bool, *, sent: str, expected: str, got: str) -> None:
        """Any expectation, in four lines (the rule is the fourth)."""
        if not holds:
            raise Finding(sent=sent, expected=expected, got=got)


def opened(item: pytest.Item, target: Target, own_checks: Mapping[str, Check]) -> Warn:
    """The beginning of a scene: what its rules need and the target lacks is "not verified"."""
    missing = check_needs(item, rules_of(item), target, own_checks)
    if missing:
        raise NotVerified(missing)
    return item.stash.setdefault(WARNINGS, []).append
