"""What the two-step tools remember: used tokens, attempts, and the back end's projects and users.

Two kinds of steps decide races, so each must be indivisible: `spend`, and the changes that hold
only for a version. Their answer says who won. Knows no rule.
"""

from __future__ import annotations

import datetime
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from .demonstration import PROJECTS, USERS
from .records import CLOSED, Attempt, Project, User, fresh_version

MOST_ATTEMPTS = 1000
"""That are kept; older ones are in the log alone."""


class State(Protocol):
    """Every method may be called by several threads at once."""

    def since(self) -> datetime.datetime:
        """When remembering began: what was used before that is not known here."""
        ...

    def spend(self, nonce: str, forget_at: datetime.datetime) -> bool:
        """Mark a token as used, unless it is; whether this very call did so."""
        ...

    def is_spent(self, nonce: str) -> bool: ...

    def forget_spent(self, now: datetime.datetime) -> None:
        """Drop those whose time to be forgotten has come."""
        ...

    def spent_count(self) -> int: ...

    def add_attempt(self, attempt: Attempt) -> None: ...

    def attempts(self) -> list[Attempt]:
        """The newest ones, oldest first."""
        ...

    @contextmanager
    def together(self) -> Iterator[None]:
        """Changes in here are written together, which is quicker; they hold even after an error."""
        yield

    def projects(self, ids: Iterable[str] | None = None) -> dict[str, Project]:
        """Those of the ids that there are, or all."""
        ...

    def put_projects(self, projects: Iterable[Project]) -> None:
        """Add them, or change those that are there; either way under a version of its own."""
        ...

    def close_project(self, project_id: str, version: int) -> bool: ...

    def delete_project(self, project_id: str, version: int) -> bool: ...

    def user(self, username: str) -> User | None: ...

    def put_user(self, user: User) -> None: ...

    def delete_user(self, username: str, version: int) -> bool: ...

    def reset(self, now: datetime.datetime) -> None:
        """As if newly made at that instant, with the demonstration's projects and users."""
        ...

    def close(self) -> None: ...


class MemoryState:
    """Dictionaries under one lock, gone with the process."""

    def __init__(self, now: datetime.datetime) -> None:
        self._lock = threading.RLock()
        self.reset(now)

    def reset(self, now: datetime.datetime) -> None:
        with self._lock:
            self._since = now
            self._spent: dict[str, datetime.datetime] = {}
            self._attempts: deque[Attempt] = deque(maxlen=MOST_ATTEMPTS)
            self._projects = {project.project_id: project for project in PROJECTS}
            self._users = {user.username: user for user in USERS}

    def since(self) -> datetime.datetime:
        return self._since

    def spend(self, nonce: str, forget_at: datetime.datetime) -> bool:
        with self._lock:
            if nonce in self._spent:
                return False
            self._spent[nonce] = forget_at
            return True

    def is_spent(self, nonce: str) -> bool:
        with self._lock:
            return nonce in self._spent

    def forget_spent(self, now: datetime.datetime) -> None:
        with self._lock:
            self._spent = {nonce: at for nonce, at in self._spent.items() if at > now}

    def spent_count(self) -> int:
        with self._lock:
            return len(self._spent)

    def add_attempt(self, attempt: Attempt) -> None:
        with self._lock:
            self._attempts.append(attempt)

    def attempts(self) -> list[Attempt]:
        with self._lock:
            return list(self._attempts)

    @contextmanager
    def together(self) -> Iterator[None]:
        yield

    def projects(self, ids: Iterable[str] | None = None) -> dict[str, Project]:
        with self._lock:
            wanted = list(self._projects) if ids is None else ids
            return {one: self._projects[one] for one in wanted if one in self._projects}

    def put_projects(self, projects: Iterable[Project]) -> None:
        with self._lock:
            for project in projects:
                self._projects[project.project_id] = replace(project, version=fresh_version())

    def close_project(self, project_id: str, version: int) -> bool:
        with self._lock:
            project = self._projects.get(project_id)
            if project is None or project.version != version:
                return False
            self._projects[project_id] = replace(project, status=CLOSED, version=fresh_version())
            return True

    def delete_project(self, project_id: str, version: int) -> bool:
        with self._lock:
            project = self._projects.get(project_id)
            if project is None or project.version != version:
                return False
            del self._projects[project_id]
            return True

    def user(self, username: str) -> User | None:
        with self._lock:
            return self._users.get(username)

    def put_user(self, user: User) -> None:
        with self._lock:
            self._users[user.username] = replace(user, version=fresh_version())

    def delete_user(self, username: str, version: int) -> bool:
        with self._lock:
            user = self._users.get(username)
            if user is None or user.version != version:
                return False
            del self._users[username]
            return True

    def close(self) -> None:
        """Nothing to let go of."""
