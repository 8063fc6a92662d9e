"""Questions that wait for a person, each at an address of its own.

Whoever has the address can answer: it cannot be guessed. The same question again leads to the same
page, and their number is limited. In memory, since they end with the listener that serves them.
Knows no page and no rule about the answer.
"""

from __future__ import annotations

import datetime
import secrets
import threading
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..server.clock import Clock

LIFE = datetime.timedelta(minutes=10)
"""How long a page can be answered."""
MOST = 1000


def new_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(eq=False)
class OpenQuestion:
    caller: str
    app_id: str
    asked_at: datetime.datetime
    id: str = field(kw_only=True, repr=False, default_factory=new_secret)
    cookie: str = field(kw_only=True, repr=False, default_factory=new_secret)
    """The secret of the browser that was shown the page."""

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is about. A tuple, because joined text could be ambiguous."""
        return self.caller, self.app_id


Question = TypeVar("Question", bound=OpenQuestion)


class OpenQuestions(Generic[Question]):
    """Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._open: dict[tuple[str, ...], Question] = {}

    def ask(self, question: Question) -> Question:
        """The open question about the same subject, else this one."""
        with self._lock:
            self._tidy()
            if question.subject not in self._open and len(self._open) >= MOST:
                del self._open[next(iter(self._open))]
            return self._open.setdefault(question.subject, question)

    def find(self, id: str) -> Question | None:
        """None if there is none with that id, or no longer."""
        with self._lock:
            self._tidy()
            return next((one for one in self._open.values() if one.id == id), None)

    def take(self, id: str) -> Question | None:
        """The same, and it is answered by that: only one of several gets it."""
        with self._lock:
            question = self.find(id)
            return None if question is None else self._open.pop(question.subject)

    def drop(self, *subject: str) -> None:
        with self._lock:
            self._open.pop(subject, None)

    def _tidy(self) -> None:
        now = self._clock.now()
        for question in list(self._open.values()):
            if now >= question.asked_at + LIFE:
                del self._open[question.subject]

    def clear(self) -> None:
        with self._lock:
            self._open.clear()
