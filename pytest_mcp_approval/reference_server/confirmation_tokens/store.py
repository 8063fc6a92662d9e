"""What the gate of confirmation tokens remembers. Knows no rule: it does not decide whether a token
is still good.

`use` and `spend` decide races: each ends with one indivisible step, whose result says who won.
"""

from __future__ import annotations

import datetime
import secrets
from dataclasses import replace
from typing import Any, ClassVar

from ..server.tables import RecordStore
from .records import (
    AdapterConfiguration,
    AuditEntry,
    Bucket,
    QuotaCount,
    SigningKey,
    TokenRecord,
)
from .settings import RateLimit

_KEPT_ENTRIES = 200_000
_TRIES = 20


def _is_active(token: Any) -> Any:
    """The same condition as in `TokenRecord.state`."""
    return (token.revoked_because == "") & (token.use_count < token.max_uses)


def _take(
    bucket: Bucket | None, key: str, limit: RateLimit, now: datetime.datetime
) -> tuple[Bucket, float]:
    """The bucket after one was taken, and 0; or the bucket as it is, and the seconds until one is
    free.

    It is refilled evenly, by the server's clock; a clock that was set back changes nothing.
    """
    left = float(limit.burst)
    if bucket is not None:
        gone = max(0.0, (now - bucket.at).total_seconds())
        left = min(left, bucket.left + gone * limit.burst / limit.seconds)
    if (rest := left - 1) >= 0:
        return Bucket(key, rest, now), 0.0
    return Bucket(key, left, now), (1 - left) * limit.seconds / limit.burst


class TokenStore(RecordStore):
    """In memory, or in the database of an SQLAlchemy URL such as `sqlite:///tokens.db`."""

    prefix: ClassVar[str] = "confirmation_"

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self._tokens = self.table("tokens", TokenRecord, indexed=("expires_at", "session_id"))
        self._entries = self.table(
            "audit", AuditEntry, is_log=True, indexed=("user_id",), most=_KEPT_ENTRIES
        )
        self._buckets = self.table("buckets", Bucket)
        self._runs = self.table("runs", QuotaCount)
        self._configurations = self.table("configurations", AdapterConfiguration)
        self._keys = self.table("keys", SigningKey, survives_reset=True)

    def add(self, record: TokenRecord) -> None:
        self._tokens.add(record)

    def get(self, token_id: str) -> TokenRecord | None:
        return self._tokens.get(token_id)

    def records(self) -> list[TokenRecord]:
        return self._tokens.find()

    def use(self, token_id: str) -> bool:
        """Count one use if the token has one left; returns whether this very call did so."""
        return self._tokens.change(
            token_id, _is_active, use_count=lambda token: token.use_count + 1
        )

    def spend(self, record: TokenRecord) -> bool:
        """Keep a token that was not kept so far as used; returns whether this very call did so.

        In one step: kept first and used then, it would be lost if the process died in between."""
        return self._tokens.add(replace(record, use_count=record.use_count + 1))

    def revoke(self, record: TokenRecord, because: str) -> bool:
        """Revoke an active token, kept so far or not; returns whether this very call did so."""
        if self._tokens.add(replace(record, revoked_because=because)):
            return True
        return self._tokens.change(record.id, _is_active, revoked_because=because)

    def revoke_all(
        self, because: str, *, session_id: str = "", user: str = "", adapter_name: str = ""
    ) -> list[TokenRecord]:
        """Revoke the active tokens of a session, a user or an adapter, and return them."""
        wanted = {"session_id": session_id, "user": user, "adapter_name": adapter_name}

        def is_meant(token: Any) -> Any:
            meant = _is_active(token)
            for name, value in wanted.items():
                meant = meant & (getattr(token, name) == value) if value else meant
            return meant

        return self._tokens.change_all(is_meant, revoked_because=because)

    def forget_expired(self, before: datetime.datetime) -> None:
        """Drop the tokens that expired before this instant; one without an expiry stays."""
        self._tokens.remove_below("expires_at", before)

    def write(self, entry: AuditEntry) -> None:
        self._entries.add(entry)

    def entries(self, user_id: str, limit: int) -> list[AuditEntry]:
        """The last ones about this user, oldest first."""
        return self._entries.find({"user_id": user_id}, newest=limit)

    def take(self, key: str, limit: RateLimit, now: datetime.datetime) -> float:
        """Take one out of a rate limit; 0, or the seconds to wait if there is none left.

        It writes only if nothing has changed since it read; otherwise it starts again."""
        for _ in range(_TRIES):
            before = self._buckets.get(key)
            after, wait = _take(before, key, limit, now)
            if wait or self._replaced(before, after):
                return wait
        return 0.0  # too many at once to count: a limit may be late, but never blocks by mistake

    def _replaced(self, before: Bucket | None, after: Bucket) -> bool:
        if before is None:
            return self._buckets.add(after)
        as_read = {"left": before.left, "at": before.at}
        return self._buckets.change(after.key, as_read, left=after.left, at=after.at)

    def left(self, key: str, limit: RateLimit, now: datetime.datetime) -> float:
        """As `take`, without taking."""
        return _take(self._buckets.get(key), key, limit, now)[1]

    def count_run(self, key: str, quota: int) -> bool:
        """Count one run if the quota has one left; returns whether it had."""
        self._runs.add(QuotaCount(key, 0))
        return self._runs.change(
            key, lambda count: count.used < quota, used=lambda count: count.used + 1
        )

    def clear_runs(self, key: str) -> None:
        self._runs.remove(key)

    def note_configuration(self, adapter_name: str, fingerprint: str) -> bool:
        """Remember an adapter's configuration; returns whether it was different before."""
        if self._configurations.add(AdapterConfiguration(adapter_name, fingerprint)):
            return False
        return self._configurations.change(
            adapter_name, lambda kept: kept.fingerprint != fingerprint, fingerprint=fingerprint
        )

    def signing_key(self) -> bytes:
        """Random, made when it is first needed, and never changed."""
        return self._keys.first_kept(SigningKey("signing", secrets.token_bytes(32))).value
