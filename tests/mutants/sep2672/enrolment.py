"""Broken servers for sections 4.4.1 and 4.4.2: beginning, confirming and keeping an enrolment."""

from __future__ import annotations

import base64
import datetime
import hashlib
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from webauthn.helpers import encode_cbor, parse_cbor

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    CredentialRecord,
    EnrolmentRecord,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    Registration,
    RelyingParty,
    VerificationError,
)
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from tests.mutants.meeting import Meeting
from tests.mutants.registry import mutant

# ---- section 4.4.2: the user handle

HANDLE = "sep2672/4.4.2-user-handle"


@mutant(kills=HANDLE, because="userHandle as it was enrolled[^§]*signature_verification_failed")
class MakesAHandleEachTime(ApprovalStore):
    """Makes a new user handle whenever it needs one, and keeps the last."""

    def user_handle(self, user: str) -> bytes:
        return secrets.token_bytes(32)


@mutant(kills=HANDLE, because="after a restart[^§]*signature_verification_failed")
class HandlesOfEachProcess(ApprovalGate):
    """Keeps user handles in memory only."""

    def in_mind(self, user: str) -> bytes:
        handles: dict[str, bytes] = self.__dict__.setdefault("handles", {})
        return handles.setdefault(user, secrets.token_bytes(32))

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        options["user"]["id"] = words.base64url_encode(self.in_mind(record.user))
        return options

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        found = super().credential_of(attempt)
        return replace(found, user_handle=self.in_mind(found.user))


@mutant(kills=HANDLE, because="userHandle left out[^§]*signature_verification_failed")
class WantsAHandleOfSyncedPasskeys(RelyingParty):
    """Takes a synced passkey without a user handle for a forgery."""

    def check_user_handle(self, inner: Mapping[str, Any], key: CredentialRecord) -> None:
        if key.backup_eligible and inner.get("userHandle") is None:
            raise VerificationError("userHandle: got none")
        super().check_user_handle(inner, key)


@mutant(kills=HANDLE, because="another one at each begin", warned=True)
class AHandleForEachBegin(ApprovalGate):
    """Takes each credential for a separate account."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        handle = hashlib.sha256(record.challenge).digest()
        options["user"]["id"] = words.base64url_encode(handle)
        return options

    def verify_registration(self, response: Any, pending: EnrolmentRecord) -> Registration:
        handle = hashlib.sha256(pending.challenge).digest()
        self.__dict__.setdefault("handles", {})[pending.user] = handle
        return super().verify_registration(response, pending)

    def keep_credential(self, credential: CredentialRecord) -> None:
        handle = self.__dict__["handles"][credential.user]
        super().keep_credential(replace(credential, user_handle=handle))


# ---- section 4.4.1: params and options


@mutant(kills="sep2672/4.4.1-params-ignored", because="with params .*unknown[^§]*error -32602")
class RejectsUnknownParams(ApprovalGate):
    """Refuses params of enroll/begin that it does not know."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        if method == words.ENROLL_BEGIN and set(params or {}) - {"_meta"}:
            raise InvalidParamsError("params: got some, expected none")
        return super().handle(user, method, params)


@mutant(
    kills="sep2672/4.4.1-params-ignored",
    because="authenticatorSelection[^§]*authenticatorSelection",
)
class LetsParamsOverrideTheOptions(ApprovalGate):
    """Takes options of the client's own out of the params."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        result = super().handle(user, method, params)
        if method == words.ENROLL_BEGIN and "authenticatorSelection" in (params or {}):
            result["options"]["authenticatorSelection"] = params["authenticatorSelection"]
        return result


class OtherOptions(ApprovalGate):
    """A gate whose creation options are changed before they go out."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        self.change(options)
        return options

    def change(self, options: dict[str, Any]) -> None:
        raise NotImplementedError


@mutant(
    kills="sep2672/4.4.1-options-shape",
    because="challenge, base64url without padding[^§]*='$",
)
class WritesStandardBase64(OtherOptions):
    """Writes the challenge in standard base64, with padding."""

    def change(self, options: dict[str, Any]) -> None:
        raw = words.base64url_decode(options["challenge"])
        options["challenge"] = base64.b64encode(raw).decode()


