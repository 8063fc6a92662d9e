"""The versions of the tables in a database: which release can work with them.

One table lists them, a row for each family. During an upgrade the old and the new release run side
by side: the new one only adds columns that may be empty, and says which older release can still
work with them. Knows no family.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy
from sqlalchemy import Column, Integer, MetaData, Table, Text
from sqlalchemy.schema import CreateIndex, CreateTable

from .tables import Schema, SchemaError

TABLE = "mcp_approval_schemas"
_metadata = MetaData()
_versions = Table(
    TABLE,
    _metadata,
    Column("name", Text, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("usable_by", Integer, nullable=False),
)


def create(engine: sqlalchemy.Engine, statement: CreateTable | CreateIndex) -> None:
    try:
        with engine.begin() as connection:
            connection.execute(statement)
    except (sqlalchemy.exc.IntegrityError, sqlalchemy.exc.ProgrammingError):
        # PostgreSQL, if another replica does the same at this moment: "if not exists" looks before
        # the other has committed. Now it exists; any other error will come again.
        with engine.begin() as connection:
            connection.execute(statement)


def check(engine: sqlalchemy.Engine, name: str, own: Schema) -> None:
    """`SchemaError` if these tables are not for this release. Writes nothing."""
    if sqlalchemy.inspect(engine).has_table(TABLE):
        with engine.connect() as connection:
            row = connection.execute(_row(name)).first()
        if row is not None:
            _compare(name, row.version, row.usable_by, own)


def kept_version(engine: sqlalchemy.Engine, name: str, own: Schema, tables: Iterable[str]) -> int:
    """The version of the tables that are there. Those that are older than this list have version
    1; where there are none, they are about to be made."""
    create(engine, CreateTable(_versions, if_not_exists=True))
    check(engine, name, own)
    with engine.begin() as connection:
        row = connection.execute(_row(name)).first()
        if row is not None:
            return int(row.version)
        older = any(sqlalchemy.inspect(connection).has_table(one) for one in tables)
    kept = Schema() if older else own
    _note(engine, name, kept)
    return kept.version


def _row(name: str) -> sqlalchemy.Select[tuple[int, int]]:
    return sqlalchemy.select(_versions.c.version, _versions.c.usable_by).where(
        _versions.c.name == name
    )


def _note(engine: sqlalchemy.Engine, name: str, own: Schema) -> None:
    values = {"name": name, "version": own.version, "usable_by": own.usable_by}
    try:
        with engine.begin() as connection:
            connection.execute(_versions.insert(), values)
    except sqlalchemy.exc.IntegrityError:
        pass  # another replica was first, with the same version or one that was just checked


def _compare(name: str, version: int, usable_by: int, own: Schema) -> None:
    tables = name.rstrip("_") or "approvals"
    if own.version < usable_by:
        raise SchemaError(
            f"the tables of {tables} are of a newer release: got schema {version}, usable from "
            f"schema {usable_by} on, and this release has {own.version}: upgrade this server"
        )
    if version < own.upgrades:
        raise SchemaError(
            f"the tables of {tables} are too old: got schema {version}, expected {own.upgrades} to "
            f"{own.version}: run the release in between first"
        )


def upgrade(engine: sqlalchemy.Engine, metadata: MetaData, name: str, own: Schema) -> None:
    """Add the columns that are missing, and note the version; several replicas may at once."""
    for table in metadata.sorted_tables:
        present = {one["name"] for one in sqlalchemy.inspect(engine).get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                _add(engine, table, column)
    newer = _versions.c.version < own.version
    change = _versions.update().where(_versions.c.name == name, newer)
    with engine.begin() as connection:
        connection.execute(change, {"version": own.version, "usable_by": own.usable_by})


def _add(engine: sqlalchemy.Engine, table: Table, column: Column[object]) -> None:
    if not column.nullable:
        raise SchemaError(
            f"{table.name}.{column.name} is missing, and is one that may not be empty: no release "
            "adds such a column to tables that are in use"
        )
    kind = column.type.compile(engine.dialect)
    quoted = engine.dialect.identifier_preparer
    statement = f"ALTER TABLE {quoted.format_table(table)} ADD COLUMN {quoted.quote(column.name)} "
    try:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement + kind))
    except (sqlalchemy.exc.OperationalError, sqlalchemy.exc.ProgrammingError):
        # Another replica was quicker; any other error comes again when the column is used.
        if column.name not in {
            one["name"] for one in sqlalchemy.inspect(engine).get_columns(table.name)
        }:
            raise
