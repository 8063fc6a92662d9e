"""The state that survives a restart and that replicas can share: SQLite or PostgreSQL.

Spending is one INSERT under a primary key, a change of the back end one conditional UPDATE or
DELETE whose row count decides. Knows no rule.
"""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy
from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Table, Text

from ..server.database import Database, instant, written
from .demonstration import PROJECTS, USERS
from .records import CLOSED, Attempt, Project, User, fresh_version
from .store import MOST_ATTEMPTS

_PREFIX = "prepare_confirm_"
_METADATA = MetaData()
_SETTINGS = Table(
    f"{_PREFIX}settings",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
_SPENT = Table(
    f"{_PREFIX}spent",
    _METADATA,
    Column("nonce", Text, primary_key=True),
    Column("forget_at", BigInteger, nullable=False, index=True),
)
_ATTEMPTS = Table(
    f"{_PREFIX}attempts",
    _METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("tool", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("caller", Text, nullable=False),
)
_PROJECTS = Table(
    f"{_PREFIX}projects",
    _METADATA,
    Column("project_id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("artworks", Integer, nullable=False),
    Column("unfinished", Integer, nullable=False),
    Column("version", BigInteger, nullable=False),
)
_USERS = Table(
    f"{_PREFIX}users",
    _METADATA,
    Column("username", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("email", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("is_sso", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
)
# Written once: building them for each of ten thousand projects takes longer than running them.
_AS_SEEN = (
    _PROJECTS.c.project_id == sqlalchemy.bindparam("id"),
    _PROJECTS.c.version == sqlalchemy.bindparam("seen"),
)
_CLOSE = (
    _PROJECTS.update().where(*_AS_SEEN).values(status=CLOSED, version=sqlalchemy.bindparam("new"))
)
_DELETE = _PROJECTS.delete().where(*_AS_SEEN)
_SINCE = "since"
_CHUNK = 500
"""Values in one statement: databases have limits."""


class SqlState(Database):
    """See `state.State`. `url` is SQLAlchemy's, as in `sqlite:///approvals.db`."""

    def __init__(self, url: str, now: datetime.datetime) -> None:
        self._mine = threading.local()
        super().__init__(url, _METADATA)
        try:
            with self._transaction() as connection:
                self._begin(connection, now)
        except sqlalchemy.exc.IntegrityError:
            pass  # it was begun before, by us or by a replica

    def _begin(self, connection: sqlalchemy.Connection, now: datetime.datetime) -> None:
        connection.execute(_SETTINGS.insert().values(name=_SINCE, value=written(now)))
        connection.execute(_PROJECTS.insert(), [asdict(project) for project in PROJECTS])
        connection.execute(_USERS.insert(), [asdict(user) for user in USERS])

    @contextmanager
    def _transaction(self) -> Iterator[sqlalchemy.Connection]:
        joined = getattr(self._mine, "connection", None)
        if joined is not None:
            yield joined
            return
        with super()._transaction() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._engine.connect() as connection:
            self._mine.connection = connection
            try:
                yield
            finally:
                self._mine.connection = None
                connection.commit()

    def reset(self, now: datetime.datetime) -> None:
        with self._transaction() as connection:
            for table in (_SETTINGS, _SPENT, _ATTEMPTS, _PROJECTS, _USERS):
                connection.execute(table.delete())
            self._begin(connection, now)

    def since(self) -> datetime.datetime:
        question = sqlalchemy.select(_SETTINGS.c.value).where(_SETTINGS.c.name == _SINCE)
        return instant(self._rows(question)[0]["value"])

    # ---- used tokens

    def spend(self, nonce: str, forget_at: datetime.datetime) -> bool:
        try:
            with self._transaction() as connection:
                connection.execute(
                    _SPENT.insert().values(nonce=nonce, forget_at=written(forget_at))
                )
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def is_spent(self, nonce: str) -> bool:
        return bool(self._rows(sqlalchemy.select(_SPENT.c.nonce).where(_SPENT.c.nonce == nonce)))

    def forget_spent(self, now: datetime.datetime) -> None:
        self._decides(_SPENT.delete().where(_SPENT.c.forget_at <= written(now)))

    def spent_count(self) -> int:
        count = sqlalchemy.select(sqlalchemy.func.count().label("count")).select_from(_SPENT)
        return int(self._rows(count)[0]["count"])

    # ---- attempts

    def add_attempt(self, attempt: Attempt) -> None:
        self._insert(_ATTEMPTS, attempt)
        newest = sqlalchemy.select(sqlalchemy.func.max(_ATTEMPTS.c.number)).scalar_subquery()
        self._decides(_ATTEMPTS.delete().where(_ATTEMPTS.c.number <= newest - MOST_ATTEMPTS))

    def attempts(self) -> list[Attempt]:
        rows = self._rows(sqlalchemy.select(_ATTEMPTS).order_by(_ATTEMPTS.c.number))
        for row in rows:
            row.pop("number")
            row["at"] = instant(row["at"])
        return [Attempt(**row) for row in rows]

    # ---- the back end

    def _changed(
        self, statement: sqlalchemy.Update | sqlalchemy.Delete, values: dict[str, Any]
    ) -> bool:
        """Whether this very statement changed something."""
        with self._transaction() as connection:
            return connection.execute(statement, values).rowcount > 0

    def projects(self, ids: Iterable[str] | None = None) -> dict[str, Project]:
        table = _PROJECTS
        if ids is None:
            rows = self._rows(sqlalchemy.select(table).order_by(table.c.project_id))
            return {row["project_id"]: Project(**row) for row in rows}
        wanted, found = list(ids), dict[str, Project]()
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            for row in self._rows(sqlalchemy.select(table).where(table.c.project_id.in_(chunk))):
                found[row["project_id"]] = Project(**row)
        return {one: found[one] for one in wanted if one in found}

    def put_projects(self, projects: Iterable[Project]) -> None:
        fresh = {
            project.project_id: asdict(replace(project, version=fresh_version()))
            for project in projects
        }
        self._put(_PROJECTS, _PROJECTS.c.project_id, fresh)

    def _put(
        self, table: Table, key: sqlalchemy.Column[Any], rows: dict[str, dict[str, Any]]
    ) -> None:
        with self._transaction() as connection:
            names = list(rows)
            for start in range(0, len(names), _CHUNK):
                connection.execute(table.delete().where(key.in_(names[start : start + _CHUNK])))
            if rows:
                connection.execute(table.insert(), list(rows.values()))

    def close_project(self, project_id: str, version: int) -> bool:
        return self._changed(_CLOSE, {"id": project_id, "seen": version, "new": fresh_version()})

    def delete_project(self, project_id: str, version: int) -> bool:
        return self._changed(_DELETE, {"id": project_id, "seen": version})

    def user(self, username: str) -> User | None:
        rows = self._rows(sqlalchemy.select(_USERS).where(_USERS.c.username == username))
        return User(**rows[0]) if rows else None

    def put_user(self, user: User) -> None:
        row = asdict(replace(user, version=fresh_version()))
        self._put(_USERS, _USERS.c.username, {user.username: row})

    def delete_user(self, username: str, version: int) -> bool:
        table = _USERS
        return self._decides(
            table.delete().where(table.c.username == username, table.c.version == version)
        )
