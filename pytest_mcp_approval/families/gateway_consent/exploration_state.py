"""Where clients stand at a gateway, as its model sees it. Has no transitions."""

from __future__ import annotations

import contextlib
import datetime
import secrets
from dataclasses import dataclass
from typing import Any

from ...clock import ClockError
from ...target import Target
from ..base.exploration import Exercised, Model
from .driver import Client, GatewayConsent
from .outcome import GatewayOutcome
from .settings import SafeTool

CLIENTS = ("Cursor", "Windsurf", "Cursor ")
UNDECIDED, ONCE, ALWAYS, DENIED, OPEN = "undecided", "once", "always", "denied", "open"
_SURELY_REMEMBERED = datetime.timedelta(days=2)
"""Asking again after more than that is no failure (readings)."""


@dataclass
class ClientStand:
    """Where one client stands with one tool."""

    state: str = UNDECIDED
    asked: GatewayOutcome | None = None
    """The question that nobody has answered yet."""
    by_all: bool = False
    """Whether it was granted with all tools of its app."""
    needed: GatewayOutcome | None = None
    """The answer that leads to the app's own authorisation, which nobody has given yet."""

    @property
    def may_run(self) -> bool:
        return self.state not in (UNDECIDED, DENIED)


class GatewayState(Model):
    """Two or three clients, and what each was granted."""

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.driver = GatewayConsent(target)
        self.close_later(self.driver.close)
        # Names of their own: a gateway that is not reset remembers those of earlier walks.
        self.mark = secrets.token_hex(4)
        self.stands: dict[tuple[int, str], ClientStand] = {}
        self.restarted = False
        self.passed = datetime.timedelta()

    @property
    def tools(self) -> list[SafeTool]:
        found = self.driver.tools()
        alone = [one for one in found if not one.own_authorisation]
        return [*alone[:5], *(one for one in found if one.own_authorisation)][:7]

    def client(self, number: int) -> Client:
        return self.driver.client(f"{self.mark} {CLIENTS[number].strip()} {number}")

    def stand(self, client: int, tool: SafeTool) -> ClientStand:
        return self.stands.setdefault((client, tool.name), ClientStand())

    def state(self) -> tuple[Any, ...]:
        states = [one.state for one in self.stands.values()]
        kinds = (UNDECIDED, ONCE, ALWAYS, DENIED, OPEN)
        return (*(states.count(kind) for kind in kinds), self.restarted)

    def no_longer_asked(self) -> None:
        """What was asked may be over, and so may a decision for one call."""
        for stand in self.stands.values():
            stand.asked = stand.needed = None
        self.no_longer_once()

    def no_longer_once(self) -> None:
        """Decisions for one call may be used up."""
        for stand in self.stands.values():
            if stand.state == ONCE:
                stand.state = OPEN

    # ---- time, at the gateway that is explored: it need not be the target itself

    @property
    def clock_moves(self) -> bool:
        clock = self.driver.target.clock
        return clock.movable and clock.stops

    def move_clock(self, seconds: float) -> None:
        self.moved_clock = True
        self.driver.target.clock.advance(seconds)
        self.say(f"{seconds:g} seconds pass")
        self.passed += datetime.timedelta(seconds=seconds)
        self.no_longer_asked()
        if self.passed > _SURELY_REMEMBERED:
            for stand in self.stands.values():
                stand.state = OPEN if stand.state == ALWAYS else stand.state

    def settle(self) -> None:
        with contextlib.suppress(ClockError):
            self.driver.target.clock.release()
        super().settle()
