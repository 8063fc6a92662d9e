"""What an authenticator of a given profile offers over CTAP: versions, options, extensions.

Only what never changes in a device's life; knows nothing of its state.
"""

from __future__ import annotations

from functools import cached_property

from ..algorithms import BY_NAME, ES256
from ..profile import Profile
from .token import Permission

MAXIMUM_MESSAGE = 1536
MAXIMUM_LIST = 8
MINIMUM_ID_LIMIT = 128
MAXIMUM_PIN_LENGTH = 63
"""Bytes, so that a PIN and the zero after it fit into a block of 64 (section 6.5.1)."""
U2F_HANDLE_LIMIT = 255
"""U2F writes the length of a key handle into one byte."""
_WIRED = {"usb", "nfc", "ble"}
MINIMUM_PIN_RP_IDS = 8
"""How many RP IDs setMinPINLength stores, beside those of the profile."""
_EXTENSIONS = {
    "credProtect": "2.0",
    "hmac-secret": "2.0",
    "hmac-secret-mc": "2.3",
    "credBlob": "2.1",
    "largeBlobKey": "2.1",
    "largeBlob": "2.3",
    "minPinLength": "2.1",
    "pinComplexityPolicy": "2.3",
    "thirdPartyPayment": "2.3",
}
"""What this layer can do, and the CTAP version that it came with (of those that profiles have)."""


class Features:
    """One profile as CTAP sees it."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.ctap2 = profile.ctap != "u2f"
        self.since_2_1 = profile.ctap in ("2.1", "2.3")
        self.since_2_3 = profile.ctap == "2.3"
        self.built_in = profile.built_in_verification
        self.pin = profile.has_pin
        self.tokens = self.since_2_1 and profile.verifies
        """pinUvAuthToken: tokens with permissions."""
        self.resident_keys = profile.discoverable != "never"
        self.credential_management = self.tokens and self.resident_keys
        self.persistent_token = self.credential_management and self.since_2_3
        """perCredMgmtRO: a token that only reads, and that a power cycle leaves valid."""
        self.configuration = self.tokens and self.pin
        """authenticatorConfig."""
        self.bio_enrollment = profile.fingerprint_sensor
        self.enterprise = self.configuration and profile.enterprise_attestation
        self.list_limit = MAXIMUM_LIST if self.since_2_1 else None
        self.pin_verifies = profile.pin_verifies
        """Unless noMcGaPermissionsWithClientPin: then only a finger makes credentials and signs."""
        self.id_limit = max(MINIMUM_ID_LIMIT, profile.credential_id_length)

    @cached_property
    def u2f(self) -> bool:
        """Whether it speaks U2F (unless alwaysUv is on): a security key that U2F can express.

        U2F has no place for user verification, for BE and BS, or for handles over 255 bytes.
        """
        profile = self.profile
        if profile.ctap == "u2f":
            return True
        return (
            profile.attachment == "cross-platform"
            and bool(_WIRED & set(profile.transports))
            and profile.backup_eligible is False
            and ES256.name in profile.algorithms
            and profile.credential_id_length <= U2F_HANDLE_LIMIT
        )

    @cached_property
    def versions(self) -> list[str]:
        """Of CTAP2; U2F depends on a setting."""
        # FIDO_2_2 is never among them: no profile is one of CTAP 2.2, and 2.3 does not imply it.
        return [
            "FIDO_2_0",
            *(["FIDO_2_1"] if self.since_2_1 else []),
            *(["FIDO_2_3"] if self.since_2_3 else []),
        ]

    @cached_property
    def extensions(self) -> list[str]:
        """CTAP's names. A profile that offers prf to pages offers it here as hmac-secret, which is
        what prf is between a client and an authenticator (WebAuthn Level 3, section 10.1.4)."""
        named = set(self.profile.extensions)
        if "prf" in named:
            named.add("hmac-secret")
        version = self.profile.ctap
        if "largeBlob" in named and version >= _EXTENSIONS["largeBlob"]:
            named.discard("largeBlobKey")  # a device has one of the two
        return [name for name, since in _EXTENSIONS.items() if name in named and since <= version]

    @cached_property
    def large_blobs(self) -> bool:
        """The large-blob array; without largeBlobKey nobody could use it (section 12.3)."""
        return self.since_2_1 and "largeBlobKey" in self.extensions

    @cached_property
    def pin_protocols(self) -> list[int]:
        """By preference; hmac-secret needs a key agreement even where there is no PIN."""
        if not (self.pin or self.tokens or "hmac-secret" in self.extensions):
            return []
        return [2, 1] if self.since_2_1 else [1]

    @cached_property
    def permissions(self) -> Permission:
        """What tokens may allow."""
        allowed = Permission.MAKE_CREDENTIAL | Permission.GET_ASSERTION
        for feature, permission in (
            (self.credential_management, Permission.CREDENTIAL_MANAGEMENT),
            (self.bio_enrollment, Permission.BIO_ENROLLMENT),
            (self.large_blobs, Permission.LARGE_BLOB_WRITE),
            (self.configuration, Permission.AUTHENTICATOR_CONFIGURATION),
            (self.persistent_token, Permission.PERSISTENT_CREDENTIAL_MANAGEMENT),
        ):
            if feature:
                allowed |= permission
        return allowed

    @cached_property
    def algorithms(self) -> list[dict[str, object]]:
        return [
            {"alg": BY_NAME[name].identifier, "type": "public-key"}
            for name in self.profile.algorithms
        ]

    @cached_property
    def attestation_formats(self) -> list[str]:
        """WebAuthn's names for what MakeCredential can answer with."""
        own = self.profile.formats[0].removesuffix("-self")
        return [own] if own == "none" else [own, "none"]
