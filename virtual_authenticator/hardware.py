"""What is behind an attestation, and what that says of itself and its keys: a TPM, Android's
keystore, the service that judges phones.

The defaults are what devices of today say; a test may have its device say something else. Knows
neither certificates nor statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from . import der

# Tags and values of Android's AuthorizationList, and one of its SecurityLevels.
_PURPOSE, _ORIGIN = 1, 702
_SIGN, _GENERATED = 2, 0
_TRUSTED_ENVIRONMENT = 1


@dataclass(frozen=True)
class TpmChip:
    """What the chip says about itself, in its certificate and in every statement."""

    kind: ClassVar[str] = "tpm"
    manufacturer: str = "id:4D534654"
    """TCG's vendor id: Microsoft's, whose virtual TPMs Windows shows."""
    model: str = "Virtual Authenticator test"
    version: str = "id:00000001"
    algorithm: str = "RS256"
    """Of the attestation key."""
    # Fixed to this chip, made by it, for signing and decryption: what Windows Hello's keys have.
    attributes: int = 0x00060472
    clock: bytes = bytes(16) + b"\x01"
    """TPMS_CLOCK_INFO: clock, resets, restarts, and that none of them went back."""
    firmware: bytes = bytes(8)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            "kind": self.kind,
            "clock": self.clock.hex(),
            "firmware": self.firmware.hex(),
        }

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> TpmChip:
        members = {name: value for name, value in state.items() if name != "kind"}
        for name in ("clock", "firmware"):
            members[name] = bytes.fromhex(members[name])
        return cls(**members)


@dataclass(frozen=True)
class AndroidKeystore:
    """What the keystore says about a key. The defaults are those of a phone of today."""

    kind: ClassVar[str] = "android-key"
    version: int = 300
    """KeyMint 3.0; the versions of attestation and of the keystore are the same since 100."""
    keystore_version: int = 300
    security_level: int = _TRUSTED_ENVIRONMENT
    purposes: tuple[int, ...] = (_SIGN,)
    origin: int | None = _GENERATED

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "kind": self.kind}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> AndroidKeystore:
        members = {name: value for name, value in state.items() if name != "kind"}
        return cls(**{**members, "purposes": tuple(members["purposes"])})

    def key_description(self, challenge: bytes) -> bytes:
        """The extension; nothing is enforced by software, all by the trusted environment."""
        enforced = []
        if self.purposes:
            purposes = der.set_of(*(der.integer(each) for each in self.purposes))
            enforced.append(der.explicit(_PURPOSE, purposes))
        if self.origin is not None:
            enforced.append(der.explicit(_ORIGIN, der.integer(self.origin)))
        return der.sequence(
            der.integer(self.version),
            der.enumerated(self.security_level),
            der.integer(self.keystore_version),
            der.enumerated(self.security_level),
            der.octet_string(challenge),
            der.octet_string(b""),  # uniqueId
            der.sequence(),  # softwareEnforced
            der.sequence(*enforced),  # teeEnforced
        )


@dataclass(frozen=True)
class SafetyNet:
    """What Google's service says about a phone. By default all is well."""

    kind: ClassVar[str] = "android-safetynet"
    host: ClassVar[str] = "attest.android.com"
    """To which the certificate of the service is issued."""
    algorithm: ClassVar[str] = "RS256"
    version: str = "244535044"
    """Of Google Play services on the phone."""
    profile_matches: bool = True
    """Whether it is a phone that Google certified (ctsProfileMatch)."""
    has_integrity: bool = True
    """Whether it is at least not tampered with (basicIntegrity)."""

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "kind": self.kind}

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> SafetyNet:
        return cls(**{name: value for name, value in state.items() if name != "kind"})


Hardware: TypeAlias = TpmChip | AndroidKeystore | SafetyNet
_KINDS: dict[str, type[Hardware]] = {
    each.kind: each for each in (TpmChip, AndroidKeystore, SafetyNet)
}


def hardware_of(kind: str) -> Hardware | None:
    """What a device with this kind of attestation says by default, if it says anything."""
    return _KINDS[kind]() if kind in _KINDS else None


def hardware_from_json(state: dict[str, Any]) -> Hardware:
    """What `to_json` wrote."""
    return _KINDS[state["kind"]].from_json(state)
