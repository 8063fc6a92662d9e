"""Servers that look at a part of something and take it for the whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webauthn.helpers.structs import AuthenticatorData

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ROAMING_TRANSPORTS, ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    CredentialRecord,
    EnrolmentRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    Registration,
    RelyingParty,
    VerificationError,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import (
    FindsCredentialsItsWay,
    HashesWhatItMeans,
    WritesArguments,
    credentials,
)

NONCE = "sep2672/4.4.3-nonce-unpredictable"


# ---- what is signed


class _ComparesAPart(RelyingParty):
    """Compares a part of the challenge, at assertions only or at registrations only."""

    at = "webauthn.get"
    part = slice(None)

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if client_data.get("type") != self.at:
            super().check_challenge(client_data, expected)
        elif claimed[self.part] != words.base64url_encode(expected)[self.part]:
            raise VerificationError("challenge: got another")


@mutant(kills="sep2672/4.4.2-challenge-must-match", because='"success":true')
class ComparesHalfOfTheRegistrationChallenge(_ComparesAPart):
    """Compares the first half of a registration challenge."""

    at = "webauthn.create"
    part = slice(0, 22)


# ---- nonces


@mutant(kills=NONCE, because="1 different ones")
class HashesTheTimeForANonce(ApprovalGate):
    """Makes the nonce from a hash of the time in milliseconds, which looks random."""

    def make_nonce(self) -> bytes:
        return hashlib.sha256(self.clock.now().isoformat(timespec="milliseconds").encode()).digest()


# ---- credentials


@mutant(kills="sep2672/4.8-14-counter-updated", because="a result, tool run")
class UpdatesLowCounters(ApprovalGate):
    """Keeps the low 16 bits of a counter after a call."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        super().step_14_update_counter(attempt)
        credential_id = self.credential_of(attempt).credential_id
        credentials(self).change(credential_id, counter=attempt.counter & 0xFFFF)


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="a result, tool run")
class KnowsCredentialsByTheirBeginning(FindsCredentialsItsWay):
    """Looks credentials up by the first 16 bytes of their ids, as a short column holds them."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        try:
            claimed = words.base64url_decode(response.get("id"))
        except ValueError:
            return None
        return next((one for one in known if one.credential_id[:16] == claimed[:16]), None)


@mutant(kills="sep2672/4.4.2-already-enrolled", because='"reason":"credential_already_enrolled"')
class TakesIdsThatBeginAlikeForOne(ApprovalGate):
    """Takes a new credential for an enrolled one if the first 16 bytes of their ids are alike."""

    def check_not_enrolled(self, registration: Registration) -> None:
        beginning = registration.credential_id[:16]
        if any(one.credential_id[:16] == beginning for one in credentials(self).find()):
            raise ApprovalRefusal(Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: got a known one")


@mutant(kills="sep2672/4.4.2-persisted", because="it is not offered")
class KeepsTransportsInAShortColumn(ApprovalGate):
    """Keeps transports as a text of 16 characters at most."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        kept = ",".join(credential.transports)[:16]
        transports = tuple(name for name in kept.split(",") if name)
        super().keep_credential(replace(credential, transports=transports))


@mutant(kills="sep2672/4.4.2-persisted", because="a result, tool run")
class EnrolsLowCounters(ApprovalGate):
    """Keeps the low 16 bits of the counter of a registration."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        super().keep_credential(replace(credential, counter=credential.counter & 0xFFFF))


@mutant(kills="sep2672/4.4.3-allow-credentials", because="[0-9]+ of [0-9]+ missing")
class OffersAPageOfCredentials(ApprovalGate):
    """Offers the first ten credentials of a user: a page of a list."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        return super().eligible_credentials(user, tool)[:10]


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="[0-9]+ of [0-9]+ missing")
class ExcludesAPageOfCredentials(ApprovalGate):
    """Lists the first ten credentials of a user in excludeCredentials: a page of a list."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        return {**options, "excludeCredentials": options["excludeCredentials"][:10]}


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because="it is not offered",
)
class LooksAtTheFirstTransport(ApprovalGate):
    """Goes by the first of a credential's transports."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        if wanted is AuthenticatorClass.PLATFORM:
            return True
        return not ROAMING_TRANSPORTS.isdisjoint(credential.transports[:1])


