"""Broken servers for section 4.4.2: what is not looked at in a registration."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from webauthn.helpers import (
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
    encode_cbor,
    parse_attestation_object,
    parse_cbor,
)
from webauthn.helpers.decode_credential_public_key import DecodedEC2PublicKey
from webauthn.helpers.structs import AttestationObject, AuthenticatorData

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.public_keys import ES256, RS256, algorithm_of
from pytest_mcp_approval.reference_server.sep2672.records import EnrolmentRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import (
    ApprovalRefusal,
)
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    MAXIMUM_CREDENTIAL_ID,
    Registration,
    RelyingParty,
    VerificationError,
)
from tests.mutants.registry import mutant

# ---- section 4.4.2: the registration


@mutant(
    kills="sep2672/4.4.2-challenge-must-match",
    because=r'another challenge \(random\)[^§]*"success":true',
)
class DoesNotCompareTheChallenge(RelyingParty):
    """Does not compare the challenge in a response."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        pass


@mutant(kills="sep2672/4.4.2-challenge-must-match", because='other-letter-case[^§]*"success":true')
class FoldsTheChallenge(RelyingParty):
    """Compares challenges without regard to letter case."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if claimed.lower() != words.base64url_encode(expected).lower():
            super().check_challenge(client_data, expected)


@mutant(kills="sep2672/4.4.2-challenge-must-match", because='a-beginning-of-it[^§]*"success":true')
class ComparesTheBeginning(RelyingParty):
    """Compares challenges only as far as the given one goes."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if len(claimed) < 8 or not words.base64url_encode(expected).startswith(claimed[:-1]):
            super().check_challenge(client_data, expected)


class LaxAtRegistration(RelyingParty):
    """A relying party that leaves checks out of registrations, and makes all of them later."""

    registering = threading.local()

    def _verify_registration(self, response: Any, challenge: bytes) -> Registration:
        self.registering.now = True
        try:
            return super()._verify_registration(response, challenge)
        finally:
            self.registering.now = False

    @property
    def lax(self) -> bool:
        return getattr(self.registering, "now", False)


@mutant(kills="sep2672/4.4.2-uv-asserted", because='flag UV clear[^§]*"success":true')
class DoesNotLookAtUserVerification(LaxAtRegistration):
    """Does not look at the UV flag of a registration."""

    def check_user_verified(self, data: AuthenticatorData) -> None:
        if not self.lax:
            super().check_user_verified(data)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="origin 'https://attacker.example'[^§]*\"success\":true",
)
class DoesNotCompareTheOrigin(LaxAtRegistration):
    """Does not compare the origin of a registration."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not self.lax:
            super().check_origin(client_data)


@mutant(
    kills="sep2672/4.4.2-response-verified", because='localhost.attacker.example[^§]*"success":true'
)
class EnrolsFromOriginsThatBeginAlike(LaxAtRegistration):
    """Takes every origin that begins like its own."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not str(client_data.get("origin")).startswith(self.origins):
            super().check_origin(client_data)


@mutant(kills="sep2672/4.4.2-response-verified", because='attacker-localhost[^§]*"success":true')
class EnrolsFromOriginsThatEndAlike(LaxAtRegistration):
    """Takes every origin that ends like its RP ID."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not str(client_data.get("origin")).endswith(self.id):
            super().check_origin(client_data)


@mutant(kills="sep2672/4.4.2-response-verified", because='wrong-rp-id-hash[^§]*"success":true')
class DoesNotCompareTheRelyingParty(LaxAtRegistration):
    """Does not compare the rpIdHash of a registration."""

    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        if not self.lax:
            super().check_relying_party_hash(data)


@mutant(kills="sep2672/4.4.2-response-verified", because='fault wrong-type[^§]*"success":true')
class DoesNotLookAtTheType(LaxAtRegistration):
    """Takes client data of a sign-in for a registration."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if not self.lax:
            super().check_type(client_data, expected)


@mutant(kills="sep2672/4.4.2-response-verified", because='user presence[^§]*"success":true')
class DoesNotLookAtUserPresence(LaxAtRegistration):
    """Does not look at the UP flag of a registration."""

    def check_user_present(self, data: AuthenticatorData) -> None:
        if not self.lax:
            super().check_user_present(data)


