"""The shape of an authenticator: what kind of device it is, as data.

Named profiles are in `profiles.toml`, each value with its source; any of them can be taken and
changed. Does not know what an authenticator does with its shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from .algorithms import BY_NAME
from .attestation import CERTIFIED, FORMATS, TAKES
from .encoding import shorten

if TYPE_CHECKING:
    from .counters import CounterPolicy

_CHOICES: dict[str, tuple[str, ...]] = {
    "attachment": ("platform", "cross-platform"),
    "attestation": tuple(FORMATS),
    "ctap": ("u2f", "2.0", "2.1", "2.3"),
    "user_verification": ("none", "pin", "built-in", "built-in+pin"),
    "discoverable": ("always", "on-request", "never"),
}
_LISTS = (
    "transports",
    "algorithms",
    "extensions",
    "min_pin_length_rp_ids",
    "compound_of",
    "enterprise_rp_ids",
)


@dataclass(frozen=True)
class Profile:
    """What kind of authenticator this is. Change one with `with_`, as in a keyword call."""

    name: str = "custom"
    title: str = ""
    aaguid: bytes = bytes(16)
    transports: tuple[str, ...] = ("usb",)
    attachment: str = "cross-platform"
    algorithms: tuple[str, ...] = ("ES256",)
    """By preference; the first one that the relying party offers, in its order, is used."""
    attestation: str = "packed"
    """What it returns when the relying party asks for attestation."""
    compound_of: tuple[str, ...] = ("packed", "packed-self")
    """The statements in a compound one."""
    ctap: str = "2.1"
    user_verification: str = "pin"
    always_verifies: bool = False
    discoverable: str = "on-request"
    capacity: int = 0
    """How many discoverable credentials fit; 0 means no limit."""
    credential_id_length: int = 32
    counter: CounterPolicy = field(default_factory=lambda: _counter({"kind": "global"}))
    backup_eligible: bool | Sequence[bool] = False
    """One fixed value, or one for each use (the registration first; the last one stays)."""
    backup_state: bool | Sequence[bool] = False
    extensions: tuple[str, ...] = ()
    min_pin_length_rp_ids: tuple[str, ...] = ()
    """Relying parties that may learn the minimum PIN length (CTAP 2.1, section 12.4)."""
    enterprise_attestation: bool = False
    """Whether the vendor made it able to attest as one device (CTAP 2.1, section 7.1)."""
    enterprise_rp_ids: tuple[str, ...] = ()
    """Relying parties that the vendor lets see such an attestation without the platform's word."""
    pin_manages_only: bool = False
    """Whether the PIN of a device with a fingerprint sensor is for its settings alone
    (CTAP 2.1, section 6.4, noMcGaPermissionsWithClientPin)."""
    certifications: Mapping[str, int] = field(default_factory=dict)
    """What it was certified as, as in `{"FIDO": 2}` (CTAP 2.1, section 7.3)."""
    pin_complexity_url: str = ""
    """Where its PIN complexity policy is explained."""
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in _LISTS:
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(item, str) for item in value):
                raise ValueError(f"{name}: got {shorten(value)}, expected a list of names")
            object.__setattr__(self, name, tuple(value))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name}: got {getattr(self, name)!r}, expected one of {', '.join(choices)}"
                )
        unknown = [name for name in self.algorithms if name not in BY_NAME]
        if unknown or not self.algorithms:
            raise ValueError(f"algorithms: got {unknown}, expected some of {', '.join(BY_NAME)}")
        for name in self.algorithms:
            BY_NAME[name].require()
        self._check_attestation()
        for name in ("backup_eligible", "backup_state"):
            object.__setattr__(self, name, _script(name, getattr(self, name)))
        for name, least, most in (("capacity", 0, None), ("credential_id_length", 1, 0xFFFF)):
            value = getattr(self, name)
            if type(value) is not int or value < least or (most is not None and value > most):
                limits = f"{least} to {most}" if most is not None else f"{least} or more"
                raise ValueError(f"{name}: got {shorten(value)}, expected {limits}")
        object.__setattr__(self, "aaguid", _aaguid(self.aaguid))
        object.__setattr__(self, "counter", _counter(self.counter))

    def _check_attestation(self) -> None:
        if self.attestation == "compound":
            parts = [name for name in self.compound_of if name in FORMATS]
            if len(parts) < 2 or parts != list(self.compound_of) or "compound" in parts:
                raise ValueError(
                    f"compound_of: got {shorten(list(self.compound_of))}, expected two or more of "
                    + ", ".join(name for name in FORMATS if name != "compound")
                )
        for name in self.formats:
            taken = TAKES.get(name, self.algorithms)
            if not set(self.algorithms) <= set(taken):
                raise ValueError(f"attestation {name}: expected algorithms {list(taken)} with it")

    def with_(self, **changes: Any) -> Profile:
        """The same profile with some members changed; an unknown name is a ValueError."""
        known = {member.name for member in fields(self)}
        for name in changes:
            if name not in known:
                raise ValueError(
                    f"got {name!r}, expected a member of a profile: {', '.join(sorted(known))}"
                )
        return replace(self, **changes)

    @property
    def verifies(self) -> bool:
        """Whether it can verify its user at all."""
        return self.user_verification != "none"

    @property
    def formats(self) -> tuple[str, ...]:
        """Of the statements that it makes: several in a compound one."""
        return self.compound_of if self.attestation == "compound" else (self.attestation,)

    @property
    def certified_formats(self) -> list[str]:
        """Those for which it holds a key and certificates."""
        return [name for name in self.formats if name in CERTIFIED]

    @property
    def names_no_model(self) -> bool:
        """Whether its attestation contains nothing that could identify the device."""
        return self.attestation == "packed-self" and not any(self.aaguid)

    @property
    def sorted_transports(self) -> list[str]:
        """As `getTransports()` gives them: unique, in lexicographical order (section 5.2.1)."""
        return sorted(set(self.transports))

    @property
    def built_in_verification(self) -> bool:
        return self.user_verification.startswith("built-in")

    @property
    def has_pin(self) -> bool:
        return self.user_verification.endswith("pin")

    @property
    def pin_verifies(self) -> bool:
        """Whether its PIN vouches for who registers and signs in."""
        return self.has_pin and not (self.pin_manages_only and self.fingerprint_sensor)

    @property
    def fingerprint_sensor(self) -> bool:
        """Whether fingers are enrolled over CTAP: with one, and a PIN to begin with."""
        return self.user_verification == "built-in+pin" and self.ctap in ("2.1", "2.3")

    def to_json(self) -> dict[str, Any]:
        state = {member.name: getattr(self, member.name) for member in fields(self)}
        text = self.aaguid.hex()
        state["aaguid"] = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        state["counter"] = self.counter.to_json()
        state["sources"] = dict(self.sources)
        return state

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Profile:
        return cls().with_(**state)