@mutant(kills="sep2672/4.8-10-signature", because="a result, tool run")
class TakesWhatBeginsWithTheChallenge(RelyingParty):
    """Takes every signed challenge that begins with the issued one."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if len(expected) != 64 or not claimed.startswith(words.base64url_encode(expected)):
            super().check_challenge(client_data, expected)


# ---- arguments

JCS = "sep2672/4.6-jcs"
BOUND = "sep2672/4.8-12-argument-hash"


@mutant(kills=BOUND, because="a result, tool run")
class HashesTheFirstKilobyte(WritesArguments):
    """Hashes the first 1024 bytes of the arguments."""

    def write(self, arguments: Any) -> bytes:
        return super().write(arguments)[:1024]


@mutant(kills=BOUND, because="a result, tool run")
class HashesTextsOfAColumn(HashesWhatItMeans):
    """Hashes the first 255 characters of each text, as many as a column holds."""

    def meant(self, value: Any) -> Any:
        return value[:255] if isinstance(value, str) else value


@mutant(kills=JCS, because="the same second half")
class HashesTenItems(HashesWhatItMeans):
    """Hashes the first ten items of a list."""

    def meant(self, value: Any) -> Any:
        return value[:10] if isinstance(value, list) else value


@mutant(kills=JCS, because="the same second half")
class HashesDownToADepth(WritesArguments):
    """Hashes values down to the third level, and of deeper ones only that they are there."""

    def write(self, arguments: Any) -> bytes:
        return super().write(self.down_to(3, arguments))

    def down_to(self, levels: int, value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        if levels == 0:
            return "[Object]"
        if isinstance(value, list):
            return [self.down_to(levels - 1, one) for one in value]
        return {name: self.down_to(levels - 1, one) for name, one in value.items()}


@mutant(kills=JCS, because="another second half")
class WritesTheNamesOfTheTopOnly(WritesArguments):
    """Writes only members whose names are among those of the arguments themselves, at any depth, as
    JSON.stringify does with a sorted list of names."""

    def write(self, arguments: Any) -> bytes:
        return super().write(self.named(frozenset(arguments), arguments))

    def named(self, names: frozenset[str], value: Any) -> Any:
        if isinstance(value, list):
            return [self.named(names, one) for one in value]
        if isinstance(value, dict):
            return {name: self.named(names, one) for name, one in value.items() if name in names}
        return value


class _ComparesHalfOfTheRelyingParty(RelyingParty):
    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        right = hashlib.sha256(self.id.encode()).digest()
        if data.rp_id_hash[:16] != right[:16]:
            super().check_relying_party_hash(data)


@mutant(kills="sep2672/4.8-10-signature", because="a result, tool run")
class ComparesHalfOfTheRelyingParty(_ComparesHalfOfTheRelyingParty):
    """Compares the first half of the rpIdHash in an assertion."""


@mutant(kills="sep2672/4.4.2-response-verified", because='"success":true')
class EnrolsForHalfOfTheRelyingParty(_ComparesHalfOfTheRelyingParty):
    """Compares the first half of the rpIdHash in a registration."""


@mutant(kills="sep2672/8.1.3-rewritten-call", because="a result, tool run")
class RebuildsTheClientData(RelyingParty):
    """Verifies a signature over the client data that it expects, and not over what was sent."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        expected: bytes = self.__dict__["_expected"]
        super().check_signature(key, signature, signed[:-32] + expected)

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        super().check_challenge(client_data, expected)
        text = (
            f'{{"type":"{client_data["type"]}","challenge":"{client_data["challenge"]}",'
            f'"origin":"{client_data.get("origin")}","crossOrigin":false}}'
        )
        self.__dict__["_expected"] = hashlib.sha256(text.encode()).digest()
