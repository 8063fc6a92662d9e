"""The half of the gate that enrols credentials: sections 4.4.1 and 4.4.2.

Knows registration challenges and what becomes of them. Does not know calls, tools or classes: any
credential may be enrolled, a tool's class is checked when it is used.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterator
from typing import Any

from ...families.sep2672.vocabulary import Reason, base64url_decode, base64url_encode
from ..server.answers import InvalidParamsError
from ..server.clock import Clock, iso_8601, whole_milliseconds
from .enrolment_policy import EnrolmentControl, EnrolmentPolicy
from .limits import SWEEP_AFTER, SWEEP_EVERY, ApprovalLimits
from .records import CredentialRecord, EnrolmentRecord
from .refusals import ApprovalRefusal
from .relying_party import Registration, RelyingParty, VerificationError, parse_client_data
from .store import ApprovalStore


class Enrolment(EnrolmentControl):
    """See the module; `ApprovalGate` is the whole."""

    store: ApprovalStore
    clock: Clock
    relying_party: RelyingParty
    enrolment_ttl: datetime.timedelta
    limits: ApprovalLimits
    _issued: Iterator[int]
    _swept_at: datetime.datetime | None = None

    # ---- section 4.4.1: approval/enroll/begin

    def begin_enrolment(self, user: str, meta: Any = None) -> dict[str, Any]:
        """The creation options for a new credential of this user; `meta` is the request's, of which
        only a policy wants to know."""
        allowed = self.may_begin(user, meta)
        now = self.clock.now()
        self.tidy(user, now)
        record = EnrolmentRecord(
            challenge=self.make_enrolment_challenge(),
            user=user,
            expires_at=whole_milliseconds(now + self.enrolment_ttl),
        )
        self.store.add_enrolment(record)
        if allowed and self.enrolment_policy is not EnrolmentPolicy.OPEN:
            self.store.allow_enrolment(record)
        return {"options": self.creation_options(record)}

    def tidy(self, user: str, now: datetime.datetime) -> None:
        """Forget what is too old, now and then by the server's clock, and what is too much."""
        if self._swept_at is None or abs(now - self._swept_at) >= SWEEP_AFTER:
            self._swept_at = now
            self.store.forget_expired(now - self.limits.retention)
        if next(self._issued) % SWEEP_EVERY == 0:
            self.store.keep_challenges(user, self.limits.challenges)
            self.store.keep_enrolments(user, self.limits.registrations)

    def make_enrolment_challenge(self) -> bytes:
        return secrets.token_bytes(32)

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        return {
            "rp": {"id": self.relying_party.id, "name": self.relying_party.name},
            "user": {
                "id": base64url_encode(self.store.user_handle(record.user)),
                "name": record.user,
                "displayName": record.user,
            },
            "challenge": base64url_encode(record.challenge),
            "pubKeyCredParams": [
                {"type": "public-key", "alg": algorithm}
                for algorithm in self.relying_party.algorithms
            ],
            "timeout": int(self.enrolment_ttl.total_seconds() * 1000),
            "attestation": "direct" if self.relying_party.models else "none",
            "excludeCredentials": [
                self.descriptor(credential) for credential in self.store.credentials(record.user)
            ],
            "authenticatorSelection": {
                "residentKey": "preferred",
                "userVerification": "required",
            },
        }

    def descriptor(self, credential: CredentialRecord) -> dict[str, Any]:
        return {
            "type": "public-key",
            "id": base64url_encode(credential.credential_id),
            "transports": list(credential.transports),
        }

    # ---- section 4.4.2: approval/enroll/finish

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        """Verify a registration and keep its credential; else `ApprovalRefusal`."""
        # 1. There is a registration challenge that was neither used nor has expired.
        pending = self.find_pending(user, response)
        # 2. The response verifies against it: UV, signature and all.
        registration = self.verify_registration(response, pending)
        # 3. Its credential is new. Only after verification, so that a forgery reveals nothing.
        self.check_not_enrolled(registration)
        self.check_room(user)
        # 4. The challenge is used up; of several at once, the store lets one through.
        # 5. The credential is kept; with 4 or not at all, should the process die.
        credential = CredentialRecord(
            credential_id=registration.credential_id,
            user=user,
            user_handle=self.store.user_handle(user),
            public_key=registration.public_key,
            counter=registration.counter,
            transports=registration.transports,
            backup_eligible=registration.backup_eligible,
            created_at=self.clock.now(),
        )
        with self.store.together():
            self.consume_pending(pending)
            self.check_allowed(user, pending)
            self.keep_credential(credential)
        return {
            "success": True,
            "credentialId": base64url_encode(credential.credential_id),
            "createdAt": iso_8601(credential.created_at),
        }

    def find_pending(self, user: str, response: Any) -> EnrolmentRecord:
        """The challenge that the response claims to answer.

        If it was used or has expired, or if nothing is pending, the reason is
        no_pending_enrollment. If something else is pending, the response does not verify.
        """
        now = self.clock.now()
        given_out = self.store.enrolments(user)
        pending = [
            record for record in given_out if record.consumed_at is None and now < record.expires_at
        ]
        claimed = _claimed_challenge(response)
        for record in given_out:
            if record.challenge == claimed:
                if record in pending:
                    return record
                raise ApprovalRefusal(
                    Reason.NO_PENDING_ENROLLMENT,
                    "registration challenge: got a used or expired one, expected a pending one",
                )
        if not pending:
            raise ApprovalRefusal(
                Reason.NO_PENDING_ENROLLMENT,
                "enrolment: got no pending one, expected a begin first",
            )
        return pending[-1]

    def verify_registration(self, response: Any, pending: EnrolmentRecord) -> Registration:
        try:
            return self.relying_party.verify_registration(response, pending.challenge)
        except VerificationError as error:
            raise ApprovalRefusal(Reason.VERIFICATION_FAILED, str(error)) from error

    def check_not_enrolled(self, registration: Registration) -> None:
        if self.store.credential(registration.credential_id) is not None:
            raise _already_enrolled()

    def check_room(self, user: str) -> None:
        if len(self.store.credentials(user)) >= self.limits.credentials:
            raise InvalidParamsError(
                f"credentials: got as many as a user may have, {self.limits.credentials}"
            )

    def consume_pending(self, pending: EnrolmentRecord) -> None:
        if not self.store.consume_enrolment(pending.challenge, self.clock.now()):
            raise ApprovalRefusal(
                Reason.NO_PENDING_ENROLLMENT,
                "registration challenge: got a used one, expected a pending one",
            )

    def keep_credential(self, credential: CredentialRecord) -> None:
        if not self.store.add_credential(credential):
            raise _already_enrolled()


def _already_enrolled() -> ApprovalRefusal:
    return ApprovalRefusal(
        Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: got an enrolled one, expected a new one"
    )


def _claimed_challenge(response: Any) -> bytes | None:
    """The challenge in the client data, None if none can be read."""
    try:
        inner = response["response"]
        client_data = parse_client_data(base64url_decode(inner["clientDataJSON"]))
        return base64url_decode(client_data.get("challenge"))
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
