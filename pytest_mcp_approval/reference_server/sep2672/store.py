"""What a store must be able to do. Knows no rule: whether a record is still good is not its matter.

Two operations decide races, so each must be one indivisible step: `consume_challenge` (and its
sister `consume_enrolment`) and `advance_counter`. Their answer says who won.
"""

from __future__ import annotations

import datetime
from typing import Protocol

from .records import ChallengeRecord, CredentialRecord, EnrolmentRecord


class Store(Protocol):
    """The memory of a gate. Every method may be called by several threads at once."""

    def server_id(self) -> str:
        """Random, made when it is first asked for, the same ever after (section 4.6)."""
        ...

    def user_handle(self, user: str) -> bytes:
        """Random, made when the user is first met, the same ever after."""
        ...

    def add_enrolment(self, record: EnrolmentRecord) -> None: ...

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        """All of the user's, used and expired ones too, oldest first."""
        ...

    def consume_enrolment(self, challenge: bytes, now: datetime.datetime) -> bool:
        """Mark it used if it is there and unused; whether this very call did so."""
        ...

    def add_credential(self, record: CredentialRecord) -> bool:
        """Keep it unless its id is taken, by whomever; whether it was kept."""
        ...

    def credential(self, credential_id: bytes) -> CredentialRecord | None: ...

    def credentials(self, user: str) -> list[CredentialRecord]:
        """All of the user's, oldest first."""
        ...

    def remove_credential(self, credential_id: bytes) -> None:
        """Forget a credential, such as a lost one; one that is not there is no error."""
        ...

    def advance_counter(self, credential_id: bytes, counter: int) -> bool:
        """Set the counter if the stored one is zero or lower; whether this very call did so."""
        ...

    def add_challenge(self, record: ChallengeRecord) -> None: ...

    def challenge(self, challenge_id: str) -> ChallengeRecord | None: ...

    def consume_challenge(self, challenge_id: str, now: datetime.datetime) -> bool:
        """Mark it used if it is there and unused; whether this very call did so."""
        ...

    def forget_expired(self, before: datetime.datetime) -> None:
        """Drop challenges of both kinds that expired before this instant."""
        ...

    def reset(self) -> None:
        """Forget everything but the server's id."""
        ...

    def close(self) -> None: ...
