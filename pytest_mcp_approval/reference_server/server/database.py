"""Tables of records in a database: SQLite or PostgreSQL, with one SQLAlchemy code path.

Adding is one INSERT, changing one conditional UPDATE, and the number of changed rows decides: it
relies on no lock and no isolation level. Columns are made from the members of a record. Instants
are stored as whole microseconds, the same on every database. Knows no family and no rule.
"""

from __future__ import annotations

import datetime
import json
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any, TypeVar, get_args, get_type_hints

import sqlalchemy
from sqlalchemy import Column, Integer, MetaData
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import TypeDecorator

from . import database_schema
from .database_faults import connected, in_transaction, told
from .database_schema import create
from .database_url import make_private
from .tables import ANY, Record, RecordTable, Schema, Shape, StoreError, Where, worked_out

Given = TypeVar("Given")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_NUMBER = "number"
_TRIM_EVERY = 64
_SEEN = "seen_"
STATEMENT_SECONDS = 10.0
_REMOVED_AT_ONCE = 500
"""Records that one statement removes of those that are too old: it locks no more than these."""
_INSERT = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Database:
    """The tables of one store. `url` is SQLAlchemy's, as in `sqlite:///approvals.db`."""

    def __init__(
        self,
        url: str,
        opened: Callable[[], None],
        *,
        synchronous: bool = False,
        name: str = "",
        schema: Schema | None = None,
    ) -> None:
        """`name` is that of its tables in the list of versions."""
        self._url = url
        self._name = name
        self._schema = schema or Schema()
        self._opened = opened
        self._synchronous = "FULL" if synchronous else "NORMAL"
        self._metadata = MetaData()
        self._lock = threading.RLock()
        self._engine: sqlalchemy.Engine | None = None
        self._mine = threading.local()

    def table(self, shape: Shape[Record]) -> RecordTable[Record]:
        return DatabaseTable(self, shape, self._metadata)

    @property
    def is_open(self) -> bool:
        return self._engine is not None

    @property
    def engine(self) -> sqlalchemy.Engine:
        """Opened when it is first needed, so that other families cost nothing."""
        with self._lock:
            if self._engine is None:
                self._engine = self._open()
                self._opened()
            return self._engine

    def _open(self) -> sqlalchemy.Engine:
        make_private(self._url)
        engine = self._connected()
        try:
            tables = list(self._metadata.tables)
            kept = database_schema.kept_version(engine, self._name, self._schema, tables)
            for table in self._metadata.sorted_tables:
                create(engine, CreateTable(table, if_not_exists=True))
                for index in table.indexes:
                    create(engine, CreateIndex(index, if_not_exists=True))
            if kept < self._schema.version:
                database_schema.upgrade(engine, self._metadata, self._name, self._schema)
        except BaseException:
            engine.dispose()
            raise
        return engine

    def _connected(self) -> sqlalchemy.Engine:
        engine = sqlalchemy.create_engine(self._url, **_engine_options(self._url))
        if engine.dialect.name == "sqlite":
            sqlalchemy.event.listen(engine, "connect", self._write_ahead)
        elif "options" not in engine.url.query:  # else its owner has set what is to be set
            sqlalchemy.event.listen(engine, "connect", _limit_statements)
        return engine

    def check_schema(self) -> None:
        engine = self._connected()
        try:
            with told():
                database_schema.check(engine, self._name, self._schema)
        finally:
            engine.dispose()

    def _write_ahead(self, connection: Any, _: Any) -> None:
        """Readers do not wait for a writer. What was committed outlives the process, however it
        ends; only a failing machine could lose the last commits, but never parts of one (SQLite,
        "Performance Considerations" of WAL), unless every commit must be on disk (FULL)."""
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")

    def run(self, work: Callable[[sqlalchemy.Connection], Given]) -> Given:
        """In a transaction of its own, which may be tried again; or in the one that this thread is
        in (`together`). `StoreError` if the database fails."""
        joined = getattr(self._mine, "connection", None)
        if joined is None:
            return in_transaction(lambda: self.engine, self._drop_connections, work)
        with told():
            return work(joined)

    def _drop_connections(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for all that this thread does inside. It is committed even after an
        error, such as a refusal, unless it is the database that failed: then nothing is."""
        if getattr(self._mine, "connection", None) is not None:
            yield
            return
        with told(), connected(lambda: self.engine, self._drop_connections) as connection:
            self._mine.connection = connection
            failed = False
            try:
                yield
            except StoreError:
                failed = True
                raise
            finally:
                self._mine.connection = None
                if not failed:
                    connection.commit()

    def close(self) -> None:
        if self._engine is not None:
            self._engine.dispose()


def _engine_options(url: str) -> dict[str, Any]:
    if sqlalchemy.make_url(url).get_backend_name() == "sqlite":
        # A writer waits for another instead of failing.
        return {"connect_args": {"timeout": 30}, "hide_parameters": True}
    waits = {} if "connect_timeout" in sqlalchemy.make_url(url).query else {"connect_timeout": 5}
    return {
        "pool_pre_ping": True,
        "pool_timeout": STATEMENT_SECONDS,
        "connect_args": waits,
        "hide_parameters": True,  # an error that is logged shows no token
    }


def _limit_statements(connection: Any, _: Any) -> None:
    """PostgreSQL: a statement that waits for a lock, or a slow disk, ends in time."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET statement_timeout = {round(STATEMENT_SECONDS * 1000)}")
    connection.commit()


