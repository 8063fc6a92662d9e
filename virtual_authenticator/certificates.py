"""A certificate authority for tests, and the attestation key with its chain that a device holds.

Certificates are made to the letter of WebAuthn Level 3, sections 8.2.1, 8.2.2 and 8.3.1, and, given
the same keys and serial numbers, to the same bytes: signatures are deterministic and validity is
fixed. Knows nothing of attestation statements.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from . import der
from .algorithms import ES256, Algorithm, PrivateKey, by_name, from_pkcs8, to_pkcs8
from .cbor import EncodedList
from .encoding import base64url_decode, base64url_encode
from .entropy import Entropy
from .hardware import AndroidKeystore, Hardware, SafetyNet, hardware_from_json, hardware_of

if TYPE_CHECKING:
    from cryptography import x509


NOT_BEFORE = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
NOT_AFTER = datetime.datetime(3024, 1, 1, tzinfo=datetime.UTC)
AAGUID_EXTENSION = "1.3.6.1.4.1.45724.1.1.4"
SERIAL_NUMBER_EXTENSION = "1.3.6.1.4.1.45724.1.1.2"
_UNIT = "Authenticator Attestation"  # the literal that section 8.2.1 asks for
_AUTHORITY_UNIT = f"{_UNIT} CA"
_INTERMEDIATE_UNIT = f"{_UNIT} CA 1"
# TCG's names: the usage of an attestation key, and what a chip is (TPMv2-EK-Profile, 3.2.9).
_ATTESTATION_KEY_USAGE = "2.23.133.8.3"
_MANUFACTURER, _MODEL, _VERSION = "2.23.133.2.1", "2.23.133.2.2", "2.23.133.2.3"
_ISSUERS = ("android-key", "apple")
"""Kinds of devices that issue a certificate for every credential."""


@dataclass(frozen=True)
class AttestationIdentity:
    """The key a device attests with, its certificates (leaf first, DER), and who issued them."""

    key: PrivateKey
    certificates: tuple[bytes, ...]
    authority: AttestationAuthority
    kind: str = "packed"
    """The format it is for (those of packed are for fido-u2f as well)."""
    aaguid: bytes | None = None
    """The model that the certificate is bound to."""
    serial_number: bytes | None = None
    """The device that the certificate is bound to: for enterprises only (section 8.2.2)."""
    hardware: Hardware | None = None
    algorithm: Algorithm = ES256
    issuer_unit: str = _INTERMEDIATE_UNIT
    """By which the key signs certificates of its own, if this is such a device."""
    x5c: EncodedList = field(init=False, repr=False, compare=False)
    """The certificates as a statement carries them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "x5c", EncodedList(self.certificates))

    def issue(self, public_key: Any, extension: str, value: bytes) -> bytes:
        """A certificate for a credential's key, with one more extension."""
        from cryptography import x509

        added = x509.UnrecognizedExtension(x509.ObjectIdentifier(extension), value)
        return self.authority.certificate(
            public_key,
            self.authority.new_serial(),
            issuer=self.issuer_unit,
            signed_by=self.key,
            extensions=[(added, False)],
        )

    def issued_anew(
        self,
        authority: AttestationAuthority | None = None,
        *,
        not_before: datetime.datetime = NOT_BEFORE,
        not_after: datetime.datetime = NOT_AFTER,
    ) -> AttestationIdentity:
        """The same device with certificates of another validity or authority."""
        return (authority or self.authority).identity(
            kind=self.kind,
            aaguid=self.aaguid,
            key=self.key,
            serial_number=self.serial_number,
            hardware=self.hardware,
            not_before=not_before,
            not_after=not_after,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "key": base64url_encode(to_pkcs8(self.key)),
            "certificates": [base64url_encode(one) for one in self.certificates],
            "authority": self.authority.to_json(),
            "kind": self.kind,
            "aaguid": self.aaguid.hex() if self.aaguid is not None else None,
            "serial_number": self.serial_number.hex() if self.serial_number is not None else None,
            "hardware": self.hardware.to_json() if self.hardware is not None else None,
            "algorithm": self.algorithm.name,
            "issuer_unit": self.issuer_unit,
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> AttestationIdentity:
        aaguid, number = state.get("aaguid"), state.get("serial_number")
        hardware = state.get("hardware")
        return cls(
            from_pkcs8(base64url_decode(state["key"])),
            tuple(base64url_decode(one) for one in state["certificates"]),
            AttestationAuthority.from_json(state["authority"]),
            # States of earlier versions end here.
            kind=state.get("kind", "packed"),
            aaguid=bytes.fromhex(aaguid) if aaguid is not None else None,
            serial_number=bytes.fromhex(number) if number is not None else None,
            hardware=hardware_from_json(hardware) if hardware else None,
            algorithm=by_name(state.get("algorithm", ES256.name)),
            issuer_unit=state.get("issuer_unit", _INTERMEDIATE_UNIT),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)


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
        self._key = key or ES256.generate(self._entropy)
        self._serial = serial or self.new_serial()
        self.root = self.certificate(
            self._key.public_key(), self._serial, unit=_AUTHORITY_UNIT, authority=True
        )
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
        key = from_pkcs8(base64url_decode(state["key"]))
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return cls(
            Entropy.from_json(state["entropy"]),
            organization=state["organization"],
            common_name=state["common_name"],
            key=key,
            serial=base64url_decode(state["serial"]),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    @property
    def root_pem(self) -> bytes:
        from cryptography import x509

        certificate = x509.load_der_x509_certificate(self.root)
        return certificate.public_bytes(serialization.Encoding.PEM)

    def identity(
        self,
        *,
        kind: str = "packed",
        aaguid: bytes | None = None,
        key: PrivateKey | None = None,
        serial: bytes | None = None,
        serial_number: bytes | None = None,
        hardware: Hardware | None = None,
        not_before: datetime.datetime = NOT_BEFORE,
        not_after: datetime.datetime = NOT_AFTER,
    ) -> AttestationIdentity:
        """An attestation key and its certificates for one format.

        With `aaguid` they are bound to that model, with `serial_number` to that one device (for
        formats of which the certificate says so: packed). `hardware` is what the device says of
        itself beyond keys, in the formats tpm, android-key and android-safetynet.
        """
        hardware = hardware or hardware_of(kind)
        algorithm = by_name(getattr(hardware, "algorithm", ES256.name))
        key = key or algorithm.generate(self._entropy)
        serial = serial or self.new_serial()
        unit: str | None = _UNIT
        extensions: list[tuple[x509.ExtensionType, bool]] = []
        if kind == "tpm":
            unit, extensions = None, _chip_extensions(hardware)
        elif kind in _ISSUERS:
            unit = _INTERMEDIATE_UNIT
        elif kind != SafetyNet.kind:
            extensions = _packed_extensions(aaguid, serial_number)
        certificates = [
            self.certificate(
                key.public_key(),
                serial,
                unit=unit,
                common_name=SafetyNet.host if kind == SafetyNet.kind else None,
                authority=kind in _ISSUERS,
                extensions=extensions,
                not_before=not_before,
                not_after=not_after,
            )
        ]
        if kind == "android-key":
            certificates.append(self.root)  # Android sends the whole chain, the root included
        return AttestationIdentity(
            key,
            tuple(certificates),
            self,
            kind=kind,
            aaguid=aaguid,
            serial_number=serial_number,
            hardware=hardware,
            algorithm=algorithm,
        )

    def root_identity(
        self, kind: str, *, hardware: AndroidKeystore | None = None
    ) -> AttestationIdentity:
        """For android-key and apple: a device that issues certificates as the root itself, with
        nothing between them."""
        return AttestationIdentity(
            self._key,
            (),
            self,
            kind=kind,
            hardware=hardware or hardware_of(kind),
            issuer_unit=_AUTHORITY_UNIT,
        )

    def new_serial(self) -> bytes:
        """The serial number of the next certificate."""
        return b"\x01" + self._entropy.bytes(15)

    def certificate(
        self,
        public_key: Any,
        serial: bytes,
        *,
        unit: str | None = _UNIT,
        common_name: str | None = None,
        issuer: str = _AUTHORITY_UNIT,
        signed_by: PrivateKey | None = None,
        authority: bool = False,
        extensions: list[tuple[x509.ExtensionType, bool]] | None = None,
        not_before: datetime.datetime = NOT_BEFORE,
        not_after: datetime.datetime = NOT_AFTER,
    ) -> bytes:
        """A certificate, DER; without `unit` its subject is empty. `extensions` are added to the
        usual ones, each with whether it is critical."""
        # Imported here: x509 takes longer to load than all the rest of this package.
        from cryptography import x509

        signing: Any = signed_by or self._key
        root = unit == _AUTHORITY_UNIT
        builder = (
            x509.CertificateBuilder()
            .subject_name(self._name(unit, common_name) if unit is not None else x509.Name([]))
            .issuer_name(self._name(issuer))
            .public_key(public_key)
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
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        )
        if not root:
            above = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key())
            builder = builder.add_extension(above, critical=False)
        for extension, critical in extensions or ():
            builder = builder.add_extension(extension, critical=critical)
        certificate = builder.sign(signing, hashes.SHA256(), ecdsa_deterministic=True)
        return certificate.public_bytes(serialization.Encoding.DER)

    def _name(self, unit: str, common_name: str | None = None) -> x509.Name:
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        return x509.Name(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, common_name or self._common_name),
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, self._organization),
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
                x509.NameAttribute(NameOID.COUNTRY_NAME, "AA"),
            ]
        )


def _packed_extensions(
    aaguid: bytes | None, serial_number: bytes | None
) -> list[tuple[x509.ExtensionType, bool]]:
    from cryptography import x509

    # The values are OCTET STRINGs inside the extensions' own.
    values = ((AAGUID_EXTENSION, aaguid), (SERIAL_NUMBER_EXTENSION, serial_number))
    return [
        (x509.UnrecognizedExtension(x509.ObjectIdentifier(name), der.octet_string(value)), False)
        for name, value in values
        if value is not None
    ]


def _chip_extensions(chip: Any) -> list[tuple[x509.ExtensionType, bool]]:
    """Section 8.3.1: the usage, and the chip as alternative name of an empty subject."""
    from cryptography import x509

    described = x509.RelativeDistinguishedName(
        x509.NameAttribute(x509.ObjectIdentifier(name), value)
        for name, value in (
            (_MANUFACTURER, chip.manufacturer),
            (_MODEL, chip.model),
            (_VERSION, chip.version),
        )
    )
    name = x509.SubjectAlternativeName([x509.DirectoryName(x509.Name([described]))])
    usage = x509.ExtendedKeyUsage([x509.ObjectIdentifier(_ATTESTATION_KEY_USAGE)])
    return [(usage, False), (name, True)]
