"""Servers that do not check what is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
)
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import (
    FindsCredentialsItsWay,
    HashesWhatItMeans,
    challenges,
    with_id,
)

SIGNATURE = "sep2672/4.8-10-signature"
VERIFIED = "sep2672/4.4.2-response-verified"
JCS = "sep2672/4.6-jcs"


class _AsksForWhatIsThere(RelyingParty):
    """Checks the members of client data that are there, of assertions or of registrations."""

    at = "webauthn.get"

    def lacks(self, client_data: Mapping[str, Any], name: str) -> bool:
        return client_data.get("type", self.at) == self.at and not client_data.get(name)


@mutant(kills=SIGNATURE, because="a result, tool run")
class NeedsNoOrigin(_AsksForWhatIsThere):
    """Compares the origin of an assertion where there is one."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not self.lacks(client_data, "origin"):
            super().check_origin(client_data)


@mutant(kills=SIGNATURE, because="a result, tool run")
class NeedsNoType(_AsksForWhatIsThere):
    """Compares the type of an assertion where there is one."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != self.at or not self.lacks(client_data, "type"):
            super().check_type(client_data, expected)


@mutant(kills=SIGNATURE, because="a result, tool run")
class NeedsNoChallenge(_AsksForWhatIsThere):
    """Compares the challenge in an assertion where there is one."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        if not self.lacks(client_data, "challenge"):
            super().check_challenge(client_data, expected)


@mutant(kills=VERIFIED, because="enrolled all the same: origin empty")
class EnrolsWithoutAnOrigin(_AsksForWhatIsThere):
    """Compares the origin of a registration where there is one."""

    at = "webauthn.create"

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not self.lacks(client_data, "origin"):
            super().check_origin(client_data)


@mutant(kills=VERIFIED, because="enrolled all the same: type left out")
class EnrolsWithoutAType(_AsksForWhatIsThere):
    """Compares the type of a registration where there is one."""

    at = "webauthn.create"

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != self.at or not self.lacks(client_data, "type"):
            super().check_type(client_data, expected)


@mutant(
    kills="sep2672/4.4.2-challenge-must-match", because="enrolled all the same: challenge empty"
)
class EnrolsWithoutAChallenge(_AsksForWhatIsThere):
    """Compares the challenge in a registration where there is one."""

    at = "webauthn.create"

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        if not self.lacks(client_data, "challenge"):
            super().check_challenge(client_data, expected)


# ---- evidence


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="id is missing[^§]*a result, tool run")
class TakesRawIdForAMissingId(FindsCredentialsItsWay):
    """Goes by rawId where a response has no id."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        if response.get("id"):
            return None
        return with_id(response.get("rawId"), known)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="id is missing[^§]*a result, tool run")
class TakesTheOnlyCredentialForNone(FindsCredentialsItsWay):
    """Where a response has no id, takes the user's newest credential."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        return None if response.get("id") or not known else known[-1]


@mutant(
    kills="sep2672/4.8-02-evidence-well-formed",
    because="a result, tool run",
)
class TakesTheLatestChallengeForNone(ApprovalGate):
    """Where evidence has no challengeId, takes the latest challenge of the user."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, Mapping) and not attempt.evidence.get("challengeId"):
            for latest in challenges(self).find({"user": attempt.user}, newest=1):
                attempt.evidence = {**attempt.evidence, "challengeId": latest.challenge_id}
        super().step_02_evidence_well_formed(attempt)


# ---- what is left out


@mutant(kills="sep2672/4.4.3-envelope-shape", because="expiresAt: None")
class LeavesOutTheEnd(ApprovalGate):
    """Leaves expiresAt out of a challenge."""

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        told = super().envelope(record, display_text, eligible)
        return {name: value for name, value in told.items() if name != "expiresAt"}


@mutant(kills=JCS, because="the same second half")
class EmptyNamesAreNothing(HashesWhatItMeans):
    """Leaves members out of the hash whose name is empty."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if name}


@mutant(kills=JCS, because="the same second half")
class LeavesPrivateMembersOut(HashesWhatItMeans):
    """Leaves members out of the hash whose name begins with an underscore."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if not name.startswith("_")}