class DatabaseTable(RecordTable[Record]):
    """One table; its columns are the members of a record, and a number if order matters."""

    def __init__(self, database: Database, shape: Shape[Record], metadata: MetaData) -> None:
        super().__init__(shape)
        self._database = database
        numbered = shape.is_log or shape.is_ordered
        number = Column(_NUMBER, Integer, primary_key=True, autoincrement=True)
        self._table = sqlalchemy.Table(
            shape.name, metadata, *([number] if numbered else []), *_columns(shape, numbered)
        )
        self._members = [self._table.c[name] for name in shape.members]
        self._key = self._table.c[shape.key]
        self._written: dict[Any, Any] = {}
        self._order = self._table.c[_NUMBER] if numbered else self._key

    def _conditions(self, where: Where) -> list[Any]:
        if callable(where):
            return [where(self._table.c)]
        return [self._table.c[name] == value for name, value in where.items()]

    def _rows(self, question: Any, parameters: Mapping[str, Any] | None = None) -> list[Record]:
        return self._database.run(
            lambda connection: [
                self.shape.record(*row) for row in connection.execute(question, parameters)
            ]
        )

    def _decides(self, statement: Any, parameters: Mapping[str, Any] | None = None) -> bool:
        """Whether this statement changed something, which decides a race."""
        return self._database.run(
            lambda connection: bool(connection.execute(statement, parameters).rowcount > 0)
        )

    def _about(self, kind: str, key: Any, where: Where) -> tuple[Any, dict[str, Any]]:
        """An UPDATE or DELETE of one record."""
        about = getattr(self._table, kind)
        if callable(where):
            return about().where(self._key == key, where(self._table.c)), {}
        statement, parameters = self._with_values(
            kind,
            where,
            lambda conditions: about().where(self._key == sqlalchemy.bindparam(_SEEN), *conditions),
        )
        return statement, {_SEEN: key, **parameters}

    def _with_values(
        self, kind: str, where: Mapping[str, Any], make: Callable[[list[Any]], Any]
    ) -> tuple[Any, dict[str, Any]]:
        """A statement with these conditions, and their values. Built once if only values differ:
        building it each time would take longer than running it."""
        names = (kind, *((name, value is None) for name, value in where.items()))
        if names not in self._written:
            conditions = [
                self._table.c[name]
                == (None if value is None else sqlalchemy.bindparam(_SEEN + name))
                for name, value in where.items()
            ]
            self._written[names] = make(conditions)
        given = {_SEEN + name: value for name, value in where.items() if value is not None}
        return self._written[names], given

    def add(self, record: Record) -> bool:
        def insert(connection: sqlalchemy.Connection) -> bool:
            statement = self._insert(connection.dialect.name)
            # If another's row is being added, the database waits and then says who won.
            added = connection.execute(statement, _row(self, record)).first()
            most = self.shape.most
            if added is not None and most is not None and added[0] % _TRIM_EVERY == 0:
                old = self._order <= added[0] - most
                connection.execute(self._table.delete().where(old))
            return added is not None

        return self._database.run(insert)

    def _insert(self, dialect: str) -> Any:
        if dialect not in self._written:
            insert: Any = _INSERT[dialect]
            statement = insert(self._table).returning(self._order)
            self._written[dialect] = statement.on_conflict_do_nothing()
        return self._written[dialect]

    def put(self, records: Iterable[Record]) -> None:
        rows = {getattr(record, self.shape.key): _row(self, record) for record in records}

        def replace_all(connection: sqlalchemy.Connection) -> None:
            if rows:
                connection.execute(self._table.delete().where(self._key.in_(list(rows))))
                connection.execute(self._table.insert(), list(rows.values()))

        self._database.run(replace_all)

    def get(self, key: Any) -> Record | None:
        return next(iter(self.find({self.shape.key: key})), None)

    def get_all(self, keys: Iterable[Any]) -> dict[Any, Record]:
        wanted = list(keys)
        question = sqlalchemy.select(*self._members).where(self._key.in_(wanted))
        found = {getattr(record, self.shape.key): record for record in self._rows(question)}
        return {key: found[key] for key in wanted if key in found}

    def find(self, where: Where = ANY, newest: int | None = None) -> list[Record]:
        if newest is None and not callable(where):
            return self._rows(*self._with_values("select", where, self._question))
        question = self._question(self._conditions(where))
        if newest is None:
            return self._rows(question)
        backwards = question.order_by(None).order_by(self._order.desc())
        return self._rows(backwards.limit(newest))[::-1]

    def _question(self, conditions: Iterable[Any]) -> Any:
        return sqlalchemy.select(*self._members).where(*conditions).order_by(self._order)

    def change_all(self, where: Where, **values: Any) -> list[Record]:
        statement = self._table.update().where(*self._conditions(where))
        changed = statement.values(worked_out(values, self._table.c))
        return self._rows(changed.returning(*self._members))

    def change(self, key: Any, where: Where = ANY, **values: Any) -> bool:
        statement, parameters = self._about("update", key, where)
        worked = worked_out(values, self._table.c)
        if any(map(callable, values.values())) or callable(where):
            return self._decides(statement.values(worked), parameters)
        return self._decides(statement, {**parameters, **worked})

    def remove_all(self, where: Where = ANY) -> None:
        self._decides(self._table.delete().where(*self._conditions(where)))

    def remove_below(self, member: str, value: Any) -> None:
        """A few at a time, and on PostgreSQL none that somebody is working on: the rest goes with
        the next calls."""
        old = sqlalchemy.select(self._key).where(self._table.c[member] < value)
        few = old.limit(_REMOVED_AT_ONCE).with_for_update(skip_locked=True)
        self._decides(self._table.delete().where(self._key.in_(few)))

    def keep_most(self, where: Mapping[str, Any], most: int, by: str) -> None:
        column = self._table.c[by]
        meant = [*self._conditions(where), column.is_not(None)]
        last = sqlalchemy.select(column).where(*meant).order_by(column.desc()).offset(most - 1)
        self._decides(self._table.delete().where(*meant, column < last.limit(1).scalar_subquery()))

    def remove(self, key: Any, where: Where = ANY) -> bool:
        return self._decides(*self._about("delete", key, where))


