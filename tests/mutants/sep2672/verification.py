"""Servers that look wrongly at challenges, credentials and arguments: 4.8, steps 4 to 9 and 12."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import (
    ApprovalRefusal,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import known_members

# ---- step 4


@mutant(kills="sep2672/4.8-04-challenge-known", because="unissued challengeId[^§]*expired")
class CallsUnknownChallengesExpired(ApprovalGate):
    """Says challenge_expired of a challenge that it does not know."""

    def step_04_challenge_known(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_04_challenge_known(attempt)
        except ApprovalRefusal as refusal:
            raise ApprovalRefusal(Reason.CHALLENGE_EXPIRED, refusal.message) from refusal


@mutant(kills="sep2672/4.8-04-challenge-known", because="cut short[^§]*tool run")
class FindsChallengesByTheirBeginning(ApprovalGate):
    """Looks a challenge up by the beginning of its id, as with LIKE."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        claimed = attempt.evidence.get("challengeId")
        for known in [one.challenge_id for one in self.store._challenges.find()]:
            if claimed and known.startswith(claimed):
                attempt.evidence = {**attempt.evidence, "challengeId": known}
        return super().challenge_of(attempt)


@mutant(kills="sep2672/4.8-04-challenge-known", because="unissued challengeId, a quote[^§]*-32603")
class TripsOverOddChallengeIds(ApprovalGate):
    """Builds its query from the id: a quote is an internal error."""

    def step_04_challenge_known(self, attempt: ApprovalAttempt) -> None:
        if "'" in attempt.evidence["challengeId"]:
            raise RuntimeError("near OR: syntax error")
        super().step_04_challenge_known(attempt)


# ---- step 5


@mutant(kills="sep2672/4.8-05-challenge-unconsumed", because="icloud-keychain[^§]*tool run")
class AcceptsReplays(ApprovalGate):
    """Never asks whether a challenge was used."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        pass

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills="sep2672/4.8-05-challenge-unconsumed", because="used challenge[^§]*challenge_expired")
class CallsUsedChallengesExpired(ApprovalGate):
    """Says challenge_expired of a used challenge."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_05_challenge_unconsumed(attempt)
        except ApprovalRefusal as refusal:
            raise ApprovalRefusal(Reason.CHALLENGE_EXPIRED, refusal.message) from refusal


@mutant(kills="sep2672/4.8-05-challenge-unconsumed", because="used challenge[^§]*challenge_unknown")
class DropsWhatWasUsed(ApprovalGate):
    """Throws a challenge away when it was used, and knows nothing of it any more."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        if self.challenge_of(attempt).consumed_at is not None:
            raise ApprovalRefusal(Reason.CHALLENGE_UNKNOWN, "no such challenge")


@mutant(
    kills="sep2672/4.8-05-challenge-unconsumed",
    because="1 s before the challenge expires[^§]*challenge_unknown",
    warned=True,
)
class DropsWhatWasUsedSomeTimeAgo(ApprovalGate):
    """Keeps a used challenge for ten seconds more."""

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        used_at = self.challenge_of(attempt).consumed_at
        if used_at is not None and self.clock.now() - used_at > datetime.timedelta(seconds=10):
            raise ApprovalRefusal(Reason.CHALLENGE_UNKNOWN, "no such challenge")
        super().step_05_challenge_unconsumed(attempt)


@mutant(
    kills="sep2672/4.8-05-challenge-unconsumed",
    because="s after the challenge expired[^§]*a result, tool run",
)
class ForgetsUseAndExpiryAfterADay(ApprovalGate):
    """Takes a used challenge for a fresh one a day later."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        record = super().challenge_of(attempt)
        if self.clock.now() - record.expires_at > datetime.timedelta(days=1):
            far = self.clock.now() + datetime.timedelta(days=1)
            attempt.challenge = replace(record, consumed_at=None, expires_at=far)
        return attempt.challenge or record

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        self.store.consume_challenge(self.challenge_of(attempt).challenge_id, self.clock.now())


# ---- step 6


class _Grace(ApprovalGate):
    def late(self) -> datetime.datetime:
        raise NotImplementedError

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        if not self.late() <= self.challenge_of(attempt).expires_at:
            super().step_06_challenge_unexpired(attempt)


@mutant(kills="sep2672/4.8-06-challenge-unexpired", because="honest but 0 s after[^§]*tool run")
class GoodAtTheVeryInstant(_Grace):
    """Expires after expiresAt, not at it."""

    def late(self) -> datetime.datetime:
        return self.clock.now()


@mutant(kills="sep2672/4.8-06-challenge-unexpired", because="honest but 29 s after[^§]*tool run")
class GivesGrace(_Grace):
    """Allows thirty seconds of clock skew."""

    def late(self) -> datetime.datetime:
        return self.clock.now() - datetime.timedelta(seconds=30)


class _ForgetsWhatExpired(ApprovalGate):
    """Forgets a challenge this long after it expired."""

    seconds: float

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        kept = datetime.timedelta(seconds=self.seconds)
        if self.clock.now() >= self.challenge_of(attempt).expires_at + kept:
            raise ApprovalRefusal(Reason.CHALLENGE_UNKNOWN, "no such challenge")
        super().step_06_challenge_unexpired(attempt)


