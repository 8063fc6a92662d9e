"""What to do if a database fails: try again where nothing can have happened, else say so.

Until a commit is sent nothing has happened, whatever went wrong: a transaction may then be tried
again, if the fault is one that passes (a failover, a lost connection, a serialization failure).
Once it was sent and no answer came, nobody knows, and nobody tries again. Knows no table.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import sqlalchemy
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from .tables import StoreError

Given = TypeVar("Given")
Work = Callable[[sqlalchemy.Connection], Given]
logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds for which a fault that passes is waited out: the caller waits too."""
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_UNDONE = frozenset({"40001", "40P01"})
"""PostgreSQL: serialization failure and deadlock. Everything was undone, also by a commit."""
_PASSES = _UNDONE | {
    "25006",  # read-only: another server has become the primary one
    "57P01",  # the server is shut down
    "57P02",
    "57P03",  # it is starting
    "55000",  # a database that takes no connections for now
    "08000",
    "08003",
    "08006",
    "08001",
    "08004",
}


class NotCommittedError(Exception):
    """Nothing was committed; the cause says why."""


def _state(error: BaseException | None) -> str:
    return str(getattr(getattr(error, "orig", None), "sqlstate", None) or "")


def _is_undone(error: BaseException | None) -> bool:
    """SQLite says "locked" without waiting where a reader wants to write after somebody else did,
    or while what a dead process left is recovered; nothing is committed then either."""
    name = str(getattr(getattr(error, "orig", None), "sqlite_errorname", ""))
    return _state(error) in _UNDONE or name.startswith("SQLITE_BUSY")


def _passes(error: SQLAlchemyError) -> bool:
    if _is_undone(error):
        return True
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if _state(error) in _PASSES:
        return True
    # psycopg tells of a failed connection without a code.
    orig = getattr(error, "orig", None)
    return type(orig).__module__.startswith("psycopg") and type(orig).__name__ == "OperationalError"


def connected(
    open_engine: Callable[[], sqlalchemy.Engine], drop_connections: Callable[[], None]
) -> sqlalchemy.Connection:
    """A connection; `StoreError` if there is none in time."""

    def connect() -> sqlalchemy.Connection:
        try:
            return open_engine().connect()
        except SQLAlchemyError as error:
            raise NotCommittedError from error

    return _patiently(connect, drop_connections)


def in_transaction(
    open_engine: Callable[[], sqlalchemy.Engine],
    drop_connections: Callable[[], None],
    work: Work[Given],
) -> Given:
    """What `work` returns, committed; `StoreError` if that did not succeed."""

    def attempt() -> Given:
        try:
            connection = open_engine().connect()
        except SQLAlchemyError as error:
            raise NotCommittedError from error
        with connection:
            try:
                done = work(connection)
            except SQLAlchemyError as error:
                raise NotCommittedError from error
            try:
                connection.commit()
            except SQLAlchemyError as error:
                if _is_undone(error):
                    raise NotCommittedError from error
                raise
            return done

    return _patiently(attempt, drop_connections)


def _patiently(attempt: Callable[[], Given], drop_connections: Callable[[], None]) -> Given:
    give_up = time.monotonic() + PATIENCE
    pause = _FIRST_PAUSE
    with told():
        while True:
            try:
                return attempt()
            except NotCommittedError as failure:
                error = failure.__cause__
                assert isinstance(error, SQLAlchemyError)
                if not _passes(error) or time.monotonic() + pause > give_up:
                    raise error from None
                if not _is_undone(error):
                    drop_connections()  # others may lead to the server that is gone, too
            logger.warning("the database failed; it is tried again in %.2f s", pause)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


@contextmanager
def told() -> Iterator[None]:
    """Turns what a database says into one line without values."""
    try:
        yield
    except (DBAPIError, NoConnectionError) as error:
        said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
        raise StoreError(f"the store cannot be used: {said.splitlines()[0][:200]}") from error
