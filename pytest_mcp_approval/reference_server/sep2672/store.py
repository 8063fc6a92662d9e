"""What the gate of SEP-2672 remembers. Knows no rule: it does not decide whether a record is still
good.

`consume_challenge`, its sister `consume_enrolment` and `advance_counter` decide races: each is one
indivisible step, and its result says who won.
"""

from __future__ import annotations

import datetime
import secrets
import uuid
from typing import ClassVar

from ..server.tables import RecordStore
from .records import (
    AllowedEnrolment,
    ChallengeRecord,
    CredentialRecord,
    EnrolmentCode,
    EnrolmentRecord,
    FirstKey,
    ServerSetting,
    UserHandle,
)


class ApprovalStore(RecordStore):
    """In memory, or in the database of an SQLAlchemy URL such as `sqlite:///approvals.db`."""

    prefix: ClassVar[str] = "sep2672_"

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self._settings = self.table("settings", ServerSetting, survives_reset=True)
        self._handles = self.table("users", UserHandle)
        self._enrolments = self.table(
            "enrolments", EnrolmentRecord, is_ordered=True, indexed=("user", "expires_at")
        )
        self._credentials = self.table(
            "credentials", CredentialRecord, is_ordered=True, indexed=("user",)
        )
        self._challenges = self.table("challenges", ChallengeRecord, indexed=("user", "expires_at"))

        self._allowed = self.table("allowed", AllowedEnrolment, indexed=("expires_at",))
        self._codes = self.table("codes", EnrolmentCode, indexed=("expires_at",))
        self._first_keys = self.table("first_keys", FirstKey)

    def server_id(self) -> str:
        """Random, made when it is first needed, and never changed (section 4.6)."""
        return self._settings.first_kept(ServerSetting("server_id", str(uuid.uuid4()))).value

    def user_handle(self, user: str) -> bytes:
        """Random, made when the user first appears, and never changed."""
        return self._handles.first_kept(UserHandle(user, secrets.token_bytes(32))).handle

    def add_enrolment(self, record: EnrolmentRecord) -> None:
        self._enrolments.add(record)

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        """All of the user's, used and expired ones too, oldest first."""
        return self._enrolments.find({"user": user})

    def consume_enrolment(self, challenge: bytes, now: datetime.datetime) -> bool:
        """Mark it used if it is there and unused; returns whether this very call did so."""
        return self._enrolments.change(challenge, {"consumed_at": None}, consumed_at=now)

    def allow_enrolment(self, record: EnrolmentRecord) -> None:
        self._allowed.add(AllowedEnrolment(record.challenge, record.expires_at))

    def is_allowed(self, challenge: bytes) -> bool:
        return self._allowed.get(challenge) is not None

    def add_enrolment_code(self, hashed: bytes, until: datetime.datetime) -> None:
        self._codes.add(EnrolmentCode(hashed, until))

    def use_enrolment_code(self, hashed: bytes, now: datetime.datetime) -> bool:
        """Use it up if it is there and has not expired; returns whether this very call did so."""
        return self._codes.remove(hashed, lambda code: now < code.expires_at)

    def claim_first_key(self, user: str) -> bool:
        """Whether this very call is the first for this user."""
        return self._first_keys.add(FirstKey(user))

    def add_credential(self, record: CredentialRecord) -> bool:
        """Store it unless its id is taken, by any user; returns whether it was stored."""
        return self._credentials.add(record)

    def credential(self, credential_id: bytes) -> CredentialRecord | None:
        return self._credentials.get(credential_id)

    def credentials(self, user: str) -> list[CredentialRecord]:
        """All of the user's, oldest first."""
        return self._credentials.find({"user": user})

    def remove_credential(self, credential_id: bytes) -> None:
        """Forget a credential, such as a lost one; one that is not there is no error."""
        self._credentials.remove(credential_id)

    def advance_counter(self, credential_id: bytes, counter: int) -> bool:
        """Set the counter if the stored one is zero or lower; returns whether it did so."""
        return self._credentials.change(
            credential_id,
            lambda kept: (kept.counter == 0) | (kept.counter < counter),
            counter=counter,
        )

    def add_challenge(self, record: ChallengeRecord) -> None:
        self._challenges.add(record)

    def challenge(self, challenge_id: str) -> ChallengeRecord | None:
        return self._challenges.get(challenge_id)

    def consume_challenge(self, challenge_id: str, now: datetime.datetime) -> bool:
        """Mark it used if it is there and unused; returns whether this very call did so."""
        return self._challenges.change(challenge_id, {"consumed_at": None}, consumed_at=now)

    def forget_expired(self, before: datetime.datetime) -> None:
        """Drop challenges of both kinds that expired before this instant."""
        self._challenges.remove_below("expires_at", before)
        self._enrolments.remove_below("expires_at", before)
        self._allowed.remove_below("expires_at", before)
        self._codes.remove_below("expires_at", before)

    def keep_challenges(self, user: str, most: int) -> None:
        """Of this user's challenges, drop all but those that expire last, whatever became of them:
        one that is not there is refused like one that was used."""
        self._challenges.keep_most({"user": user}, most, "expires_at")

    def keep_enrolments(self, user: str, most: int) -> None:
        """The same for registration challenges."""
        self._enrolments.keep_most({"user": user}, most, "expires_at")