def _row(table: RecordTable[Any], record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in table.shape.members}


# ---- columns


def _columns(shape: Shape[Any], numbered: bool) -> Iterator[Column[Any]]:
    for name, kind in get_type_hints(shape.record).items():
        is_key = name == shape.key and not shape.is_log
        yield Column(
            name,
            _type_of(kind),
            primary_key=is_key and not numbered,
            unique=True if is_key and numbered else None,
            nullable=types.NoneType in get_args(kind),
            index=name in shape.indexed,
        )


def _type_of(kind: Any) -> Any:
    for one in (kind, *get_args(kind)):  # of "datetime or None", the first
        if one in _TYPES:
            return _TYPES[one]
        if isinstance(one, type) and issubclass(one, Enum):
            # With room for values of later versions.
            return sqlalchemy.Enum(one, native_enum=False, length=100, values_callable=_values)
    raise TypeError(f"a member of a record: got {kind}, expected one that a column can hold")


def _values(words: type[Enum]) -> list[str]:
    return [str(word.value) for word in words]


class _Instant(TypeDecorator[datetime.datetime]):
    impl = sqlalchemy.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: Any) -> Any:  # noqa: ARG002
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: Any, dialect: Any) -> datetime.datetime | None:  # noqa: ARG002
        return None if value is None else _EPOCH + value * _MICROSECOND


class _Texts(TypeDecorator[tuple[str, ...]]):
    impl = sqlalchemy.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str:  # noqa: ARG002
        return json.dumps(value)

    def process_result_value(self, value: Any, dialect: Any) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(json.loads(value))


_TYPES: dict[Any, Any] = {
    str: sqlalchemy.Text,
    int: sqlalchemy.BigInteger,
    float: sqlalchemy.Float,
    bool: sqlalchemy.Boolean,
    bytes: sqlalchemy.LargeBinary,
    datetime.datetime: _Instant,
    tuple[str, ...]: _Texts,
}