@mutant(kills="sep2672/4.4.2-response-verified", because='attested-data-missing[^§]*"success":true')
class BelievesTheUnattested(LaxAtRegistration):
    """Takes id and key from beside the attestation object where that holds none."""

    def _verify_registration(self, response: Any, challenge: bytes) -> Registration:
        try:
            return super()._verify_registration(response, challenge)
        except VerificationError as error:
            if "attested credential data: got none" not in str(error):
                raise
        claimed = words.base64url_decode(response["id"])
        return Registration(claimed, b"", 0, ("usb",), False)


class Mends(RelyingParty):
    """A relying party that repairs what was cut, and does not look at the key that comes of it."""

    def check_attestation_object(self, encoded: bytes) -> AttestationObject:
        for missing in range(200):
            with suppress(Exception):
                return parse_attestation_object(self.mended(encoded, bytes(missing)))
        return super().check_attestation_object(encoded)

    def check_public_key(self, public_key: bytes) -> None:
        pass

    def mended(self, encoded: bytes, zeros: bytes) -> bytes:
        raise NotImplementedError


@mutant(kills="sep2672/4.4.2-response-verified", because='fault truncated[^§]*"success":true')
class MendsCutAuthenticatorData(Mends):
    """Fills authenticator data that was cut with zeros until it can be read."""

    def mended(self, encoded: bytes, zeros: bytes) -> bytes:
        members = parse_cbor(encoded)
        return encode_cbor({**members, "authData": members["authData"] + zeros})


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because='attestationObject without its last[^§]*"success":true',
)
class MendsCutCbor(Mends):
    """Fills an attestation object that was cut with zeros until it can be read."""

    def mended(self, encoded: bytes, zeros: bytes) -> bytes:
        return encoded + zeros

    def check_attestation_statement(self, attestation: AttestationObject, *rest: bytes) -> None:
        if attestation.fmt != "none":
            super().check_attestation_statement(attestation, *rest)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because='attestation packed-self, fault signature-bit[^§]*"success":true',
)
class WaivesTheSignature(RelyingParty):
    """Takes 'none' for leave to check no attestation at all."""

    def check_attestation_statement(self, *_: Any) -> None:
        pass


@mutant(kills="sep2672/4.4.2-response-verified", because='fault broken-x5c[^§]*"success":true')
class WaivesTheCertificate(RelyingParty):
    """Checks self-attestation, and no statement that comes with a certificate."""

    def check_attestation_statement(
        self, attestation: AttestationObject, encoded: bytes, client_data: bytes
    ) -> None:
        if not attestation.att_stmt.x5c:
            super().check_attestation_statement(attestation, encoded, client_data)


@mutant(kills="sep2672/4.4.2-response-verified", because='fault off-curve-key[^§]*"success":true')
class DoesNotLookAtTheKey(RelyingParty):
    """Keeps a public key without loading it."""

    def check_public_key(self, public_key: bytes) -> None:
        pass


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because='ES384, fault off-curve-key[^§]*"success":true',
)
class LooksAtTheUsualCurve(RelyingParty):
    """Loads keys of the curve that nearly all authenticators use; keeps others as they come."""

    def check_public_key(self, public_key: bytes) -> None:
        if algorithm_of(public_key) == ES256:
            super().check_public_key(public_key)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="key of P-384 under the name of ES256: accepted",
    warned=True,
)
class TakesAPointOfAnyCurve(RelyingParty):
    """Asks whether a point is on the curve that it names, not whether that curve is the one."""

    def check_public_key(self, public_key: bytes) -> None:
        decoded = decode_credential_public_key(public_key)
        try:
            decoded_public_key_to_cryptography(decoded)
        except Exception as error:
            raise VerificationError("public key: got no valid key") from error
        if not isinstance(decoded, DecodedEC2PublicKey):
            super().check_public_key(public_key)


