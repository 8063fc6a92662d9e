"""A certificate authority for tests, and the attestation key with its chain that a device holds.

Certificates are made to the letter of WebAuthn Level 3, section 8.2.1, and, given the same keys and
serial numbers, to the same bytes: signatures are deterministic and validity is fixed. Knows nothing
of attestation statements.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .algorithms import ES256, from_pkcs8, to_pkcs8
from .encoding import base64url_decode, base64url_encode
from .entropy import Entropy

NOT_BEFORE = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
NOT_AFTER = datetime.datetime(3024, 1, 1, tzinfo=datetime.UTC)
AAGUID_EXTENSION = "1.3.6.1.4.1.45724.1.1.4"


@dataclass(frozen=True)
class AttestationIdentity:
    """The key a device attests with, its certificates (leaf first, DER), and who issued them."""

    key: ec.EllipticCurvePrivateKey
    certificates: tuple[bytes, ...]
    authority: AttestationAuthority

    def to_json(self) -> dict[str, Any]:
        return {
            "key": base64url_encode(to_pkcs8(self.key)),
            "certificates": [base64url_encode(one) for one in self.certificates],
            "authority": self.authority.to_json(),
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> AttestationIdentity:
        return cls(
            _read_key(state["key"]),
            tuple(base64url_decode(one) for one in state["certificates"]),
            AttestationAuthority.from_json(state["authority"]),
        )


class AttestationAuthority:
    """A test CA: its root certificate is what a relying party puts among its trust anchors."""

    def __init__(
        self,
        entropy: Entropy | None = None,
        *,
        organization: str = "Virtual Authenticator",
        common_name: str = "Virtual Authenticator test",
        key: ec.EllipticCurvePrivateKey | None = None,
        serial: bytes | None = None,
    ) -> None:
        self._entropy = entropy or Entropy()
        self._organization = organization
        self._common_name = common_name
        self._key = key or _new_key(self._entropy)
        self._serial = serial or self._new_serial()
        self.root = self._certificate(self._key, self._serial, authority=True)
        """The root certificate, DER."""

    def to_json(self) -> dict[str, Any]:
        return {
            "organization": self._organization,
            "common_name": self._common_name,
            "key": base64url_encode(to_pkcs8(self._key)),
            "serial": base64url_encode(self._serial),
            "entropy": self._entropy.to_json(),
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> AttestationAuthority:
        """The same authority, down to the bytes of its root."""
        return cls(
            Entropy.from_json(state["entropy"]),
            organization=state["organization"],
            common_name=state["common_name"],
            key=_read_key(state["key"]),
            serial=base64url_decode(state["serial"]),
        )

    @property
    def root_pem(self) -> bytes:
        from cryptography import x509

        certificate = x509.load_der_x509_certificate(self.root)
        return certificate.public_bytes(serialization.Encoding.PEM)

    def identity(
        self,
        *,
        aaguid: bytes | None = None,
        key: ec.EllipticCurvePrivateKey | None = None,
        serial: bytes | None = None,
        not_before: datetime.datetime = NOT_BEFORE,
        not_after: datetime.datetime = NOT_AFTER,
    ) -> AttestationIdentity:
        """An attestation key and its certificate; with `aaguid`, bound to that model."""
        key = key or _new_key(self._entropy)
        certificate = self._certificate(
            key,
            serial or self._new_serial(),
            aaguid=aaguid,
            not_before=not_before,
            not_after=not_after,
        )
        return AttestationIdentity(key, (certificate,), self)

    def _new_serial(self) -> bytes:
        return b"\x01" + self._entropy.bytes(15)

    def _certificate(
        self,
        key: ec.EllipticCurvePrivateKey,
        serial: bytes,
        *,
        authority: bool = False,
        aaguid: bytes | None = None,
        not_before: datetime.datetime = NOT_BEFORE,
        not_after: datetime.datetime = NOT_AFTER,
    ) -> bytes:
        # Imported here: x509 takes longer to load than all the rest of this package.
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        def name(unit: str) -> x509.Name:
            return x509.Name(
                [
                    x509.NameAttribute(NameOID.COMMON_NAME, self._common_name),
                    x509.NameAttribute(NameOID.ORGANIZATION_NAME, self._organization),
                    x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
                    x509.NameAttribute(NameOID.COUNTRY_NAME, "AA"),
                ]
            )

        unit = "Authenticator Attestation"  # the literal that section 8.2.1 asks for
        builder = (
            x509.CertificateBuilder()
            .subject_name(name(f"{unit} CA" if authority else unit))
            .issuer_name(name(f"{unit} CA"))
            .public_key(key.public_key())
            .serial_number(int.from_bytes(serial, "big"))
            .not_valid_before(not_before)
            .not_valid_after(not_after)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=not authority,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    key_cert_sign=authority,
                    crl_sign=authority,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )
        if not authority:
            issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
            builder = builder.add_extension(issuer, critical=False)
        if aaguid is not None:
            # The value is an OCTET STRING inside the extension's own.
            value = x509.UnrecognizedExtension(
                x509.ObjectIdentifier(AAGUID_EXTENSION), b"\x04\x10" + aaguid
            )
            builder = builder.add_extension(value, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256(), ecdsa_deterministic=True)
        return certificate.public_bytes(serialization.Encoding.DER)


def _read_key(text: str) -> ec.EllipticCurvePrivateKey:
    key = from_pkcs8(base64url_decode(text))
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _new_key(entropy: Entropy) -> ec.EllipticCurvePrivateKey:
    key = ES256.generate(entropy)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key
