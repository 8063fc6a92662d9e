"""What stores in a database share: an engine, their tables, and updates whose row count decides.

SQLAlchemy, SQLite or PostgreSQL. No lock and no isolation level is relied upon. Instants are kept
as whole microseconds, the same on every database. Knows no table and no rule.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy
from sqlalchemy import MetaData, Table
from sqlalchemy.schema import CreateIndex, CreateTable

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class Database:
    """The tables of one store. `url` is SQLAlchemy's, as in `sqlite:///approvals.db`."""

    def __init__(self, url: str, metadata: MetaData) -> None:
        self._metadata = metadata
        self._engine = sqlalchemy.create_engine(url, **_engine_options(url))
        if self._engine.dialect.name == "sqlite":
            sqlalchemy.event.listen(self._engine, "connect", _write_ahead)
        try:
            self._create_tables()
        except BaseException:
            self._engine.dispose()
            raise

    def _create_tables(self) -> None:
        for table in self._metadata.sorted_tables:
            self._create(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                self._create(CreateIndex(index, if_not_exists=True))

    def _create(self, statement: CreateTable | CreateIndex) -> None:
        try:
            with self._transaction() as connection:
                connection.execute(statement)
        except (sqlalchemy.exc.IntegrityError, sqlalchemy.exc.ProgrammingError):
            # PostgreSQL, where another replica does the same at this moment: "if not exists" looks
            # before the other has committed. Now it is there; any other error comes again.
            with self._transaction() as connection:
                connection.execute(statement)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _transaction(self) -> Iterator[sqlalchemy.Connection]:
        with self._engine.begin() as connection:
            yield connection

    def _first_kept(self, table: Table, name: str, column: str, fresh: Any) -> Any:
        """What stands under the name; of several who come first together, one writes it."""
        question = sqlalchemy.select(table.c[column]).where(table.c.name == name)
        with self._transaction() as connection:
            kept = connection.scalar(question)
        if kept is not None:
            return kept
        try:
            with self._transaction() as connection:
                connection.execute(table.insert().values(name=name, **{column: fresh}))
        except sqlalchemy.exc.IntegrityError:
            with self._transaction() as connection:
                return connection.scalar(question)
        return fresh

    def _decides(self, statement: sqlalchemy.Update | sqlalchemy.Delete) -> bool:
        """Whether this very statement changed something: who won a race."""
        with self._transaction() as connection:
            return connection.execute(statement).rowcount > 0

    def _rows(self, question: sqlalchemy.Select[Any]) -> list[dict[str, Any]]:
        with self._transaction() as connection:
            return [dict(row) for row in connection.execute(question).mappings()]

    def _insert(self, table: Table, record: Any) -> None:
        members = {
            column.name: written(getattr(record, column.name))
            for column in table.columns
            if column.name != "number"
        }
        with self._transaction() as connection:
            connection.execute(table.insert().values(**members))


def _engine_options(url: str) -> dict[str, Any]:
    if sqlalchemy.make_url(url).get_backend_name() == "sqlite":
        # A writer waits for another one instead of failing.
        return {"connect_args": {"timeout": 30}}
    return {"pool_pre_ping": True}


def _write_ahead(connection: Any, _: Any) -> None:
    """Readers do not wait for a writer. What was committed outlives the process, however it ends;
    only a failing machine could lose the last of it, and then whole (SQLite, "Performance
    Considerations" of WAL)."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def written(value: Any) -> Any:
    """A member of a record as a column holds it."""
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // _MICROSECOND
    return json.dumps(value) if isinstance(value, tuple) else value


def instant(microseconds: int) -> datetime.datetime:
    """The instant that a column holds."""
    return _EPOCH + microseconds * _MICROSECOND
