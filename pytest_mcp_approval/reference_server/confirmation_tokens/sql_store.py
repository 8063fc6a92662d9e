"""The store that survives a restart and that replicas can share: SQLite or PostgreSQL.

A use is one conditional UPDATE whose row count decides. Knows no rule.
"""

from __future__ import annotations

import datetime
import secrets
from typing import Any

import sqlalchemy
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

from ...families.confirmation_tokens.vocabulary import Event, TokenType
from ..server.database import Database, instant, written
from .limits import take
from .records import AuditEntry, Bucket, TokenRecord
from .settings import Limit

_PREFIX = "confirmation_"
_METADATA = MetaData()
_TOKENS = Table(
    f"{_PREFIX}tokens",
    _METADATA,
    Column("id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("params_hash", Text, nullable=False),
    Column("adapter_name", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("issued_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, index=True),
    Column("session_id", Text, nullable=False, index=True),
    Column("session_scoped", Boolean, nullable=False),
    Column("max_uses", Integer, nullable=False),
    Column("use_count", Integer, nullable=False),
    Column("danger_level", Text, nullable=False),
    Column("revoked_because", Text, nullable=False),
)
_ENTRIES = Table(
    f"{_PREFIX}audit",
    _METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("timestamp", BigInteger, nullable=False),
    Column("event", Text, nullable=False),
    Column("token_id", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("adapter_name", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("failure_reason", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Index(f"{_PREFIX}audit_by_user", "user_id", "number"),
)
_BUCKETS = Table(
    f"{_PREFIX}buckets",
    _METADATA,
    Column("key", Text, primary_key=True),
    Column("left", Float, nullable=False),
    Column("at", BigInteger, nullable=False),
)
_RUNS = Table(
    f"{_PREFIX}runs",
    _METADATA,
    Column("key", Text, primary_key=True),
    Column("used", Integer, nullable=False),
)
_CONFIGURATIONS = Table(
    f"{_PREFIX}configurations",
    _METADATA,
    Column("adapter_name", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
)
_KEYS = Table(
    f"{_PREFIX}keys",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
_ACTIVE = sqlalchemy.and_(_TOKENS.c.revoked_because == "", _TOKENS.c.use_count < _TOKENS.c.max_uses)
_TRIES = 20


class SqlTokenStore(Database):
    """See `store.TokenStore`. `url` is SQLAlchemy's, as in `sqlite:///approvals.db`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, _METADATA)

    def add(self, record: TokenRecord) -> None:
        self._insert(_TOKENS, record)

    def get(self, token_id: str) -> TokenRecord | None:
        found = self._rows(sqlalchemy.select(_TOKENS).where(_TOKENS.c.id == token_id))
        return _record(found[0]) if found else None

    def use(self, token_id: str) -> bool:
        return self._decides(
            _TOKENS.update()
            .where(_TOKENS.c.id == token_id, _ACTIVE)
            .values(use_count=_TOKENS.c.use_count + 1)
        )

    def spend(self, record: TokenRecord) -> bool:
        return self._keep_first(record) and self.use(record.id)

    def revoke(self, record: TokenRecord, because: str) -> bool:
        self._keep_first(record)
        return self._decides(
            _TOKENS.update()
            .where(_TOKENS.c.id == record.id, _ACTIVE)
            .values(revoked_because=because)
        )

    def _keep_first(self, record: TokenRecord) -> bool:
        try:
            self._insert(_TOKENS, record)
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def revoke_all(
        self, because: str, *, session_id: str = "", user: str = "", adapter_name: str = ""
    ) -> list[TokenRecord]:
        wanted = {"session_id": session_id, "user": user, "adapter_name": adapter_name}
        statement = (
            _TOKENS.update()
            .where(_ACTIVE, *(_TOKENS.c[name] == value for name, value in wanted.items() if value))
            .values(revoked_because=because)
            .returning(*_TOKENS.columns)
        )
        with self._transaction() as connection:
            return [_record(dict(row)) for row in connection.execute(statement).mappings()]

    def records(self) -> list[TokenRecord]:
        return [_record(row) for row in self._rows(sqlalchemy.select(_TOKENS))]

    def forget_expired(self, before: datetime.datetime) -> None:
        self._decides(_TOKENS.delete().where(_TOKENS.c.expires_at < written(before)))

    def write(self, entry: AuditEntry) -> None:
        self._insert(_ENTRIES, entry)

    def entries(self, user_id: str, limit: int) -> list[AuditEntry]:
        question = (
            sqlalchemy.select(_ENTRIES)
            .where(_ENTRIES.c.user_id == user_id)
            .order_by(_ENTRIES.c.number.desc())
            .limit(limit)
        )
        return [_entry(row) for row in reversed(self._rows(question))]

    def take(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        """Read, and write only over what was read; whoever came between makes it begin anew."""
        for _ in range(_TRIES):
            before = self._bucket(key)
            after, wait = take(before, limit, now)
            if wait or self._replace_bucket(key, before, after):
                return wait
        return 0.0  # so many at once that counting fails: a limit may be late, never in the way

    def left(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        return take(self._bucket(key), limit, now)[1]

    def _bucket(self, key: str) -> Bucket | None:
        found = self._rows(sqlalchemy.select(_BUCKETS).where(_BUCKETS.c.key == key))
        return Bucket(found[0]["left"], instant(found[0]["at"])) if found else None

    def _replace_bucket(self, key: str, before: Bucket | None, after: Bucket) -> bool:
        values = {"left": after.left, "at": written(after.at)}
        if before is not None:
            return self._decides(
                _BUCKETS.update()
                .where(
                    _BUCKETS.c.key == key,
                    _BUCKETS.c.left == before.left,
                    _BUCKETS.c.at == written(before.at),
                )
                .values(**values)
            )
        return self._inserted(_BUCKETS, key=key, **values)

    def _inserted(self, table: Table, **values: Any) -> bool:
        try:
            with self._transaction() as connection:
                connection.execute(table.insert().values(**values))
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def count_run(self, key: str, quota: int) -> bool:
        self._inserted(_RUNS, key=key, used=0)
        return self._decides(
            _RUNS.update()
            .where(_RUNS.c.key == key, _RUNS.c.used < quota)
            .values(used=_RUNS.c.used + 1)
        )

    def clear_runs(self, key: str) -> None:
        self._decides(_RUNS.delete().where(_RUNS.c.key == key))

    def note_configuration(self, adapter_name: str, fingerprint: str) -> bool:
        table = _CONFIGURATIONS
        if self._inserted(table, adapter_name=adapter_name, fingerprint=fingerprint):
            return False
        return self._decides(
            table.update()
            .where(table.c.adapter_name == adapter_name, table.c.fingerprint != fingerprint)
            .values(fingerprint=fingerprint)
        )

    def signing_key(self) -> bytes:
        return bytes(self._first_kept(_KEYS, "signing", "value", secrets.token_bytes(32)))

    def reset(self) -> None:
        with self._transaction() as connection:
            for table in (_TOKENS, _ENTRIES, _BUCKETS, _RUNS, _CONFIGURATIONS):
                connection.execute(table.delete())


def _record(row: dict[str, Any]) -> TokenRecord:
    for name in ("issued_at", "expires_at"):
        if row[name] is not None:
            row[name] = instant(row[name])
    row["type"] = TokenType(row["type"])
    return TokenRecord(**row)


def _entry(row: dict[str, Any]) -> AuditEntry:
    row.pop("number")
    row["timestamp"] = instant(row["timestamp"])
    row["event"] = Event(row["event"])
    return AuditEntry(**row)
