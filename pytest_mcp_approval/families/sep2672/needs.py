"""What a rule needs of a target beyond the wire, and how to say that it is not there.

Only needs that can be seen without doing anything are looked at here; a scenario finds out about
the others (a tool of some class, a second instance) by asking its ceremony.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ...catalogue import Requirement
from ...catalogue_marker import MARKER
from ...settings import PREFIX
from .ceremony import Ceremony


def _clock(ceremony: Ceremony) -> str | None:
    clock = ceremony.target.clock
    return None if clock.movable else f"needs a clock that can be moved: {clock.why_not}"


def _restart(ceremony: Ceremony) -> str | None:
    return None if ceremony.target.can_restart else "needs a target that the suite can restart"


def _server_id(ceremony: Ceremony) -> str | None:
    target = ceremony.target
    target.session()  # an embedded server's id is known once it runs
    known = target.settings.server_id or target.known_server_id
    return None if known else f"needs the target's serverId: {PREFIX}server-id ID"


_CHECKS: dict[str, Callable[[Ceremony], str | None]] = {
    "clock": _clock,
    "restart": _restart,
    "server-id": _server_id,
}


def check_needs(item: pytest.Item, rules: list[Requirement], ceremony: Ceremony) -> str | None:
    """What is missing, in one line; a scenario may say itself what it needs of its rule's needs."""
    needs = {need for rule in rules for need in rule.needs}
    for marker in item.iter_markers(MARKER):
        if marker.kwargs.get("needs") is not None:
            needs = set(marker.kwargs["needs"])
    for need in sorted(needs):
        check = _CHECKS.get(need)
        missing = check(ceremony) if check else None
        if missing:
            return missing
    return None
