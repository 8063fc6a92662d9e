"""What an authenticator, a client or an attacker can get wrong, one class a fault.

A fault changes one thing and leaves the rest whole: what comes before the signature is signed over,
so that just the check that it names should fail. Faults compose: give several to one ceremony. Each
can be written as data (`to_json`) and read back (`fault`). A fault that finds nothing to change is
an error of the test, never silently no fault.

The hooks stand in the order in which a ceremony reaches them.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from . import cbor
from .algorithms import ALGORITHMS, BY_NAME, Algorithm, PrivateKey, Signer, algorithm_of
from .authenticator_data import AT, AuthenticatorDataDraft, Flags
from .certificates import AttestationAuthority, AttestationIdentity
from .encoding import base64url_encode
from .entropy import Entropy

if TYPE_CHECKING:
    from .client_data import ClientDataDraft
    from .credentials import Credential

BOTH = ("create", "get")
CREATE = ("create",)
GET = ("get",)


class FaultError(ValueError):
    """A fault was asked for where it cannot be: the message says what it needs."""


@dataclass(frozen=True)
class Fault:
    """Base of all faults."""

    name: ClassVar[str]
    check: ClassVar[str]
    """The check of a relying party that should fail."""
    section: ClassVar[str]
    """Where WebAuthn Level 3 asks for that check."""
    ceremonies: ClassVar[tuple[str, ...]] = BOTH

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        """Change the client data before it is hashed."""

    def algorithm(self, chosen: Algorithm, run: FaultRun) -> Algorithm:  # noqa: ARG002
        """Choose another algorithm for the new credential."""
        return chosen

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        """Change the authenticator data before it is bytes."""

    def authenticator_bytes(self, data: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        """Change the bytes that are signed."""
        return data

    def identity(self, identity: AttestationIdentity, run: FaultRun) -> AttestationIdentity:  # noqa: ARG002
        """Change the attestation key or its certificates."""
        return identity

    def signer(self, key: PrivateKey, signer: Signer, run: FaultRun) -> Signer:  # noqa: ARG002
        """Sign in another way."""
        return signer

    def signature(self, signature: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        """Change the signature."""
        return signature

    def attestation_pairs(self, pairs: list[tuple[bytes, bytes]], run: FaultRun) -> None:
        """Change the encoded members of the attestation object."""

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:  # noqa: ARG002
        """Change what the page sends to the relying party."""
        return response

    def to_json(self) -> dict[str, Any]:
        members = {
            name: {"hex": value.hex()} if isinstance(value, bytes) else value
            for name, value in asdict(self).items()
        }
        return {"fault": self.name, **members}


@dataclass(slots=True)
class FaultRun:
    """The faults of one ceremony: hands each stage those that act there, and keeps the tally."""

    faults: tuple[Fault, ...]
    ceremony: str
    entropy: Entropy
    credential: Credential | None = None
    offered: tuple[int, ...] = ()
    previous: dict[str, Any] | None = None
    applied: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for one in self.faults:
            if self.ceremony not in one.ceremonies:
                raise FaultError(f"{one.name}: got {self.ceremony}, expected {one.ceremonies[0]}")

    def at(self, stage: str) -> Iterator[Any]:
        for position, one in enumerate(self.faults):
            if getattr(type(one), stage) is not getattr(Fault, stage):
                self.applied.add(position)
                yield one

    def close(self) -> None:
        """Every fault must have had its say."""
        for position, one in enumerate(self.faults):
            if position not in self.applied:
                raise FaultError(
                    f"{one.name}: found nothing to change in this {self.ceremony}; {_needs(one)}"
                )


def _needs(one: Fault) -> str:
    if type(one).identity is not Fault.identity:
        return "it needs attestation 'direct' and a profile that attests with certificates"
    if type(one).client_data is not Fault.client_data or type(one).response is not Fault.response:
        return "it belongs to the client, not to CTAP"
    return "it needs an attestation that is signed"


# ---- what the client collects


@dataclass(frozen=True)
class WrongChallenge(Fault):
    """Signs over another challenge (`value`, base64url; else a random one)."""

    name = "wrong-challenge"
    check = "challenge"
    section = "7.1 and 7.2, challenge equals the one issued"
    value: str | None = None

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        draft.challenge = self.value or base64url_encode(run.entropy.bytes(32))


@dataclass(frozen=True)
class WrongOrigin(Fault):
    """Says that another page asked."""

    name = "wrong-origin"
    check = "origin"
    section = "7.1 and 7.2, origin is one that is expected (13.4.9)"
    origin: str = "https://attacker.example"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.origin = self.origin


@dataclass(frozen=True)
class WrongType(Fault):
    """Names the other ceremony, or any text."""

    name = "wrong-type"
    check = "type"
    section = "7.1 and 7.2, type is webauthn.create or webauthn.get"
    value: str | None = None

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:
        other = "webauthn.get" if run.ceremony == "create" else "webauthn.create"
        draft.type = other if self.value is None else self.value


@dataclass(frozen=True)
class CrossOrigin(Fault):
    """Says that the page was a frame of another origin."""

    name = "cross-origin"
    check = "crossOrigin"
    section = "7.1 and 7.2, crossOrigin only where framing is expected"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.cross_origin = True


@dataclass(frozen=True)
class TopOrigin(CrossOrigin):
    """Names the page at the top that framed it."""

    name = "top-origin"
    check = "topOrigin"
    section = "7.1 and 7.2, topOrigin is a page that may frame"
    origin: str = "https://attacker.example"

    def client_data(self, draft: ClientDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        draft.cross_origin = True
        draft.top_origin = self.origin


# ---- the credential's key


@dataclass(frozen=True)
class OtherAlgorithm(Fault):
    """Registers a key of an algorithm that was not offered, or signs by another algorithm."""

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
        return signer if run.ceremony == "create" else algorithm_of(key).another_signer(key)


@dataclass(frozen=True)
class OffCurveKey(Fault):
    """Registers a point that is not on its curve."""

    name = "off-curve-key"
    check = "public key"
    section = "6.5.1.1 and 7.1, the credential public key is a valid key"
    ceremonies = CREATE

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        members = cbor.decode(draft.public_key)
        if members[1] == 3:
            raise FaultError("off-curve-key: got an RSA key, expected one on a curve")
        coordinate = -3 if members[1] == 2 else -2
        # For Ed25519 no point has y = 2; on the others a changed y leaves x without its partner.
        last = (2).to_bytes(32, "little") if coordinate == -2 else _flip(members[-3], 0)
        draft.public_key = cbor.encode({**members, coordinate: last})


@dataclass(frozen=True)
class OversizedKey(Fault):
    """Registers coordinates (or a modulus) that are longer than the key type has them."""

    name = "oversized-key"
    check = "public key"
    section = "6.5.1.1 and 7.1, the credential public key is a valid key"
    ceremonies = CREATE
    extra: int = 64

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:
        members = cbor.decode(draft.public_key)
        place = -1 if members[1] == 3 else -2
        draft.public_key = cbor.encode(
            {**members, place: members[place] + run.entropy.bytes(self.extra)}
        )


# ---- authenticator data


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
    """Turns one flag over: UP, UV, BE or BS (or a reserved one, see `ReservedBit`)."""

    name = "flip-flag"
    check = "flags"
    section = "7.1 and 7.2, UP is set, UV is set when required, BS only with BE, BE never changes"
    flag: str = "UV"

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


# ---- attestation


@dataclass(frozen=True)
class BrokenX5c(Fault):
    """Sends a certificate that cannot be parsed."""

    name = "broken-x5c"
    check = "attestation statement"
    section = "8.2 and 8.6, x5c holds X.509 certificates"
    ceremonies = CREATE

    def identity(self, identity: AttestationIdentity, run: FaultRun) -> AttestationIdentity:  # noqa: ARG002
        first, *rest = identity.certificates
        return replace(identity, certificates=(first[: len(first) // 2], *rest))


@dataclass(frozen=True)
class ExpiredX5c(Fault):
    """Attests under a certificate that expired years ago."""

    name = "expired-x5c"
    check = "attestation trust path"
    section = "7.1, the certificate chain is valid"
    ceremonies = CREATE

    def identity(self, identity: AttestationIdentity, run: FaultRun) -> AttestationIdentity:  # noqa: ARG002
        return identity.authority.identity(
            key=identity.key,
            not_before=datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC),
            not_after=datetime.datetime(2002, 1, 1, tzinfo=datetime.UTC),
        )


@dataclass(frozen=True)
class ForeignX5c(Fault):
    """Attests under a certificate that another authority issued."""

    name = "foreign-x5c"
    check = "attestation trust path"
    section = "7.1, the certificate chain ends at a trust anchor"
    ceremonies = CREATE

    def identity(self, identity: AttestationIdentity, run: FaultRun) -> AttestationIdentity:
        stranger = AttestationAuthority(run.entropy.fork("foreign authority"))
        return stranger.identity(key=identity.key)


# ---- signature


@dataclass(frozen=True)
class OtherKey(Fault):
    """Signs with a key that was never registered."""

    name = "other-key"
    check = "signature"
    section = "7.2, the signature verifies with the credential public key; 8.2 and 8.6 likewise"

    def signer(self, key: PrivateKey, signer: Signer, run: FaultRun) -> Signer:  # noqa: ARG002
        kind = algorithm_of(key)
        return kind.signer(kind.generate(run.entropy))


@dataclass(frozen=True)
class SignatureBit(Fault):
    """Flips one bit of the signature (negative: counted from its end)."""

    name = "signature-bit"
    check = "signature"
    section = "7.2, the signature verifies with the credential public key; 8.2 and 8.6 likewise"
    bit: int = -1

    def signature(self, signature: bytes, run: FaultRun) -> bytes:  # noqa: ARG002
        return _flip(signature, self.bit % (8 * len(signature)))


# ---- the attestation object


@dataclass(frozen=True)
class NonCanonicalCbor(Fault):
    """Writes the attestation object (or the public key in it) with members out of order."""

    name = "non-canonical-cbor"
    check = "CTAP2 canonical CBOR"
    section = "6.5.4 and 6.5.1.1, encoded in the CTAP2 canonical form"
    ceremonies = CREATE
    where: str = "attestation-object"

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        if self.where == "public-key":
            pairs = [
                (cbor.encode(k), cbor.encode(v)) for k, v in cbor.decode(draft.public_key).items()
            ]
            draft.public_key = cbor.encode_pairs(pairs[::-1])

    def attestation_pairs(self, pairs: list[tuple[bytes, bytes]], run: FaultRun) -> None:  # noqa: ARG002
        if self.where == "attestation-object":
            pairs.reverse()


@dataclass(frozen=True)
class DuplicateKeyCbor(Fault):
    """Writes one member of the attestation object (or of the public key) twice."""

    name = "duplicate-key-cbor"
    check = "CTAP2 canonical CBOR"
    section = "6.5.4 and 6.5.1.1, encoded in the CTAP2 canonical form"
    ceremonies = CREATE
    where: str = "attestation-object"

    def authenticator_data(self, draft: AuthenticatorDataDraft, run: FaultRun) -> None:  # noqa: ARG002
        if self.where == "public-key":
            pairs = [
                (cbor.encode(k), cbor.encode(v)) for k, v in cbor.decode(draft.public_key).items()
            ]
            draft.public_key = cbor.encode_pairs([pairs[0], *pairs])

    def attestation_pairs(self, pairs: list[tuple[bytes, bytes]], run: FaultRun) -> None:  # noqa: ARG002
        if self.where == "attestation-object":
            pairs.insert(0, pairs[0])


# ---- what the page sends


@dataclass(frozen=True)
class WrongCredentialId(Fault):
    """Names another credential than the one that signed (`value`, base64url; else a random one)."""

    name = "wrong-credential-id"
    check = "credential id"
    section = "7.1, id equals the attested one; 7.2, id is allowed and known"
    value: str | None = None

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:
        other = self.value or base64url_encode(run.entropy.bytes(32))
        return {**response, "id": other, "rawId": other}


@dataclass(frozen=True)
class WrongUserHandle(Fault):
    """Names another user (`value`, base64url; else a random one)."""

    name = "wrong-user-handle"
    check = "userHandle"
    section = "7.2, userHandle belongs to the owner of the credential"
    ceremonies = GET
    value: str | None = None

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:
        other = self.value or base64url_encode(run.entropy.bytes(16))
        return {**response, "response": {**response["response"], "userHandle": other}}


@dataclass(frozen=True)
class Replayed(Fault):
    """Sends the answer of the ceremony before once more."""

    name = "replayed"
    check = "challenge"
    section = "7.1 and 7.2, challenge equals the one issued for this ceremony (13.4.3)"

    def response(self, response: dict[str, Any], run: FaultRun) -> dict[str, Any]:  # noqa: ARG002
        if run.previous is None:
            raise FaultError(
                f"replayed: there was no {run.ceremony} before, expected one to replay"
            )
        return copy.deepcopy(run.previous)


def _flip(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> (bit % 8)
    return bytes(changed)


FAULTS: dict[str, type[Fault]] = {
    kind.name: kind
    for kind in (
        WrongChallenge,
        WrongOrigin,
        WrongType,
        CrossOrigin,
        TopOrigin,
        OtherAlgorithm,
        OffCurveKey,
        OversizedKey,
        WrongRpIdHash,
        FlipFlag,
        ReservedBit,
        WrongCounter,
        AttestedDataMissing,
        AttestedDataExtra,
        Truncated,
        Trailing,
        BrokenX5c,
        ExpiredX5c,
        ForeignX5c,
        OtherKey,
        SignatureBit,
        NonCanonicalCbor,
        DuplicateKeyCbor,
        WrongCredentialId,
        WrongUserHandle,
        Replayed,
    )
}


def fault(description: str | Mapping[str, Any]) -> Fault:
    """A fault from its name, or from what `to_json` wrote."""
    members: dict[str, Any] = (
        {"fault": description} if isinstance(description, str) else dict(description)
    )
    name = members.pop("fault", None)
    if name not in FAULTS:
        raise ValueError(f"fault: got {name!r}, expected one of {', '.join(FAULTS)}")
    known = {member.name for member in fields(FAULTS[name])}
    for member, value in members.items():
        if member not in known:
            raise ValueError(
                f"fault {name}: got {member!r}, expected {', '.join(known) or 'nothing'}"
            )
        if isinstance(value, Mapping):
            members[member] = bytes.fromhex(value["hex"])
    return FAULTS[name](**members)


def as_faults(given: Fault | str | Iterable[Fault | str]) -> tuple[Fault, ...]:
    """One fault or several, as objects or by name."""
    if isinstance(given, (Fault, str)):
        given = (given,)
    return tuple(one if isinstance(one, Fault) else fault(one) for one in given)
