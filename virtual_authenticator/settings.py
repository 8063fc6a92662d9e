"""What a device keeps for good beside its credentials and its PIN, and what its owner set up.

CTAP's configuration, fingerprints and the persistent token change it; a reset brings the factory
state back, which the profile names. Knows nothing of messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .encoding import base64url_decode, base64url_encode
from .person import USUAL_FINGER

if TYPE_CHECKING:
    from .profile import Profile


@dataclass
class Fingerprint:
    """One enrolled finger."""

    template_id: bytes
    finger: str
    """Which finger of the person it is; the sensor accepts no other for it."""
    name: str = ""


@dataclass
class Settings:
    """The rest of the persistent state. Make it with `of`, which knows the factory state."""

    always_uv: bool = False
    enterprise: bool = False
    """Whether enterprise attestation was enabled."""
    long_touch: bool = False
    """Whether a reset takes a long touch."""
    pin_complexity: bool = False
    minimum_pin_rp_ids: tuple[str, ...] = ()
    """Relying parties that may learn the PIN policy, beside those of the profile."""
    fingerprints: list[Fingerprint] = field(default_factory=list)
    verifications_since_pin: int = 0
    """Built-in verifications since the PIN was typed last."""
    persistent_token: bytes | None = None
    """The persistentPinUvAuthToken, made when it is needed first."""
    identifier: bytes | None = None
    """Tells this device from others, to those who hold the persistent token; a reset changes it."""

    @classmethod
    def of(cls, profile: Profile) -> Settings:
        """A new device. One with a fingerprint sensor knows its owner's finger already, so that it
        can be used at once."""
        settings = cls(always_uv=profile.always_verifies)
        if profile.fingerprint_sensor:
            settings.fingerprints.append(Fingerprint(b"\x01", USUAL_FINGER))
        return settings

    def after_reset(self, profile: Profile) -> Settings:
        """The factory state: fingers are gone too, and alwaysUv is as the vendor set it."""
        return Settings(always_uv=profile.always_verifies)

    def knows(self, finger: str) -> bool:
        return any(one.finger == finger for one in self.fingerprints)

    def to_json(self) -> dict[str, Any]:
        state: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        for name in _BINARY:
            value = getattr(self, name)
            state[name] = None if value is None else base64url_encode(value)
        state["minimum_pin_rp_ids"] = list(self.minimum_pin_rp_ids)
        state["fingerprints"] = [
            [base64url_encode(one.template_id), one.finger, one.name] for one in self.fingerprints
        ]
        return state

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Settings:
        known: dict[str, Any] = {name: state[name] for name in _PLAIN}
        for name in _BINARY:
            known[name] = None if state[name] is None else base64url_decode(state[name])
        return cls(
            **known,
            minimum_pin_rp_ids=tuple(state["minimum_pin_rp_ids"]),
            fingerprints=[
                Fingerprint(base64url_decode(template_id), finger, name)
                for template_id, finger, name in state["fingerprints"]
            ],
        )


_PLAIN = ("always_uv", "enterprise", "long_touch", "pin_complexity", "verifications_since_pin")
_BINARY = ("persistent_token", "identifier")
