"""Broken servers that one accepted value poisons: from then on honest calls fail for everyone."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.sep2672.vocabulary import base64url_decode
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import CredentialRecord, EnrolmentRecord
from tests.mutants.registry import mutant

RULE = "sep2672/4.4.2-response-verified"


class KeepsWhatItIsTold(ApprovalGate):
    """A gate that keeps the transports of a registration as they came."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._told: dict[bytes, Any] = {}

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        inner = response.get("response")
        told = inner.get("transports") if isinstance(inner, dict) else None
        if isinstance(inner, dict) and not isinstance(told, list):
            response = {**response, "response": {**inner, "transports": []}}
        done = super().finish_enrolment(user, response)
        self._told[base64url_decode(done["credentialId"])] = [] if told is None else told
        return done

    def read_transports(self, user: str) -> None:
        """As a language without types does: it fails when it comes to use the value."""
        for credential in self.store.credentials(user):
            for transport in self._told.get(credential.credential_id, []):
                transport.lower()


@mutant(kills=RULE, because="after this, honest calls fail: approval/challenge/create")
class PoisonedWhenItOffersCredentials(KeepsWhatItIsTold):
    """Keeps transports of any type, and then fails to issue any challenge."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        self.read_transports(user)
        return super().create_challenge(user, tool, arguments)


@mutant(kills=RULE, because="after this, honest calls fail: approval/enroll/begin")
class PoisonedWhenItExcludesCredentials(KeepsWhatItIsTold):
    """Keeps transports of any type, and then fails to begin any enrolment."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        self.read_transports(record.user)
        return super().creation_options(record)


OFFERED = "sep2672/4.4.3-allow-credentials"


@mutant(kills=OFFERED, because=r"with transports 7\n.*\nan entry with transports 7")
class HandsOutWhatItWasTold(KeepsWhatItIsTold):
    """Keeps transports of any type, and hands them out again."""

    def descriptor(self, credential: CredentialRecord) -> dict[str, Any]:
        told = self._told.get(credential.credential_id, list(credential.transports))
        return {**super().descriptor(credential), "transports": told}


@mutant(
    kills=OFFERED, because=r"transports 'internal'\n.*\nan entry with transports \['internal'\]"
)
class TakesANameForAListButNotItsClass(KeepsWhatItIsTold):
    """Takes one name for a list of it, and forgets the class of what it repaired."""

    def satisfies_class(self, credential: CredentialRecord, wanted: Any) -> bool:
        mended = isinstance(self._told.get(credential.credential_id), str)
        return mended or super().satisfies_class(credential, wanted)

    def descriptor(self, credential: CredentialRecord) -> dict[str, Any]:
        told = self._told.get(credential.credential_id)
        usual = super().descriptor(credential)
        return {**usual, "transports": [told]} if isinstance(told, str) else usual