def _aaguid(given: bytes | str) -> bytes:
    try:
        value = bytes.fromhex(given.replace("-", "")) if isinstance(given, str) else bytes(given)
    except ValueError:
        raise ValueError(f"aaguid: got {given!r}, expected a UUID or 16 bytes") from None
    if len(value) != 16:
        raise ValueError(f"aaguid: got {len(value)} bytes, expected 16")
    return value


def _script(name: str, given: bool | Sequence[bool]) -> bool | tuple[bool, ...]:
    if isinstance(given, bool):
        return given
    if not isinstance(given, (list, tuple)) or not given or not all(type(v) is bool for v in given):
        raise ValueError(f"{name}: got {shorten(given)}, expected true, false, or a list of them")
    return tuple(given)


def _counter(given: CounterPolicy | Mapping[str, Any]) -> CounterPolicy:
    from .counters import CounterPolicy, counter_policy  # loaded with the first profile

    return given if isinstance(given, CounterPolicy) else counter_policy(dict(given))


@cache
def profiles() -> Mapping[str, Profile]:
    """All named profiles."""
    import tomllib  # here, because loading these two takes longer than loading this package
    from importlib import resources

    text = resources.files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8")
    return {
        name: Profile.from_json({"name": name, **members})
        for name, members in tomllib.loads(text).items()
    }


def profile(name: str, **changes: Any) -> Profile:
    """A named profile, with members changed as given."""
    known = profiles()
    if name not in known:
        raise ValueError(f"profile: got {name!r}, expected one of {', '.join(known)}")
    return known[name].with_(**changes) if changes else known[name]
