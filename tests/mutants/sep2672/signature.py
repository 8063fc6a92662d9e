"""Servers that verify signatures and counters wrongly: section 4.8, steps 10 and 11."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from webauthn.helpers.structs import AuthenticatorData

from pytest_mcp_approval.families.sep2672.vocabulary import (
    Reason,
    base64url_decode,
    base64url_encode,
)
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, CredentialRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
    VerificationError,
)
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant

SIGNATURE = "sep2672/4.8-10-signature"
COUNTER = "sep2672/4.8-11-counter"


# ---- step 10


@mutant(kills=SIGNATURE, because="first bit of the signature[^§]*tool run")
class NeverVerifiesSignatures(RelyingParty):
    """Does not verify the signature at all."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        pass


@mutant(
    kills=SIGNATURE,
    because=r"backup eligibility \(BE\) gained since enrolment: a result",
    warned=True,
)
class ForgetsWhatCouldBeBackedUp(RelyingParty):
    """Looks whether the two flags of a backup fit each other, and not what they were before."""

    def check_backup_flags(self, data: AuthenticatorData, key: CredentialRecord | None) -> None:
        super().check_backup_flags(data, None)


@mutant(
    kills=SIGNATURE, because="honest assertion with a member more in the client data", warned=True
)
class ComparesWithATemplate(RelyingParty):
    """Knows all members that client data of an assertion can have."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        super().check_type(client_data, expected)
        known = {"type", "challenge", "origin", "crossOrigin", "topOrigin"}
        if expected == "webauthn.get" and client_data.keys() - known:
            raise VerificationError("client data: got a member that is not known here")


@mutant(kills=SIGNATURE, because="last bit of the signature[^§]*tool run")
class ForgivesABit(RelyingParty):
    """Takes a signature whose last bit is wrong, as one that ignores the last byte does."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        try:
            super().check_signature(key, signature, signed)
        except VerificationError:
            flipped = signature[:-1] + bytes((signature[-1] ^ 1,))
            super().check_signature(key, flipped, signed)


@mutant(kills=SIGNATURE, because="signed by another key[^§]*tool run")
class LooksAtTheFormOfSignaturesOnly(RelyingParty):
    """Looks whether a signature is shaped like one, not whose it is."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if signature[:1] != b"\x30":
            super().check_signature(key, signature, signed)


@mutant(kills=SIGNATURE, because="in the name of another[^§]*tool run")
class TakesAnyEnrolledKey(ApprovalGate):
    """Takes a signature by any enrolled key, whichever credential is named."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        inner = attempt.evidence["response"]
        named, last = attempt.credential, None
        for credential in self.store.credentials(attempt.user):
            own = base64url_encode(credential.credential_id)
            attempt.evidence = {
                **attempt.evidence,
                "response": {**inner, "id": own, "rawId": own},
            }
            attempt.credential = credential
            try:
                super().step_10_signature(attempt)
            except ApprovalRefusal as refusal:
                last = refusal
            else:
                attempt.credential = named
                return
        if last is not None:
            raise last


@mutant(kills=SIGNATURE, because="another challenge signed[^§]*tool run")
class NeverComparesTheChallenge(RelyingParty):
    """Does not compare the challenge in the client data."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        pass


@mutant(kills=SIGNATURE, because="differs in the nonce alone[^§]*tool run")
class ComparesTheHashHalfOnly(RelyingParty):
    """Compares the action hash of the signed challenge and not its nonce."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = base64url_decode(client_data.get("challenge"))
        if len(expected) != 64 or claimed[32:] != expected[32:]:
            super().check_challenge(client_data, expected)


@mutant(kills=SIGNATURE, because="differs in the action hash alone[^§]*tool run")
class ComparesTheNonceHalfOnly(RelyingParty):
    """Compares the nonce of the signed challenge and not its action hash."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = base64url_decode(client_data.get("challenge"))
        if len(expected) != 64 or claimed[:32] != expected[:32]:
            super().check_challenge(client_data, expected)


@mutant(kills=SIGNATURE, because="origin https://attacker.example[^§]*tool run")
class NeverComparesTheOrigin(RelyingParty):
    """Does not compare the origin."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        pass


@mutant(kills=SIGNATURE, because=r"origin http://localhost\.attacker\.example[^§]*tool run")
class ComparesTheBeginningOfTheOrigin(RelyingParty):
    """Takes every origin that begins like the right one."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not str(client_data.get("origin")).startswith(self.origins):
            super().check_origin(client_data)


@mutant(kills=SIGNATURE, because="rpIdHash of another party[^§]*tool run")
class NeverComparesTheRelyingParty(RelyingParty):
    """Does not compare the hash of the RP ID."""

    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        pass


@mutant(kills=SIGNATURE, because="type webauthn.create[^§]*tool run")
class NeverComparesTheType(RelyingParty):
    """Does not look whether the client data is of an assertion."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        pass


