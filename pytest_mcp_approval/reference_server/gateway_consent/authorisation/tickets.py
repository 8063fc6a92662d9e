"""Open invitations: the address at which a person lets the gateway into an app for a caller.

In memory, since they end with the listener that serves them. Whoever has the address can answer: it
cannot be guessed. Knows no page and no credential but what a dialog of two steps has of its first.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...server.clock import Clock
from ..log import redactor

TICKET_SECONDS = 600
_MOST = 1000
_MOST_FORMS = 8


@dataclass(eq=False)
class Ticket:
    id: str = field(repr=False)
    app_id: str
    caller: str
    consented: Sequence[str]
    expires_at: datetime
    cookie: str = field(repr=False)
    """What the browser that was shown the page has."""
    values: dict[str, str] = field(default_factory=dict, repr=False)
    forms: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_FORMS), repr=False)
    """A secret for each form that was shown and not sent yet."""


class Tickets:
    """Any thread may use them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Ticket] = OrderedDict()
        self._of: dict[tuple[str, str], str] = {}

    def issue(self, app_id: str, caller: str, consented: Sequence[str]) -> Ticket:
        """The open one for this caller and app, else a new one: who asks often gets one page."""
        with self._lock:
            now = self._clock.now()
            ticket = self._open.get(self._of.get((caller, app_id), ""))
            if ticket is not None and now < ticket.expires_at:
                ticket.consented = tuple(consented)
                return ticket
            ticket = Ticket(
                secrets.token_urlsafe(32),
                app_id,
                caller,
                tuple(consented),
                now + timedelta(seconds=TICKET_SECONDS),
                secrets.token_urlsafe(32),
            )
            redactor.know([ticket.id, ticket.cookie])
            self._open[ticket.id] = ticket
            self._of[caller, app_id] = ticket.id
            while len(self._open) > _MOST:
                self._drop(next(iter(self._open.values())))
            return ticket

    def find(self, id: str) -> Ticket | None:
        with self._lock:
            ticket = self._open.get(id)
            if ticket is not None and self._clock.now() >= ticket.expires_at:
                self._drop(ticket)
                return None
            return ticket

    def close(self, ticket: Ticket) -> None:
        with self._lock:
            self._drop(ticket)

    def close_for(self, app_id: str, caller: str) -> None:
        with self._lock:
            ticket = self._open.get(self._of.get((caller, app_id), ""))
            if ticket is not None:
                self._drop(ticket)

    def _drop(self, ticket: Ticket) -> None:
        self._open.pop(ticket.id, None)
        if self._of.get((ticket.caller, ticket.app_id)) == ticket.id:
            del self._of[ticket.caller, ticket.app_id]

    def new_form(self, ticket: Ticket) -> str:
        with self._lock:
            ticket.forms.append(secrets.token_urlsafe(24))
            return ticket.forms[-1]

    def take_form(self, ticket: Ticket, given: str) -> bool:
        """Whether the form was shown for this ticket, and is sent for the first time."""
        with self._lock:
            if given not in ticket.forms:
                return False
            ticket.forms.remove(given)
            return True

    def clear(self) -> None:
        with self._lock:
            self._open.clear()
            self._of.clear()