@mutant(kills="sep2672/4.4.1-options-shape", because=r"user.id, base64url[^§]*\[[0-9]+")
class SendsTheUserHandleAsBytes(OtherOptions):
    """Writes user.id as a list of numbers, as a buffer serialises."""

    def change(self, options: dict[str, Any]) -> None:
        options["user"]["id"] = list(words.base64url_decode(options["user"]["id"]))


@mutant(
    kills="sep2672/4.4.1-options-shape", because=r"pubKeyCredParams[^§]*\[\{'type': 'public\-key'"
)
class NamesAlgorithmsByText(OtherOptions):
    """Names algorithms as JOSE does, not by COSE's numbers."""

    def change(self, options: dict[str, Any]) -> None:
        options["pubKeyCredParams"] = [{"type": "public-key", "alg": "ES256"}]


@mutant(kills="sep2672/4.4.1-options-shape", because="user.displayName[^§]*None")
class LeavesOutTheDisplayName(OtherOptions):
    """Leaves user.displayName out."""

    def change(self, options: dict[str, Any]) -> None:
        del options["user"]["displayName"]


@mutant(
    kills="sep2672/4.4.1-options-shape",
    because=r'the member options[^§]*result \{"rp":\{"id":"localhost"',
)
class SendsBareOptions(ApprovalGate):
    """Answers with the options themselves, not with a member of that name."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        return super().begin_enrolment(user)["options"]


@mutant(kills="sep2672/4.4.1-uv-required", because="'preferred'")
class PrefersUserVerification(OtherOptions):
    """Asks for user verification as preferred."""

    def change(self, options: dict[str, Any]) -> None:
        options["authenticatorSelection"]["userVerification"] = "preferred"


@mutant(kills="sep2672/4.4.1-uv-required", because="the second one[^§]*residentKey")
class RequiresUserVerificationOnce(OtherOptions):
    """Asks for user verification only while the user has no credential."""

    def change(self, options: dict[str, Any]) -> None:
        if options["excludeCredentials"]:
            options["authenticatorSelection"].pop("userVerification")


# ---- section 4.4.1: challenge and time


@mutant(
    kills="sep2672/4.4.1-fresh-challenge",
    because="different challenges[^§]*\n1 different ones",
)
class HasOneRegistrationChallenge(ApprovalGate):
    """Makes one registration challenge per process."""

    def make_enrolment_challenge(self) -> bytes:
        made: bytes = self.__dict__.setdefault("only", super().make_enrolment_challenge())
        return made


@mutant(kills="sep2672/4.4.1-fresh-challenge", because="ever change")
class CountsRegistrationChallenges(ApprovalGate):
    """Makes registration challenges by counting."""

    count = 0

    def make_enrolment_challenge(self) -> bytes:
        self.count += 1
        return self.count.to_bytes(32)


@mutant(kills="sep2672/4.4.1-ttl", because='86400 s after its begin[^§]*"success":true')
class RegistrationsNeverExpire(ApprovalGate):
    """Takes a registration challenge however old it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.enrolment_ttl = datetime.timedelta(days=3650)

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        return {**super().creation_options(record), "timeout": 300_000}


@mutant(
    kills="sep2672/4.4.1-ttl", because='298 s after its begin[^§]*"reason":"no_pending_enrollment"'
)
class RegistrationsExpireTooSoon(ApprovalGate):
    """Gives people one minute to enrol, and tells their browser five."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.enrolment_ttl = datetime.timedelta(seconds=60)

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        return {**super().creation_options(record), "timeout": 300_000}


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="no member excludeCredentials")
class LeavesOutAnEmptyList(OtherOptions):
    """Leaves excludeCredentials out while it would be empty."""

    def change(self, options: dict[str, Any]) -> None:
        if not options["excludeCredentials"]:
            del options["excludeCredentials"]


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="of 2 missing")
class ExcludesTheNewestOnly(OtherOptions):
    """Lists only the newest credential in excludeCredentials."""

    def change(self, options: dict[str, Any]) -> None:
        options["excludeCredentials"] = options["excludeCredentials"][-1:]


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="of 1 missing")
class ExcludesNothing(OtherOptions):
    """Always says that nothing is excluded."""

    def change(self, options: dict[str, Any]) -> None:
        options["excludeCredentials"] = []


# ---- section 4.4.2: the confirmation


class OtherConfirmation(ApprovalGate):
    """A gate whose confirmation is changed before it goes out."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        result = super().finish_enrolment(user, response)
        self.change(result)
        return result

    def change(self, result: dict[str, Any]) -> None:
        raise NotImplementedError