@mutant(kills=SIGNATURE, because=r"\(UP\) clear[^§]*tool run")
class NeverLooksForPresence(RelyingParty):
    """Does not look at the UP flag."""

    def check_user_present(self, data: AuthenticatorData) -> None:
        pass


@mutant(kills=SIGNATURE, because=r"\(UV\) clear[^§]*tool run")
class NeverLooksForVerification(RelyingParty):
    """Does not look at the UV flag."""

    def check_user_verified(self, data: AuthenticatorData) -> None:
        pass


@mutant(kills=SIGNATURE, because="crossOrigin true[^§]*tool run", warned=True)
class AllowsFraming(RelyingParty):
    """Takes assertions of framed pages."""

    def check_cross_origin(self, client_data: Mapping[str, Any]) -> None:
        pass


@mutant(kills=SIGNATURE, because="authenticatorData one byte short[^§]*tool run")
class ReadsShortAuthenticatorData(RelyingParty):
    """Reads authenticator data that is cut short as if zeros followed."""

    def _verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> int:
        inner = response["response"]
        data = base64url_decode(inner["authenticatorData"])
        if not 33 <= len(data) < 37:
            return super()._verify_assertion(response, challenge, key)
        client_data = hashlib.sha256(base64url_decode(inner["clientDataJSON"])).digest()
        self.check_signature(key, base64url_decode(inner["signature"]), data + client_data)
        return int.from_bytes(data[33:].ljust(4, b"\0"))


# ---- step 11


class _OwnCounterRule(ApprovalGate):
    """Steps 11 and 14 by another rule than the SEP's."""

    def good(self, counter: int, stored: int) -> bool:
        raise NotImplementedError

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        if not self.good(attempt.counter, self.credential_of(attempt).counter):
            raise ApprovalRefusal(Reason.SIGNATURE_COUNTER_REGRESSION, "signCount: refused")

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        set_counter(self.store, self.credential_of(attempt).credential_id, attempt.counter)


@mutant(kills=COUNTER, because=r"signCount 5 \(stored 5\)[^§]*tool run")
class TakesEqualCounters(_OwnCounterRule):
    """Off by one: an equal counter is good enough."""

    def good(self, counter: int, stored: int) -> bool:
        return counter >= stored


@mutant(kills=COUNTER, because=r"signCount 0 \(stored 5\)[^§]*tool run")
class TakesZeroAlways(_OwnCounterRule):
    """Takes a counter of zero for a synced passkey, whatever was stored."""

    def good(self, counter: int, stored: int) -> bool:
        return counter == 0 or stored == 0 or counter > stored


@mutant(kills=COUNTER, because=r"signCount 0 \(stored 0\)[^§]*signature_counter_regression")
class RefusesZero(_OwnCounterRule):
    """Wants a higher counter even where zero is stored."""

    def good(self, counter: int, stored: int) -> bool:
        return counter > stored


@mutant(kills=COUNTER, because=r"signCount 4 \(stored 5\)[^§]*tool run")
class NeverComparesCounters(_OwnCounterRule):
    """Does not look at counters."""

    def good(self, counter: int, stored: int) -> bool:
        return True


@mutant(kills=COUNTER, because=r"signCount 7 \(stored 0\)[^§]*signature_counter_regression")
class WantsZeroForEver(_OwnCounterRule):
    """Takes a credential that began at zero for one without a counter, for ever."""

    def good(self, counter: int, stored: int) -> bool:
        return counter == 0 if stored == 0 else counter > stored


@mutant(kills=COUNTER, because=r"\(stored 7\)[^§]*tool run")
class NeverSwitchesOn(_OwnCounterRule):
    """Does not check counters of a credential that began at zero."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        if self.credential_of(attempt).counter > 0:
            super().step_14_update_counter(attempt)

    def good(self, counter: int, stored: int) -> bool:
        return stored == 0 or counter > stored


@mutant(kills=COUNTER, because=r"signCount 0 \(stored 4294967295\)[^§]*tool run")
class ForgivesAWrap(_OwnCounterRule):
    """Takes a fall from the top of 32 bits for an overflow."""

    def good(self, counter: int, stored: int) -> bool:
        wrapped = stored > 2**32 - 1000 and counter < 1000
        return stored == 0 or wrapped or counter > stored


@mutant(kills=COUNTER, because=r"signCount 2147483648 \(stored 2147483647\)[^§]*regression")
class CountsWithASign(_OwnCounterRule):
    """Keeps counters as signed 32-bit numbers."""

    def good(self, counter: int, stored: int) -> bool:
        signed = [value - 2**32 if value >= 2**31 else value for value in (counter, stored)]
        return signed[1] == 0 or signed[0] > signed[1]


@mutant(kills=COUNTER, because="5000 of another credential[^§]*regression")
class CountsForAllCredentials(_OwnCounterRule):
    """Measures every credential by the highest counter of all."""

    def good(self, counter: int, stored: int) -> bool:
        highest = max(record.counter for record in self.store._credentials.find())
        return highest == 0 or counter > highest
