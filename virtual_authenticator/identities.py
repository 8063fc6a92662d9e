"""The keys and certificates that one device attests with: one for each format, made on first use.

Does not know when a device attests, or what it says then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .entropy import Entropy
from .profile import Profile

if TYPE_CHECKING:
    from .certificates import AttestationAuthority, AttestationIdentity


class Identities:
    """What a device has of them; those that are given come first."""

    def __init__(
        self, profile: Profile, entropy: Entropy, given: Iterable[AttestationIdentity] = ()
    ) -> None:
        self._profile, self._entropy = profile, entropy
        self._made = {(each.kind, each.serial_number is not None): each for each in given}

    @property
    def usual(self) -> AttestationIdentity:
        """That of the device's own format."""
        return self.of(next(iter(self._profile.certified_formats), "packed"))

    def of(self, fmt: str, *, individual: bool = False) -> AttestationIdentity:
        """That of a format, from a stream of its own; `individual` ones name this very device."""
        which = "packed" if fmt == "fido-u2f" else fmt, individual
        made = self._made.get(which)
        if made is None:
            number = self._entropy.fork("serial number").bytes(8) if individual else None
            made = self._made[which] = self.authority.identity(
                kind=which[0], aaguid=self._profile.aaguid, serial_number=number
            )
        return made

    @property
    def authority(self) -> AttestationAuthority:
        """The test CA behind all of them."""
        for made in self._made.values():
            return made.authority
        from .certificates import AttestationAuthority

        authority = AttestationAuthority(self._entropy.fork("attestation"))
        kind = next(iter(self._profile.certified_formats), "packed")
        kind = "packed" if kind == "fido-u2f" else kind
        made = authority.identity(kind=kind, aaguid=self._profile.aaguid)
        self._made[kind, False] = made
        return authority

    def to_keep(self) -> list[AttestationIdentity]:
        """What a device must attest with when it has been saved. It has it from the factory, so it
        is made now if it would ever be made."""
        for fmt in self._profile.certified_formats:
            self.of(fmt)
        if self._profile.enterprise_attestation:
            self.of("packed", individual=True)
        return list(self._made.values())
