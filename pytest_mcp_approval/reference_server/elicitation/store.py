"""What the gate remembers: its key, which questions are over, and those on pages.

`spend` and `decide` settle races, so each is one indivisible step, and its result says who won.
Servers over one database share all of it. Knows no rule.
"""

from __future__ import annotations

import datetime
import itertools
import secrets
from typing import ClassVar

from ..server.tables import RecordStore
from .records import PageDecision, PageQuestion, SealingKey, SpentQuestion

_KEY = "sealing"
MOST_PAGES = 100
"""Of one user that can be answered."""
_LOOK_EVERY = 16
"""Pages between two looks at how many a user has: so many more there may be."""


class ElicitationStore(RecordStore):
    """In memory, or in the database of an SQLAlchemy URL."""

    prefix: ClassVar[str] = "elicitation_"

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        # It does not survive a reset: what was sealed before must not count afterwards, since what
        # was used up is forgotten.
        self._keys = self.table("keys", SealingKey)
        self._spent = self.table("spent", SpentQuestion, indexed=("expires_at",))
        self._pages = self.table("pages", PageQuestion, indexed=("user", "expires_at"))
        self._asked = itertools.count(1)

    def sealing_key(self) -> bytes:
        """Random, made when it is first needed; the first of several replicas makes it."""
        return self._keys.first_kept(SealingKey(_KEY, secrets.token_bytes(32))).value

    def spend(self, id: str, expires_at: datetime.datetime) -> bool:
        """Mark a question as over, unless it already is; whether this very call did so."""
        return self._spent.add(SpentQuestion(id, expires_at))

    def is_spent(self, id: str) -> bool:
        return self._spent.get(id) is not None

    def add_page(self, question: PageQuestion) -> None:
        """Of one user's pages the oldest are dropped beyond a limit, since callers make them. One
        that is gone is refused like one that is over."""
        self._pages.add(question)
        if next(self._asked) % _LOOK_EVERY == 0:
            self._pages.keep_most({"user": question.user}, MOST_PAGES, "expires_at")

    def page(self, id: str) -> PageQuestion | None:
        return self._pages.get(id)

    def decide(self, id: str, decision: PageDecision) -> bool:
        """Keep the decision, unless there is one; whether this very call did so."""
        return self._pages.change(id, {"decision": PageDecision.NONE}, decision=decision)

    def forget(self, before: datetime.datetime) -> None:
        """Drop what ended before this instant."""
        self._spent.remove_below("expires_at", before)
        self._pages.remove_below("expires_at", before)
