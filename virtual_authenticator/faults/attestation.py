"""Faults of attestation: the certificates, and the encoding of the attestation object."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from .. import cbor
from ..authenticator_data import AuthenticatorDataDraft
from ..certificates import AttestationAuthority, AttestationIdentity
from .base import CREATE, Fault, FaultRun


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
        return identity.issued_anew(
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
        return identity.issued_anew(stranger)


# ---- encoding


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
