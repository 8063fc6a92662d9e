"""What the hardware behind an attestation says about itself and its keys: TPM, Android's keystore.

The defaults are what devices of today say; a test may have its device say something else. Knows
neither certificates nor statements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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


def hardware_of(kind: str) -> TpmChip | AndroidKeystore | None:
    """What a device with this kind of attestation says by default, if it says anything."""
    if kind == TpmChip.kind:
        return TpmChip()
    return AndroidKeystore() if kind == AndroidKeystore.kind else None


def hardware_from_json(state: dict[str, Any]) -> TpmChip | AndroidKeystore:
    """What `to_json` wrote."""
    is_chip = state["kind"] == TpmChip.kind
    return TpmChip.from_json(state) if is_chip else AndroidKeystore.from_json(state)
