"""The store for tests and trials: dictionaries under one lock, gone with the process.

Knows no rule, like every store.
"""

from __future__ import annotations

import datetime
import secrets
import threading
import uuid
from dataclasses import replace

from .records import ChallengeRecord, CredentialRecord, EnrolmentRecord


class MemoryStore:
    """See `stores.interface.Store`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._server_id = str(uuid.uuid4())
        self._user_handles: dict[str, bytes] = {}
        self._enrolments: dict[bytes, EnrolmentRecord] = {}
        self._credentials: dict[bytes, CredentialRecord] = {}
        self._challenges: dict[str, ChallengeRecord] = {}

    def server_id(self) -> str:
        return self._server_id

    def user_handle(self, user: str) -> bytes:
        with self._lock:
            return self._user_handles.setdefault(user, secrets.token_bytes(32))

    def add_enrolment(self, record: EnrolmentRecord) -> None:
        with self._lock:
            self._enrolments[record.challenge] = record

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        with self._lock:
            return [record for record in self._enrolments.values() if record.user == user]

    def consume_enrolment(self, challenge: bytes, now: datetime.datetime) -> bool:
        with self._lock:
            record = self._enrolments.get(challenge)
            if record is None or record.consumed_at is not None:
                return False
            self._enrolments[challenge] = replace(record, consumed_at=now)
            return True

    def add_credential(self, record: CredentialRecord) -> bool:
        with self._lock:
            return self._credentials.setdefault(record.credential_id, record) is record

    def credential(self, credential_id: bytes) -> CredentialRecord | None:
        with self._lock:
            return self._credentials.get(credential_id)

    def credentials(self, user: str) -> list[CredentialRecord]:
        with self._lock:
            return [record for record in self._credentials.values() if record.user == user]

    def remove_credential(self, credential_id: bytes) -> None:
        with self._lock:
            self._credentials.pop(credential_id, None)

    def advance_counter(self, credential_id: bytes, counter: int) -> bool:
        with self._lock:
            record = self._credentials.get(credential_id)
            if record is None or 0 != record.counter >= counter:
                return False
            self._credentials[credential_id] = replace(record, counter=counter)
            return True

    def add_challenge(self, record: ChallengeRecord) -> None:
        with self._lock:
            self._challenges[record.challenge_id] = record

    def challenge(self, challenge_id: str) -> ChallengeRecord | None:
        with self._lock:
            return self._challenges.get(challenge_id)

    def consume_challenge(self, challenge_id: str, now: datetime.datetime) -> bool:
        with self._lock:
            record = self._challenges.get(challenge_id)
            if record is None or record.consumed_at is not None:
                return False
            self._challenges[challenge_id] = replace(record, consumed_at=now)
            return True

    def forget_expired(self, before: datetime.datetime) -> None:
        with self._lock:
            self._challenges = {
                key: record
                for key, record in self._challenges.items()
                if record.expires_at >= before
            }
            self._enrolments = {
                key: record
                for key, record in self._enrolments.items()
                if record.expires_at >= before
            }

    def reset(self) -> None:
        with self._lock:
            self._user_handles.clear()
            self._enrolments.clear()
            self._credentials.clear()
            self._challenges.clear()

    def close(self) -> None:
        """Nothing to let go of."""