@mutant(kills="sep2672/4.4.2-confirmation-shape", because="createdAt [0-9]+")
class WritesAnEpochNumber(OtherConfirmation):
    """Writes createdAt as a number of seconds."""

    def change(self, result: dict[str, Any]) -> None:
        written = datetime.datetime.fromisoformat(result["createdAt"])
        result["createdAt"] = int(written.timestamp())


@mutant(kills="sep2672/4.4.2-confirmation-shape", because=r"s apart[^§]*\n[0-9]+ s apart")
class WritesAConstantInstant(OtherConfirmation):
    """Writes when the server was built as createdAt."""

    def change(self, result: dict[str, Any]) -> None:
        result["createdAt"] = "2026-01-01T00:00:00Z"


@mutant(kills="sep2672/4.4.2-confirmation-shape", because="expected.*credentialId|credentialId '")
class ConfirmsAnotherId(OtherConfirmation):
    """Answers with the credential's id in hexadecimal."""

    def change(self, result: dict[str, Any]) -> None:
        result["credentialId"] = words.base64url_decode(result["credentialId"]).hex()


@mutant(
    kills="sep2672/4.4.2-confirmation-shape",
    because=r'success: true[^§]*result \{"credentialId"',
)
class SaysVerifiedInsteadOfSuccess(OtherConfirmation):
    """Answers verified: true instead of success: true."""

    def change(self, result: dict[str, Any]) -> None:
        result["verified"] = result.pop("success")


# ---- section 4.4.2: what is kept


class KeepsOther(ApprovalGate):
    """A gate that keeps something else than was registered."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        super().keep_credential(self.changed(credential))

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        raise NotImplementedError


@mutant(kills="sep2672/4.4.2-persisted", because='transports[^§]*"reason":"no_eligible_credential"')
class DropsTransports(KeepsOther):
    """Does not keep the transports."""

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        return replace(credential, transports=())


@mutant(
    kills="sep2672/4.4.2-persisted",
    because=r"allowCredentials: \['nfc', 'usb'\][^§]*transports \['usb'\]",
)
class KeepsOneTransport(KeepsOther):
    """Keeps the last transport only."""

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        return replace(credential, transports=credential.transports[-1:])


@mutant(
    kills="sep2672/4.4.2-persisted", because="enrolled with signCount 41[^§]*a result, tool run"
)
class DropsTheCounter(KeepsOther):
    """Does not keep the counter of the registration."""

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        return replace(credential, counter=0)


@mutant(
    kills="sep2672/4.4.2-persisted",
    because='the second of two credentials[^§]*"reason":"signature_verification_failed"',
)
class KeepsOneKeyPerUser(KeepsOther):
    """Keeps the first key of a user for all of their credentials."""

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        earlier = self.store.credentials(credential.user)
        return replace(credential, public_key=earlier[0].public_key) if earlier else credential


@mutant(
    kills="sep2672/4.4.2-persisted",
    because='key for ES256, x begins with zeros[^§]*"reason":"signature_verification_failed"',
)
class KeepsCoordinatesAsNumbers(KeepsOther):
    """Writes the coordinates of a key with as many bytes as the number has."""

    def changed(self, credential: CredentialRecord) -> CredentialRecord:
        key = parse_cbor(credential.public_key)
        for name in (-2, -3):
            if name in key:
                key[name] = key[name].lstrip(b"\x00")
        return replace(credential, public_key=encode_cbor(key))


@mutant(kills="sep2672/4.4.2-persisted", because="enrolled before a restart[^§]*a result, tool run")
class ForgetsCountersAtARestart(ApprovalGate):
    """Keeps credentials over a restart, but not their counters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.store._credentials.change_all({}, counter=0)


# ---- section 4.4.2: the same credential again


@mutant(
    kills="sep2672/4.4.2-already-enrolled",
    because='an enrolled credential id again[^§]*"success":true',
)
class OverwritesTheRecord(ApprovalGate):
    """Puts a new record in the place of one with the same id."""

    def check_not_enrolled(self, registration: Registration) -> None:
        self.store.remove_credential(registration.credential_id)