@mutant(kills="sep2672/4.4.2-response-verified", because="EdDSA key that is no", warned=True)
class TakesAny32BytesForAKey(RelyingParty):
    """Asks for Ed25519, and keeps a public key without looking whether it is a point."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **{**options, "algorithms": [-8]})

    def check_public_key(self, public_key: bytes) -> None:
        pass


@mutant(kills="sep2672/4.4.2-response-verified", because='fault other-algorithm[^§]*"success":true')
class TakesEveryAlgorithm(RelyingParty):
    """Takes keys of algorithms that it did not offer."""

    def check_algorithm(self, public_key: bytes) -> None:
        pass

    def check_public_key(self, public_key: bytes) -> None:
        pass


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="honest, with a member more in the client data[^§]*-32001",
    warned=True,
)
class KnowsAllMembers(RelyingParty):
    """Compares the client data with a template."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        super().check_type(client_data, expected)
        if client_data.keys() - {"type", "challenge", "origin", "crossOrigin", "topOrigin"}:
            raise VerificationError("client data: got a member that is not known here")


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="honest, with client data without crossOrigin[^§]*-32001",
    warned=True,
)
class WantsToHearOfFrames(RelyingParty):
    """Takes the silence of an older client for a frame."""

    def check_cross_origin(self, client_data: Mapping[str, Any]) -> None:
        super().check_cross_origin({"crossOrigin": True, **client_data})


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="credential id of 1024 bytes[^§]*success",
    warned=True,
)
class TakesIdsOfAnyLength(RelyingParty):
    """Keeps an id however long it is."""

    def check_credential_id(self, response: Mapping[str, Any], expected: bytes) -> None:
        if len(expected) <= MAXIMUM_CREDENTIAL_ID:
            super().check_credential_id(response, expected)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="credential id of 1023 bytes[^§]*-32001",
    warned=True,
)
class HasAColumnForIds(RelyingParty):
    """Has room for 255 bytes of an id."""

    def check_credential_id(self, response: Mapping[str, Any], expected: bytes) -> None:
        super().check_credential_id(response, expected)
        if len(expected) > 255:
            raise VerificationError("credential id: got one that is too long for its column")


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="not those of the attested credential[^§]*its id among excludeCredentials",
)
class BelievesTheId(ApprovalGate):
    """Keeps a credential under the id that the page wrote."""

    def verify_registration(self, response: Any, pending: EnrolmentRecord) -> Registration:
        inner = words.base64url_decode(response["response"]["attestationObject"])
        attested = parse_attestation_object(inner).auth_data.attested_credential_data
        claimed, true = response["id"], response["id"]
        if attested is not None:
            true = words.base64url_encode(attested.credential_id)
        honest = {**response, "id": true, "rawId": true}
        found = super().verify_registration(honest, pending)
        return replace(found, credential_id=words.base64url_decode(claimed))


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because='response.clientDataJSON.*absent[^§]*"success":true',
)
class TakesRegistrationsWithoutClientData(ApprovalGate):
    """Skips what it cannot find: a registration without client data passes."""

    def verify_registration(self, response: Any, pending: EnrolmentRecord) -> Registration:
        if "clientDataJSON" in response.get("response", {"clientDataJSON": None}):
            return super().verify_registration(response, pending)
        return Registration(words.base64url_decode(response["id"]), b"", 0, (), False)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because='an honest enrolment, after[^§]*"reason":"verification_failed"',
)
class DiesOfNonsense(ApprovalGate):
    """Enrols nobody any more once it has met CBOR that it cannot read."""

    dead = False

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            parse_cbor(words.base64url_decode(response["response"]["attestationObject"]))
        except Exception:
            self.dead = True
        if self.dead:
            raise ApprovalRefusal(Reason.VERIFICATION_FAILED, "out of order")
        return super().finish_enrolment(user, response)


@mutant(
    kills="sep2672/4.4.2-persisted",
    because="RS256, which pubKeyCredParams offers[^§]*verification_failed",
)
class OffersWhatItDoesNotTake(RelyingParty):
    """Offers RSA keys at registration, and has never learned to read one."""

    def check_algorithm(self, public_key: bytes) -> None:
        super().check_algorithm(public_key)
        if algorithm_of(public_key) == RS256:
            raise VerificationError("algorithm: got RS256, expected another one")