@mutant(kills="sep2672/4.8-06-challenge-unexpired", because="honest but 0 s after[^§]*_unknown")
class DropsWhatExpires(_ForgetsWhatExpired):
    """Says that a challenge that has just expired never existed."""

    seconds = 0


@mutant(
    kills="sep2672/4.8-06-challenge-unexpired",
    because="honest but 29 s after[^§]*challenge_unknown",
    warned=True,
)
class DropsWhatExpiredSomeTimeAgo(_ForgetsWhatExpired):
    """Keeps an expired challenge for ten seconds more."""

    seconds = 10


@mutant(kills="sep2672/4.8-06-challenge-unexpired", because="1 s before expiresAt[^§]*expired")
class ExpiresEarly(ApprovalGate):
    """Refuses a challenge in its last five seconds."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        record = self.challenge_of(attempt)
        sooner = record.expires_at - datetime.timedelta(seconds=5)
        attempt.challenge = replace(record, expires_at=sooner)
        super().step_06_challenge_unexpired(attempt)


# ---- step 7


@mutant(kills="sep2672/4.8-07-challenge-tool", because="with an approval for[^§]*argument_hash")
class NeverComparesTheTool(ApprovalGate):
    """Does not look which tool a challenge is for."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills="sep2672/4.8-07-challenge-tool", because="with an approval for[^§]*tool run")
class HashesTheToolOfTheChallenge(ApprovalGate):
    """Takes the tool from the challenge, also for the hash."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        attempt.tool = self.tools[self.challenge_of(attempt).tool]


# ---- step 8


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="brings its public key[^§]*tool run")
class BelievesTheKeyInTheRequest(ApprovalGate):
    """Verifies an unknown credential with the key that the request brings along."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        try:
            return super().credential_of(attempt)
        except ApprovalRefusal:
            inner = attempt.evidence["response"]["response"]
            data = words.base64url_decode(inner.get("authenticatorData"))
            if not data[32] & 0x40:
                raise
            length = int.from_bytes(data[53:55])
            attempt.credential = CredentialRecord(
                credential_id=data[55 : 55 + length],
                user=attempt.user,
                user_handle=self.store.user_handle(attempt.user),
                public_key=data[55 + length :],
                counter=0,
                transports=("usb",),
                backup_eligible=False,
                created_at=self.clock.now(),
            )
            return attempt.credential

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        self.store.advance_counter(self.credential_of(attempt).credential_id, attempt.counter)


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="never enrolled[^§]*signature_verif")
class CallsUnknownCredentialsBadSignatures(ApprovalGate):
    """Says signature_verification_failed of a credential that it does not know."""

    def step_08_credential_enrolled(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_08_credential_enrolled(attempt)
        except ApprovalRefusal as refusal:
            raise ApprovalRefusal(
                Reason.SIGNATURE_VERIFICATION_FAILED, refusal.message
            ) from refusal


# ---- step 9


@mutant(kills="sep2672/4.8-09-class", because=r"\['internal'\] credential[^§]*tool run")
class FiltersAtIssueOnly(ApprovalGate):
    """Looks at the class when a challenge is issued, and not when it is answered."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills="sep2672/4.8-09-class", because=r"transfer_funds, signed by[^§]*tool run")
class FiltersNamedClassesOnly(ApprovalGate):
    """Looks at the class only where the tool names one."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        if attempt.tool.authenticator_class is not None:
            super().step_09_authenticator_class(attempt)


# ---- step 12


@mutant(kills="sep2672/4.8-12-argument-hash", because=r"\(a member removed\)[^§]*tool run")
class ComparesTheHashWithItself(ApprovalGate):
    """Compares the hash of the challenge with itself."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills="sep2672/4.8-12-argument-hash", because=r"\(a null member added\)[^§]*tool run")
class DropsNulls(ApprovalGate):
    """Drops members that are null before it hashes."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        kept = {name: value for name, value in arguments.items() if value is not None}
        return super().hash_of(tool, kept, server_id)


@mutant(kills="sep2672/4.8-12-argument-hash", because=r"\(numbers as text\)[^§]*tool run")
class HashesTexts(ApprovalGate):
    """Turns every value into text before it hashes."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        texts = {name: str(value) for name, value in arguments.items()}
        return super().hash_of(tool, texts, server_id)


@mutant(kills="sep2672/4.8-12-argument-hash", because=r"\(a member deep inside\)[^§]*tool run")
class HashesKnownMembersOnly(ApprovalGate):
    """Hashes the members that the schema knows, and lets others pass."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, known_members(tool, arguments), server_id)


@mutant(
    kills="sep2672/4.8-12-argument-hash",
    because="arguments with members in the opposite order[^§]*argument_hash_mismatch",
)
class HashesTheTextAsSent(ApprovalGate):
    """Hashes the arguments in the order in which they were sent."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, json.dumps(arguments), server_id)
