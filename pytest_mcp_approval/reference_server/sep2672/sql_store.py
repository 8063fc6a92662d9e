"""The store that survives a restart and that replicas can share: SQLite or PostgreSQL.

Consuming is one conditional UPDATE whose row count decides. Knows no rule.
"""

from __future__ import annotations

import datetime
import json
import secrets
import uuid
from typing import Any

import sqlalchemy
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, MetaData, Table, Text

from ..server.database import Database, instant, written
from .records import ChallengeRecord, CredentialRecord, EnrolmentRecord

_PREFIX = "sep2672_"
_METADATA = MetaData()
_SETTINGS = Table(
    f"{_PREFIX}settings",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
_USERS = Table(
    f"{_PREFIX}users",
    _METADATA,
    Column("name", Text, primary_key=True),
    Column("handle", LargeBinary, nullable=False),
)
_ENROLMENTS = Table(
    f"{_PREFIX}enrolments",
    _METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("challenge", LargeBinary, nullable=False, unique=True),
    Column("user", Text, nullable=False, index=True),
    Column("expires_at", BigInteger, nullable=False),
    Column("consumed_at", BigInteger),
)
_CREDENTIALS = Table(
    f"{_PREFIX}credentials",
    _METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("credential_id", LargeBinary, nullable=False, unique=True),
    Column("user", Text, nullable=False, index=True),
    Column("user_handle", LargeBinary, nullable=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("counter", BigInteger, nullable=False),
    Column("transports", Text, nullable=False),
    Column("backup_eligible", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)
_CHALLENGES = Table(
    f"{_PREFIX}challenges",
    _METADATA,
    Column("challenge_id", Text, primary_key=True),
    Column("user", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("canonical_arguments", LargeBinary, nullable=False),
    Column("server_id", Text, nullable=False),
    Column("action_hash", LargeBinary, nullable=False),
    Column("wire_challenge", LargeBinary, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("consumed_at", BigInteger),
)


class SqlStore(Database):
    """See `stores.interface.Store`. `url` is SQLAlchemy's, as in `sqlite:///approvals.db`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, _METADATA)

    def server_id(self) -> str:
        return str(self._first_kept(_SETTINGS, "server_id", "value", str(uuid.uuid4())))

    def user_handle(self, user: str) -> bytes:
        return bytes(self._first_kept(_USERS, user, "handle", secrets.token_bytes(32)))

    def add_enrolment(self, record: EnrolmentRecord) -> None:
        self._insert(_ENROLMENTS, record)

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        table = _ENROLMENTS
        found = self._rows(
            sqlalchemy.select(table).where(table.c.user == user).order_by(table.c.number)
        )
        return [EnrolmentRecord(**_read(row)) for row in found]

    def consume_enrolment(self, challenge: bytes, now: datetime.datetime) -> bool:
        table = _ENROLMENTS
        return self._decides(
            table.update()
            .where(table.c.challenge == challenge, table.c.consumed_at.is_(None))
            .values(consumed_at=written(now))
        )

    def add_credential(self, record: CredentialRecord) -> bool:
        try:
            self._insert(_CREDENTIALS, record)
        except sqlalchemy.exc.IntegrityError:
            return False
        return True

    def credential(self, credential_id: bytes) -> CredentialRecord | None:
        table = _CREDENTIALS
        found = self._rows(sqlalchemy.select(table).where(table.c.credential_id == credential_id))
        return CredentialRecord(**_read(found[0])) if found else None

    def credentials(self, user: str) -> list[CredentialRecord]:
        table = _CREDENTIALS
        found = self._rows(
            sqlalchemy.select(table).where(table.c.user == user).order_by(table.c.number)
        )
        return [CredentialRecord(**_read(row)) for row in found]

    def remove_credential(self, credential_id: bytes) -> None:
        table = _CREDENTIALS
        self._decides(table.delete().where(table.c.credential_id == credential_id))

    def advance_counter(self, credential_id: bytes, counter: int) -> bool:
        table = _CREDENTIALS
        return self._decides(
            table.update()
            .where(
                table.c.credential_id == credential_id,
                sqlalchemy.or_(table.c.counter == 0, table.c.counter < counter),
            )
            .values(counter=counter)
        )

    def add_challenge(self, record: ChallengeRecord) -> None:
        self._insert(_CHALLENGES, record)

    def challenge(self, challenge_id: str) -> ChallengeRecord | None:
        table = _CHALLENGES
        found = self._rows(sqlalchemy.select(table).where(table.c.challenge_id == challenge_id))
        return ChallengeRecord(**_read(found[0])) if found else None

    def consume_challenge(self, challenge_id: str, now: datetime.datetime) -> bool:
        table = _CHALLENGES
        return self._decides(
            table.update()
            .where(table.c.challenge_id == challenge_id, table.c.consumed_at.is_(None))
            .values(consumed_at=written(now))
        )

    def forget_expired(self, before: datetime.datetime) -> None:
        for table in (_CHALLENGES, _ENROLMENTS):
            self._decides(table.delete().where(table.c.expires_at < written(before)))

    def reset(self) -> None:
        with self._transaction() as connection:
            for table in (_CHALLENGES, _ENROLMENTS, _CREDENTIALS, _USERS):
                connection.execute(table.delete())


def _read(row: dict[str, Any]) -> dict[str, Any]:
    row.pop("number", None)
    for name in ("expires_at", "consumed_at", "created_at"):
        if row.get(name) is not None:
            row[name] = instant(row[name])
    if "transports" in row:
        row["transports"] = tuple(json.loads(row["transports"]))
    return row
