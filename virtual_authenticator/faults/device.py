"""Faults of the authenticator: its keys, its authenticator data, its signatures."""

from __future__ import annotations

from dataclasses import dataclass

from .. import cbor
from ..algorithms import ALGORITHMS, BY_NAME, Algorithm, PrivateKey, Signer
from ..authenticator_data import AT, AuthenticatorDataDraft, Flags
from .base import CREATE, GET, Fault, FaultError, FaultRun, flip

_EDWARDS, _ELLIPTIC = 1, 2
"""COSE key types of keys on curves."""


@dataclass(frozen=True)
class OtherAlgorithm(Fault):
    """Registers a key of an algorithm that was not offered, or signs with another algorithm."""

    name = "other-algorithm"
    check = "algorithm"
    section = "7.1, alg is one of pubKeyCredParams; 7.2, signature by the credential's algorithm"
    value: str | None = None

    def algorithm(self, chosen: Algorithm, run: FaultRun) -> Algorithm:
        if self.value is not None:
            return BY_NAME[self.value]
        for identifier, candidate in ALGORITHMS.items():
            if identifier not in run.offered and candidate is not chosen:
                return candidate
        raise FaultError("other-algorithm: every algorithm was offered, expected one that was not")

    def signer(self, key: PrivateKey, signer: Signer, run: FaultRun) -> Signer:
        # At registration the key itself is of the other algorithm, and signs as it should.
        if run.ceremony == "create":
            return signer
        assert run.algorithm is not None
        return run.algorithm.another_signer(key)


@dataclass(frozen=True)
class OffCurveKey(Fault):
    """Registers a point that is not on its curve."""

    name = "off-curve-key"
    check = "public key"
    section = "6.5.1.1 and 7.1, the credential public key is a valid key"
    ceremonies = CREATE

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        members = cbor.decode(draft.public_key)
        if members[1] not in (_EDWARDS, _ELLIPTIC):
            raise FaultError("off-curve-key: got a key of another kind, expected one on a curve")
        if members[1] == _ELLIPTIC:  # a changed y leaves x without its partner
            changed = {-3: flip(members[-3], 0)}
        else:  # neither on Ed25519 nor on Ed448 has a point y = 2
            changed = {-2: (2).to_bytes(len(members[-2]), "little")}
        draft.public_key = cbor.encode({**members, **changed})


@dataclass(frozen=True)
class OversizedKey(Fault):
    """Registers coordinates (or a modulus, or a key) that are too long for the key type."""

    name = "oversized-key"
    check = "public key"
    section = "6.5.1.1 and 7.1, the credential public key is a valid key"
    ceremonies = CREATE
    extra: int = 64

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        members = cbor.decode(draft.public_key)
        place = -2 if members[1] in (_EDWARDS, _ELLIPTIC) else -1
        draft.public_key = cbor.encode(
            {**members, place: members[place] + run.entropy.bytes(self.extra)}
        )


# ---- authenticator data

_FLAG_CHECKS = {
    "UP": "user presence",
    "UV": "user verification",
    "BE": "backup eligibility",
    "BS": "backup state",
    "RESERVED_1": "none: reserved flags are to be ignored",
    "RESERVED_5": "none: reserved flags are to be ignored",
}


@dataclass(frozen=True)
class WrongRpIdHash(Fault):
    """Signs for another relying party."""

    name = "wrong-rp-id-hash"
    check = "rpIdHash"
    section = "7.1 and 7.2, rpIdHash is the SHA-256 of the RP ID"

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        draft.rp_id_hash = run.entropy.bytes(32)


@dataclass(frozen=True)
class FlipFlag(Fault):
    """Flips one flag: UP, UV, BE or BS (or a reserved one, see `ReservedBit`)."""

    name = "flip-flag"
    section = "7.1 and 7.2, UP is set, UV is set when required, BS only with BE, BE never changes"
    flag: str = "UV"

    @property
    def check(self) -> str:  # type: ignore[override]  # it depends on the flag
        return _FLAG_CHECKS.get(self.flag, "authenticator data layout")

    def __post_init__(self) -> None:
        if self.flag not in Flags.__members__:
            raise ValueError(
                f"flag: got {self.flag!r}, expected one of {', '.join(Flags.__members__)}"
            )

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.flags ^= Flags[self.flag]


@dataclass(frozen=True)
class ReservedBit(Fault):
    """Sets a flag bit that means nothing yet (1 or 5)."""

    name = "reserved-bit"
    check = "none: reserved flags are to be ignored"
    section = "6.1, bits reserved for future use"
    bit: int = 1

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.flags |= 1 << self.bit


@dataclass(frozen=True)
class WrongCounter(Fault):
    """Shows this counter value, whatever the policy says."""

    name = "wrong-counter"
    check = "signCount"
    section = "7.2, signCount is greater than the stored one unless both are zero"
    value: int = 0

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.sign_count = self.value


@dataclass(frozen=True)
class AttestedDataMissing(Fault):
    """Registers without attested credential data; with `keep_flag` AT still promises it."""

    name = "attested-data-missing"
    check = "attested credential data"
    section = "7.1, the attestation object holds attested credential data"
    ceremonies = CREATE
    keep_flag: bool = False

    def authenticator_bytes(self, data: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        flags = data[32] if self.keep_flag else data[32] & ~AT
        return data[:32] + bytes((flags,)) + data[33:37]


@dataclass(frozen=True)
class AttestedDataExtra(Fault):
    """Asserts with attested credential data, which belongs to registrations."""

    name = "attested-data-extra"
    check = "none: section 7.2 does not ask a relying party to look"
    section = "6.1, AT is not set in assertions"
    ceremonies = GET

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        assert run.credential is not None
        draft.flags |= AT
        draft.aaguid = bytes(16)
        draft.credential_id = run.credential.id
        draft.public_key = run.credential.public_key_bytes()


@dataclass(frozen=True)
class Truncated(Fault):
    """Cuts the last bytes off the authenticator data."""

    name = "truncated"
    check = "authenticator data layout"
    section = "6.1, at least 37 bytes, and whole members"
    count: int = 1

    def authenticator_bytes(self, data: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        return data[: -self.count]


@dataclass(frozen=True)
class Trailing(Fault):
    """Appends bytes to the authenticator data that no flag announces."""

    name = "trailing"
    check = "authenticator data layout"
    section = "6.1, nothing follows what the flags announce"
    data: bytes = b"\x00"

    def authenticator_bytes(self, data: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        return data + self.data


# ---- signature


@dataclass(frozen=True)
class OtherKey(Fault):
    """Signs with a key that was never registered."""

    name = "other-key"
    check = "signature"
    section = "7.2, the signature verifies with the credential public key; 8.2 and 8.6 likewise"

    def signer(self, key: PrivateKey, signer: Signer, run: FaultRun) -> Signer:  # noqa: ARG002
        kind = run.algorithm
        assert kind is not None
        return kind.signer(kind.generate(run.entropy), run.entropy.seeded)


@dataclass(frozen=True)
class SignatureBit(Fault):
    """Flips one bit of the signature (negative: counted from its end)."""

    name = "signature-bit"
    check = "signature"
    section = "7.2, the signature verifies with the credential public key; 8.2 and 8.6 likewise"
    bit: int = -1

    def signature(self, signature: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        return flip(signature, self.bit % (8 * len(signature)))
