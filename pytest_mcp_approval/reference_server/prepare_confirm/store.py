"""What the two-step tools remember: used tokens, attempts, and the back end's projects and users.

Two kinds of steps decide races, so each is indivisible: `spend`, and the changes that apply only to
one version. Their result says who won. Knows no rule.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

from ..server.tables import RecordStore
from .demonstration import PROJECTS, USERS
from .records import (
    CLOSED,
    Beginning,
    ConfirmationAttempt,
    Project,
    SpentToken,
    User,
    fresh_version,
)

MOST_ATTEMPTS = 1000
"""How many are kept; older ones are only in the log."""
_SINCE = "since"


class PreparationStore(RecordStore):
    """In memory, or in the database of an SQLAlchemy URL; started at `now`, unless it exists."""

    prefix: ClassVar[str] = "prepare_confirm_"

    def __init__(self, url: str | None, now: datetime.datetime) -> None:
        super().__init__(url)
        self._now = now
        self._beginnings = self.table("settings", Beginning)
        self._spent = self.table("spent", SpentToken, indexed=("forget_at",))
        self._attempts = self.table(
            "attempts", ConfirmationAttempt, is_log=True, most=MOST_ATTEMPTS
        )
        self._projects = self.table("projects", Project)
        self._users = self.table("users", User)
        if url is None:
            self.begin()

    def begin(self) -> None:
        """Add the demonstration's projects and users; only one of several replicas does it."""
        with self.together():
            if self._beginnings.add(Beginning(_SINCE, self._now)):
                self._projects.put(PROJECTS)
                self._users.put(USERS)

    def reset_at(self, now: datetime.datetime) -> None:
        self._now = now
        self.reset()

    def since(self) -> datetime.datetime:
        """When the memory began: tokens used before that are not known here."""
        found = self._beginnings.get(_SINCE)
        assert found is not None
        return found.value

    # ---- used tokens

    def spend(self, nonce: str, forget_at: datetime.datetime) -> bool:
        """Mark a token as used, unless it already is; returns whether this very call did so."""
        return self._spent.add(SpentToken(nonce, forget_at))

    def is_spent(self, nonce: str) -> bool:
        return self._spent.get(nonce) is not None

    def forget_spent(self, now: datetime.datetime) -> None:
        """Drop those that may be forgotten by now."""
        self._spent.remove_below("forget_at", now + datetime.timedelta.resolution)

    def spent_count(self) -> int:
        return len(self._spent.find())

    # ---- attempts

    def add_attempt(self, attempt: ConfirmationAttempt) -> None:
        self._attempts.add(attempt)

    def attempts(self) -> list[ConfirmationAttempt]:
        """The newest ones, oldest first."""
        return self._attempts.find(newest=MOST_ATTEMPTS)

    def kept_records(self) -> dict[str, list[Any]]:
        """All that is kept of tokens and of what became of them."""
        return {"spent": self._spent.find(), "attempts": self._attempts.find()}

    # ---- the back end

    def projects(self, ids: Iterable[str] | None = None) -> dict[str, Project]:
        """The projects with these ids, as far as they exist, or all."""
        if ids is not None:
            return self._projects.get_all(ids)
        return {project.project_id: project for project in self._projects.find()}

    def put_projects(self, projects: Iterable[Project]) -> None:
        """Add them, or change those that are there; either way with a new version."""
        self._projects.put(replace(project, version=fresh_version()) for project in projects)

    def close_project(self, project_id: str, version: int) -> bool:
        return self._projects.change(
            project_id, {"version": version}, status=CLOSED, version=fresh_version()
        )

    def delete_project(self, project_id: str, version: int) -> bool:
        return self._projects.remove(project_id, {"version": version})

    def user(self, username: str) -> User | None:
        return self._users.get(username)

    def put_user(self, user: User) -> None:
        self._users.put([replace(user, version=fresh_version())])

    def delete_user(self, username: str, version: int) -> bool:
        return self._users.remove(username, {"version": version})
