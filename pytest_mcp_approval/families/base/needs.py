"""What a rule needs from a target beyond the wire, and how to say that it is missing.

Only needs that can be checked without doing anything are checked here. Scenarios check the others
(a tool of some class, a second instance) themselves. A family adds its own checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from ...catalogue import Requirement
from ...config.markers import MARKER
from ...target import Target

Check = Callable[[Target], str | None]
"""What is missing, in one line; None if nothing is."""


def _clock(target: Target) -> str | None:
    clock = target.clock
    return None if clock.movable else f"needs a clock that can be moved: {clock.why_not}"


def _restart(target: Target) -> str | None:
    return None if target.can_restart else "needs a target that the suite can restart"


_CHECKS: dict[str, Check] = {"clock": _clock, "restart": _restart}


def check_needs(
    item: pytest.Item,
    rules: Sequence[Requirement],
    target: Target,
    own_checks: Mapping[str, Check],
) -> str | None:
    """What is missing, in one line; a scenario may override its rule's needs."""
    needs = {need for rule in rules for need in rule.needs}
    for marker in item.iter_markers(MARKER):
        if marker.kwargs.get("needs") is not None:
            needs = set(marker.kwargs["needs"])
    checks = {**_CHECKS, **own_checks}
    for need in sorted(needs):
        check = checks.get(need)
        missing = check(target) if check else None
        if missing:
            return missing
    return None