@mutant(
    kills="sep2672/4.4.2-already-enrolled",
    because='honest call by the first holder[^§]*"reason":"signature_verification_failed"',
)
class OverwritesAndRefuses(ApprovalGate):
    """Refuses a duplicate, and keeps its key all the same."""

    def check_not_enrolled(self, registration: Registration) -> None:
        kept = self.store.credential(registration.credential_id)
        if kept is not None:
            self.store.remove_credential(registration.credential_id)
            self.store.add_credential(replace(kept, public_key=registration.public_key))
        super().check_not_enrolled(registration)


@mutant(
    kills="sep2672/4.4.2-already-enrolled",
    because="signCount .* after a second enrolment[^§]*a result, tool run",
)
class ResetsTheCounterOfADuplicate(ApprovalGate):
    """Refuses a duplicate, and takes over its counter."""

    def check_not_enrolled(self, registration: Registration) -> None:
        kept = self.store.credential(registration.credential_id)
        if kept is not None:
            self.store.remove_credential(registration.credential_id)
            self.store.add_credential(replace(kept, counter=registration.counter))
        super().check_not_enrolled(registration)


@mutant(
    kills="sep2672/4.4.2-already-enrolled",
    because='again, fault flip-flag[^§]*"reason":"credential_already_enrolled"',
)
class LooksForDuplicatesFirst(ApprovalGate):
    """Says that a credential is enrolled before it has verified anything."""

    def verify_registration(self, response: Any, pending: EnrolmentRecord) -> Registration:
        with suppress(ValueError):
            if self.store.credential(words.base64url_decode(response.get("id"))) is not None:
                raise ApprovalRefusal(Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: enrolled")
        return super().verify_registration(response, pending)


@mutant(
    kills="sep2672/4.4.2-already-enrolled",
    because="one credential id, two challenges[^§]*successes",
)
class RacesForTheId(ApprovalGate):
    """Looks whether an id is taken, and takes it a moment later."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.meeting = Meeting()

    def keep_credential(self, credential: CredentialRecord) -> None:
        taken = self.store.credential(credential.credential_id) is not None
        self.meeting.wait()
        if taken:
            super().keep_credential(credential)
        self.store.remove_credential(credential.credential_id)
        self.store.add_credential(credential)


# ---- section 4.4.2: challenges that are not pending


@mutant(
    kills="sep2672/4.4.2-no-pending", because='a used registration challenge[^§]*"success":true'
)
class LeavesTheChallengePending(ApprovalGate):
    """Leaves a registration challenge usable after a success."""

    def consume_pending(self, pending: EnrolmentRecord) -> None:
        pass


class Renames(ApprovalGate):
    """A gate that gives another reason where no enrolment is pending."""

    def find_pending(self, user: str, response: Any) -> EnrolmentRecord:
        try:
            return super().find_pending(user, response)
        except ApprovalRefusal as refusal:
            raise ApprovalRefusal(self.renamed(refusal), refusal.message) from None

    def renamed(self, refusal: ApprovalRefusal) -> Reason:
        raise NotImplementedError


@mutant(
    kills="sep2672/4.4.2-no-pending",
    because='while no enrolment is pending[^§]*"reason":"verification_failed"',
)
class DoesNotKnowThatNothingIsPending(Renames):
    """Says verification_failed where there was no begin."""

    def renamed(self, refusal: ApprovalRefusal) -> Reason:
        never = "begin first" in refusal.message
        return Reason.VERIFICATION_FAILED if never else refusal.reason


@mutant(
    kills="sep2672/4.4.2-no-pending",
    because='a day after its begin[^§]*"reason":"challenge_expired"',
)
class CallsAnExpiredEnrolmentAnExpiredChallenge(Renames):
    """Says challenge_expired, which is a reason of tools/call."""

    def renamed(self, refusal: ApprovalRefusal) -> Reason:
        return Reason.CHALLENGE_EXPIRED


@mutant(
    kills="sep2672/4.4.2-no-pending", because="together on one registration challenge[^§]*successes"
)
class RacesForTheRegistration(ApprovalStore):
    """Looks whether a registration challenge is unused, and marks it a moment later."""

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url)
        self.meeting = Meeting()

    def consume_enrolment(self, challenge: bytes, now: datetime.datetime) -> bool:
        record = self._enrolments.get(challenge)
        unused = record is not None and record.consumed_at is None
        self.meeting.wait()
        super().consume_enrolment(challenge, now)
        return unused
