"""The log of spent nonces in a database: one INSERT decides, and is on disk before it returns."""

from __future__ import annotations

import datetime

import sqlalchemy
from sqlalchemy import BigInteger, Column, MetaData, Table, Text

from ..server.database import Database, written

_METADATA = MetaData()
_NONCES = Table(
    "execution_tokens_nonces",
    _METADATA,
    Column("nonce", Text, primary_key=True),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("spent_at", BigInteger, nullable=False),
)


class SqlNonceLog(Database):
    """See `nonces.NonceLog`. A nonce is kept for its token's whole life, and forgotten after it.

    An expired token is refused for its expiry, so its nonce need not be known any more; an hour is
    added for a clock that is set back.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url, _METADATA)
        if self._engine.dialect.name == "sqlite":
            # Not even a failing machine may lose it: the content runs right after.
            sqlalchemy.event.listen(self._engine, "connect", _full_sync)
            self._engine.dispose()

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = written(now - datetime.timedelta(hours=1))
        try:
            with self._transaction() as connection:
                connection.execute(_NONCES.delete().where(_NONCES.c.expires_at < forgotten))
                connection.execute(
                    _NONCES.insert().values(
                        nonce=nonce.lower(), expires_at=written(expires_at), spent_at=written(now)
                    )
                )
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def reset(self) -> None:
        self._decides(_NONCES.delete())


def _full_sync(connection: object, _: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")  # type: ignore[attr-defined]
