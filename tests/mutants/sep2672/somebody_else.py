"""Servers that do not think of a second person, or of a second ceremony at the same time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
    EnrolmentRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import Registration
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import challenges, credentials, enrolments


@mutant(
    kills="sep2672/4.8-13-consume-after-verify",
    because="one of two challenges[^§]*challenge_unknown",
)
class KeepsOneChallengeForEachUser(ApprovalGate):
    """Keeps the latest challenge of a user, as one keeps it in a session."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        pending = challenges(self).find({"user": user, "consumed_at": None})
        made = super().create_challenge(user, tool, arguments)
        for one in pending:
            challenges(self).remove(one.challenge_id)
        return made


@mutant(kills="sep2672/4.4.3-allow-credentials", because="[1-9][0-9]* of the other's")
class OffersEverybodysCredentials(ApprovalGate):
    """Offers the credentials of all users."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        super().eligible_credentials(user, tool)
        wanted = self.class_of(tool)
        return [one for one in credentials(self).find() if self.satisfies_class(one, wanted)]


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="[1-9][0-9]* of the other's")
class ExcludesEverybodysCredentials(ApprovalGate):
    """Lists the credentials of all users in excludeCredentials."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        everybodys = [self.descriptor(one) for one in credentials(self).find()]
        return {**super().creation_options(record), "excludeCredentials": everybodys}


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="a result, tool run")
class TakesAnyonesCredential(ApprovalGate):
    """Looks whether a credential is enrolled, and not by whom."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        if attempt.credential is None:
            claimed = attempt.evidence["response"].get("id")
            attempt.credential = next(
                (
                    replace(one, user=attempt.user)
                    for one in credentials(self).find()
                    if words.base64url_encode(one.credential_id) == claimed
                ),
                None,
            )
        return super().credential_of(attempt)


@mutant(
    kills="sep2672/4.8-04-challenge-known",
    because="a call over the challenge of another use",
    warned=True,
)
class TakesAnyonesChallenge(ApprovalGate):
    """Looks whether a challenge was issued, and not to whom."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            found = challenges(self).find({"challenge_id": attempt.evidence["challengeId"]})
            attempt.challenge = next((replace(one, user=attempt.user) for one in found), None)
        return super().challenge_of(attempt)


@mutant(
    kills="sep2672/4.4.2-challenge-must-match",
    because="approval/enroll/finish by one user over ",
    warned=True,
)
class FinishesAnyonesEnrolment(ApprovalStore):
    """Finds a registration challenge whoever has begun with it."""

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        return self._enrolments.find()


@mutant(kills="sep2672/4.4.2-already-enrolled", because='"success":true')
class LetsAnotherUserTakeACredential(ApprovalGate):
    """Looks for a credential among the user's own, and overwrites the one of somebody else."""

    def check_not_enrolled(self, registration: Registration) -> None:
        pass

    def keep_credential(self, credential: CredentialRecord) -> None:
        known = self.store.credential(credential.credential_id)
        if known is not None and known.user == credential.user:
            raise ApprovalRefusal(Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: got a known one")
        credentials(self).put([credential])


@mutant(kills="sep2672/4.4.2-no-pending", because='"reason":"no_pending_enrollment"')
class ABeginEndsThoseOfOthers(ApprovalGate):
    """Keeps the registration challenges of one user at a time."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).remove_all(lambda kept: (kept.user < user) | (user < kept.user))
        return super().begin_enrolment(user)


@mutant(kills="sep2672/4.10-message", because='"reason":"credential_already_enrolled"')
class NamesTheOwnerOfADuplicate(ApprovalGate):
    """Says who has enrolled the credential that somebody tries to enrol again."""

    def check_not_enrolled(self, registration: Registration) -> None:
        known = self.store.credential(registration.credential_id)
        if known is not None:
            raise ApprovalRefusal(
                Reason.CREDENTIAL_ALREADY_ENROLLED, f"credential: got one of {known.user}"
            )


class _KnowsNoUsers(ApprovalGate):
    """Finds challenges and credentials whoever they belong to."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        found = self.store.challenge(attempt.evidence["challengeId"])
        if attempt.challenge is None and found is not None:
            attempt.challenge = found
        return super().challenge_of(attempt)

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        if attempt.credential is None:
            claimed = dict(attempt.evidence["response"]).get("id")
            known = credentials(self).find()
            attempt.credential = next(
                (one for one in known if words.base64url_encode(one.credential_id) == claimed), None
            )
        return super().credential_of(attempt)


@mutant(
    kills="sep2672/4.8-08-credential-enrolled",
    because="sent by the other user[^§]*a result, tool run",
)
class KnowsNoUsers(_KnowsNoUsers):
    """Takes evidence from whoever sends it: challenge and credential may be anybody's."""


@mutant(
    kills="sep2672/8.2.3-exactly-once",
    because="sent by another user[^§]*a result, tool run",
)
class RemembersUsePerUser(_KnowsNoUsers):
    """Takes evidence from whoever sends it, and remembers for each user what they have used."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        used = (attempt.user, self.challenge_of(attempt).challenge_id)
        if used in self.__dict__.setdefault("_used", set()):
            super().step_05_challenge_unconsumed(attempt)

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        used = (attempt.user, self.challenge_of(attempt).challenge_id)
        self.store.consume_challenge(used[1], self.clock.now())
        self.__dict__.setdefault("_used", set()).add(used)


@mutant(kills="sep2672/4.4.3-no-eligible-credential", because="result .*challengeId")
class CountsEverybodysCredentials(ApprovalGate):
    """Issues challenges as soon as anybody has a credential, and offers the user's own."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        if credentials(self).find() and not self.store.credentials(user):
            return []
        return super().eligible_credentials(user, tool)


class _OneHandle(ApprovalStore):
    def user_handle(self, user: str) -> bytes:
        return super().user_handle("everybody")


@mutant(kills="sep2672/4.4.2-user-handle", because="one and the same for two users", warned=True)
class HasOneHandleForAll(_OneHandle):
    """Gives all users the same user handle."""


@mutant(
    kills="sep2672/4.8-13-consume-after-verify",
    because="of one user, after[^§]*challenge_consumed",
)
class AForgeryEndsEverybodysChallenges(ApprovalGate):
    """Takes a bad signature for an attack, and ends whatever is pending, of all users."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_10_signature(attempt)
        except ApprovalRefusal:
            challenges(self).change_all({"consumed_at": None}, consumed_at=self.clock.now())
            raise


@mutant(kills="sep2672/4.4.1-tracked", because="error -32001")
class KeepsTheLatestRegistrationOfAll(ApprovalGate):
    """Keeps one registration challenge, whoever began last."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).remove_all()
        return super().begin_enrolment(user)


@mutant(
    kills="sep2672/4.4.1-tracked", because="two enrolments of one user.*error -32001", warned=True
)
class KeepsTheLatestRegistrationOfAUser(ApprovalGate):
    """Keeps the latest registration challenge of each user."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).remove_all({"user": user})
        return super().begin_enrolment(user)
