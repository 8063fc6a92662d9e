"""What a store of confirmation tokens must be able to do, and the one in memory.

Knows no rule: whether a token is still good is not its matter. `use` and `spend` decide races, so
each is one indivisible step whose answer says who won.
"""

from __future__ import annotations

import datetime
import heapq
import secrets
import threading
from collections import deque
from dataclasses import replace
from typing import Protocol

from .limits import take
from .records import AuditEntry, Bucket, State, TokenRecord
from .settings import Limit

_KEPT_ENTRIES = 200_000


class TokenStore(Protocol):
    """The memory of a gate. Every method may be called by several threads at once."""

    def add(self, record: TokenRecord) -> None: ...

    def get(self, token_id: str) -> TokenRecord | None: ...

    def use(self, token_id: str) -> bool:
        """Count one use if the token has one left; whether this very call did so."""
        ...

    def spend(self, record: TokenRecord) -> bool:
        """Keep a token that was not kept so far as used; whether this very call did so."""
        ...

    def revoke(self, record: TokenRecord, because: str) -> bool:
        """Revoke an active token, kept so far or not; whether this very call did so."""
        ...

    def revoke_all(
        self, because: str, *, session_id: str = "", user: str = "", adapter_name: str = ""
    ) -> list[TokenRecord]:
        """Revoke the active tokens of a session, a user or an adapter, and give them."""
        ...

    def records(self) -> list[TokenRecord]: ...

    def forget_expired(self, before: datetime.datetime) -> None:
        """Drop the tokens that expired before this instant."""
        ...

    def write(self, entry: AuditEntry) -> None: ...

    def entries(self, user_id: str, limit: int) -> list[AuditEntry]:
        """The last ones about this user, oldest first."""
        ...

    def take(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        """Take one out of a rate limit; 0, or the seconds to wait if there is none left."""
        ...

    def left(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        """As `take`, without taking."""
        ...

    def count_run(self, key: str, quota: int) -> bool:
        """Count one run if the quota has one left; whether it had."""
        ...

    def clear_runs(self, key: str) -> None: ...

    def note_configuration(self, adapter_name: str, fingerprint: str) -> bool:
        """Keep how an adapter is configured; whether it was configured otherwise before."""
        ...

    def signing_key(self) -> bytes:
        """Random, made when it is first asked for, the same ever after."""
        ...

    def reset(self) -> None:
        """Forget everything but the signing key."""
        ...

    def close(self) -> None: ...


class MemoryTokenStore:
    """Dictionaries under one lock, gone with the process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._key = secrets.token_bytes(32)
        self._clear()

    def _clear(self) -> None:
        self._records: dict[str, TokenRecord] = {}
        self._by_expiry: list[tuple[datetime.datetime, str]] = []
        self._entries: deque[AuditEntry] = deque(maxlen=_KEPT_ENTRIES)
        self._buckets: dict[str, Bucket] = {}
        self._runs: dict[str, int] = {}
        self._configurations: dict[str, str] = {}

    def add(self, record: TokenRecord) -> None:
        with self._lock:
            self._records[record.id] = record
            if record.expires_at is not None:
                heapq.heappush(self._by_expiry, (record.expires_at, record.id))

    def get(self, token_id: str) -> TokenRecord | None:
        with self._lock:
            return self._records.get(token_id)

    def use(self, token_id: str) -> bool:
        with self._lock:
            record = self._records.get(token_id)
            if record is None or record.state is not State.ACTIVE:
                return False
            self._records[token_id] = replace(record, use_count=record.use_count + 1)
            return True

    def spend(self, record: TokenRecord) -> bool:
        with self._lock:
            if record.id in self._records:
                return False
            self.add(replace(record, use_count=1))
            return True

    def revoke(self, record: TokenRecord, because: str) -> bool:
        with self._lock:
            kept = self._records.get(record.id)
            if kept is None:
                self.add(record)
                kept = record
            if kept.state is not State.ACTIVE:
                return False
            self._records[record.id] = replace(kept, revoked_because=because)
            return True

    def revoke_all(
        self, because: str, *, session_id: str = "", user: str = "", adapter_name: str = ""
    ) -> list[TokenRecord]:
        with self._lock:
            found = [
                record
                for record in self._records.values()
                if record.state is State.ACTIVE
                and session_id in ("", record.session_id)
                and user in ("", record.user)
                and adapter_name in ("", record.adapter_name)
            ]
            for record in found:
                self._records[record.id] = replace(record, revoked_because=because)
            return found

    def records(self) -> list[TokenRecord]:
        with self._lock:
            return list(self._records.values())

    def forget_expired(self, before: datetime.datetime) -> None:
        with self._lock:
            while self._by_expiry and self._by_expiry[0][0] < before:
                self._records.pop(heapq.heappop(self._by_expiry)[1], None)

    def write(self, entry: AuditEntry) -> None:
        with self._lock:
            self._entries.append(entry)

    def entries(self, user_id: str, limit: int) -> list[AuditEntry]:
        with self._lock:
            found: list[AuditEntry] = []
            for entry in reversed(self._entries):
                if entry.user_id == user_id:
                    found.append(entry)
                if len(found) >= limit:
                    break
            return found[::-1]

    def take(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        with self._lock:
            self._buckets[key], wait = take(self._buckets.get(key), limit, now)
            return wait

    def left(self, key: str, limit: Limit, now: datetime.datetime) -> float:
        with self._lock:
            return take(self._buckets.get(key), limit, now)[1]

    def count_run(self, key: str, quota: int) -> bool:
        with self._lock:
            if self._runs.get(key, 0) >= quota:
                return False
            self._runs[key] = self._runs.get(key, 0) + 1
            return True

    def clear_runs(self, key: str) -> None:
        with self._lock:
            self._runs.pop(key, None)

    def note_configuration(self, adapter_name: str, fingerprint: str) -> bool:
        with self._lock:
            before = self._configurations.get(adapter_name)
            self._configurations[adapter_name] = fingerprint
            return before not in (None, fingerprint)

    def signing_key(self) -> bytes:
        return self._key

    def reset(self) -> None:
        with self._lock:
            self._clear()

    def close(self) -> None:
        """Nothing to let go of."""
