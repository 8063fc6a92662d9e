"""One honest approval, cut into steps that may each go to another server over the same state.

For checks that are the same in every family: something happens between two steps (the server is
killed, another replica takes over, the clock of one is wrong, the network loses an answer), and the
approval must still serve once at most. A family says what its steps are (`families/<family>/
staged.py`). Knows no specification and no verdicts.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from .driver import Driver
from .outcome import ObservedOutcome


@dataclass(frozen=True)
class UseOutcome(ObservedOutcome):
    """What came of using an approval."""

    reply: Reply = field(repr=False)
    claims: bool
    """Whether the answer claims success, as its family reads it."""

    @property
    def succeeded(self) -> bool:
        return self.claims

    @property
    def said(self) -> str:
        return "claims success" if self.claims else self.reply.describe()


class StagedApproval(ABC):
    """One approval of one call; a new one for each ceremony."""

    steps: ClassVar[tuple[str, ...]]
    """What comes before the use, in order; each in words that follow "after"."""

    def __init__(self) -> None:
        self._drivers: dict[Target, Any] = {}

    @abstractmethod
    def open(self, target: Target) -> Any:
        """The family's driver for a server."""

    def at(self, target: Target) -> Any:
        """The same, opened once for each server."""
        if target not in self._drivers:
            self._drivers[target] = self.open(target)
        return self._drivers[target]

    @abstractmethod
    def take(self, step: int, target: Target) -> None:
        """Take this step, honestly; `DriverError` if the server does not go along."""

    def take_all(self, target: Target) -> None:
        for step in range(len(self.steps)):
            self.take(step, target)

    @abstractmethod
    def params(self, target: Target) -> Mapping[str, Any]:
        """The params of the tools/call that uses the approval."""

    @abstractmethod
    def claims(self, reply: Reply, target: Target) -> bool:
        """Whether this answer to it claims success."""

    def session(self, target: Target) -> Session:
        return target.session()

    def watching(self, target: Target) -> Driver:
        """Who sees what runs at this server."""
        found: Driver = self.at(target)
        return found

    def servers(self, target: Target) -> list[Target]:
        """The processes that serve it there: the target, and what was started beside it."""
        return [target]

    def most_runs(self) -> int:
        """How many runs an effects probe shows for one use."""
        return 1

    def expires_at(self) -> datetime.datetime | None:
        """When the server says that the approval ends; None if it does not say."""
        return None

    def use(self, target: Target, before: Callable[[], object] = lambda: None) -> UseOutcome:
        """Use the approval, or try to once more: always the very same call. `before` is called
        right before it is sent."""
        session, params, watch = self.session(target), self.params(target), self.watching(target)

        def send() -> Reply:
            before()
            return session.call("tools/call", params)

        reply, runs = watch.runs_during(send)
        probed = watch.effects is not None
        return UseOutcome(reply, self.claims(reply, target), runs=runs, probed=probed)

    def forget(self) -> None:
        """Something was done that nobody watched."""
        for target in self._drivers:
            self.watching(target).forget()

    def close(self) -> None:
        """End what was opened; the servers stay open."""
        for driver in self._drivers.values():
            end = getattr(driver, "close", None)
            if end is not None:
                end()
        self._drivers.clear()
