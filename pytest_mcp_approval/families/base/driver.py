"""What the drivers of all families share: a target, and what its tools have done.

Knows no specification and no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...support.deadline import now
from ...target import Effects, EffectsProbe, Target
from ...wire import Reply, Session

Given = TypeVar("Given")
_LISTING = "listing"


def table_of(target: Target, family: str) -> dict[str, Any]:
    """The user's settings for a target in a family's table, over what the suite knows itself."""
    own = target.settings.family_settings.get(family, {})
    said = {key.replace("_", "-") for key in own}  # an old spelling is the same key
    known = target.known_settings.get(family, {})
    return {key: value for key, value in known.items() if key not in said} | dict(own)


class DriverError(Exception):
    """The target did not return what the next step needs; one line says what came instead."""

    def __init__(self, line: str, reply: Reply | None = None) -> None:
        super().__init__(line)
        self.reply = reply


class Driver:
    """Speaks one specification to one target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.effects_watch = target.effects_watch
        self.forget()  # earlier users of the target may have done anything

    @property
    def session(self) -> Session:
        return self.target.session()

    def listing(self) -> dict[str, dict[str, Any]]:
        """The entries of tools/list by name, requested once."""
        found: dict[str, dict[str, Any]] | None = self.target.remembered.get(_LISTING)
        if found is None:
            found = {str(entry.get("name")): entry for entry in self.session.list_tools()}
            self.target.remembered[_LISTING] = found
        return found

    @property
    def effects(self) -> EffectsProbe | None:
        return self.effects_watch.probe

    def forget(self) -> None:
        """Call after something that was not watched: the last look at the effects is out of
        date."""
        self.effects_watch.forget()

    def served(self) -> None:
        """Note that an honest approval just succeeded: the target is healthy."""
        self.target.last_served = now()

    def seen_during(self, act: Callable[[], Given]) -> tuple[Given, tuple[Effects, Effects] | None]:
        """What `act` returns, and the effects before and after it, if there is a probe."""
        return self.effects_watch.during(act)

    def runs_during(self, act: Callable[[], Given]) -> tuple[Given, int | None]:
        """What `act` returns, and how often a tool ran meanwhile (None: cannot be told)."""
        given, seen = self.seen_during(act)
        return given, seen[1].runs_since(seen[0]) if seen is not None else None
