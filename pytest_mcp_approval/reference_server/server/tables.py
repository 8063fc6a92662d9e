"""Tables of records: the parts of a family's store, in memory or in a database.

A record is a frozen dataclass, and its first member is its key. Two steps decide races, so each is
indivisible and its result says who won: `add` (of several records with one key one is kept) and
`change` (checks a condition and changes the record in one step). A condition is a set of members
with values, or a function of the record that uses only ==, <, & and |: a database reads the same
function as SQL. Knows no rule and no family.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

Record = TypeVar("Record")
Where = Mapping[str, Any] | Callable[[Any], Any]
ANY: Where = {}


class StoreError(Exception):
    """The store cannot be read or written now. Whoever needs its answer refuses: what is not known
    to be unused does not run."""


class SchemaError(StoreError):
    """The tables are those of a release that this one cannot work with; one line says which."""


@dataclass(frozen=True)
class Schema:
    """The version of a family's tables. Two releases work side by side on one database as long as
    each can work with what the other writes: a new release only adds members that may be None."""

    version: int = 1
    usable_by: int = 1
    """The oldest version whose release can still work with these tables."""
    upgrades: int = 1
    """The oldest version that this release can turn into its own."""


@dataclass(frozen=True)
class Shape(Generic[Record]):
    """What a table holds."""

    name: str
    record: type[Record]
    is_log: bool = False
    """Its records have no key: they are only added."""
    is_ordered: bool = False
    """Records are found in the order in which they were added, in a database too; as in logs."""
    indexed: tuple[str, ...] = ()
    most: int | None = None
    """How many records of a log are kept at least; older ones are removed."""
    survives_reset: bool = False

    @property
    def members(self) -> list[str]:
        return [field.name for field in fields(self.record)]  # type: ignore[arg-type]

    @property
    def key(self) -> str:
        return self.members[0]


class RecordTable(ABC, Generic[Record]):
    """Every method may be called by several threads at once."""

    def __init__(self, shape: Shape[Record]) -> None:
        self.shape = shape

    @abstractmethod
    def add(self, record: Record) -> bool:
        """Store it unless its key is taken; returns whether this very call did so."""

    @abstractmethod
    def put(self, records: Iterable[Record]) -> None:
        """Store them, replacing those with the same keys."""

    @abstractmethod
    def get_all(self, keys: Iterable[Any]) -> dict[Any, Record]:
        """The records with these keys, as far as they exist."""

    @abstractmethod
    def find(self, where: Where = ANY, newest: int | None = None) -> list[Record]:
        """All records for which it holds, or the newest of them, oldest first."""

    @abstractmethod
    def change_all(self, where: Where, **values: Any) -> list[Record]:
        """The changed records; a value may be a function of the record."""

    @abstractmethod
    def change(self, key: Any, where: Where = ANY, **values: Any) -> bool:
        """Change one record if the condition holds for it; returns whether it did so."""

    @abstractmethod
    def remove_all(self, where: Where = ANY) -> None: ...

    @abstractmethod
    def remove_below(self, member: str, value: Any) -> None:
        """Remove those whose member is less; quick for a member that is indexed."""

    @abstractmethod
    def keep_most(self, where: Mapping[str, Any], most: int, by: str) -> None:
        """Of those for which it holds, remove all but this many (one at least) with the greatest
        member `by`, and those that are equal to the last of these. None does not count."""

    @abstractmethod
    def remove(self, key: Any, where: Where = ANY) -> bool:
        """As `change`."""

    def get(self, key: Any) -> Record | None:
        return self.get_all([key]).get(key)

    def first_kept(self, record: Record) -> Record:
        """What is stored under its key: if several try to be first, one succeeds."""
        key = getattr(record, self.shape.key)
        found = self.get(key)
        if found is None:
            found = record if self.add(record) else self.get(key)
        assert found is not None
        return found


def holds(where: Where, record: Any) -> bool:
    if callable(where):
        try:
            return bool(where(record))
        except TypeError:
            return False  # None is neither less nor more, as in SQL
    return all(getattr(record, name) == value for name, value in where.items())


def worked_out(values: Mapping[str, Any], record: Any) -> dict[str, Any]:
    """The values of a change, including those computed from the record."""
    return {name: value(record) if callable(value) else value for name, value in values.items()}


class RecordStore:
    """The memory of one family: in a database if it has a URL, which is opened when it is first
    needed; else gone with the process."""

    prefix: ClassVar[str] = ""
    """A prefix for the names of its tables, since families share a database."""
    outlives_the_machine: ClassVar[bool] = False
    """Whether the last change must survive even if the machine fails."""
    schema: ClassVar[Schema] = Schema()

    def __init__(self, url: str | None = None) -> None:
        self._tables: list[RecordTable[Any]] = []
        self._to_reset = False
        self._database: Any = None
        if url is not None:
            from .database import Database  # here: memory needs no database

            self._database = Database(
                url,
                self._opened,
                synchronous=self.outlives_the_machine,
                name=self.prefix,
                schema=self.schema,
            )

    def table(self, name: str, record: type[Record], **shape: Any) -> RecordTable[Record]:
        from .memory import MemoryTable  # here: it is made from these tables

        described = Shape(self.prefix + name, record, **shape)
        table: RecordTable[Record] = (
            MemoryTable(described) if self._database is None else self._database.table(described)
        )
        self._tables.append(table)
        return table

    def check_schema(self) -> None:
        """`SchemaError` if this release cannot work with the tables; opens nothing for good."""
        if self._database is not None:
            self._database.check_schema()

    def together(self) -> AbstractContextManager[None]:
        """Changes in here are written together: all of them, also after a refusal, or none if the
        store fails."""
        found: AbstractContextManager[None] = (
            nullcontext() if self._database is None else self._database.together()
        )
        return found

    def begin(self) -> None:
        """Add what a new or emptied store begins with, unless it is there."""

    def _opened(self) -> None:
        if self._to_reset:
            self.reset()
        else:
            self.begin()

    def reset(self) -> None:
        """Forget everything except what survives a reset."""
        if self._database is not None and not self._database.is_open:
            self._to_reset = True  # done when it is first needed
            return
        with self.together():
            for table in self._tables:
                if not table.shape.survives_reset:
                    table.remove_all()
            self.begin()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
