"""GetInfo (CTAP 2.3, section 6.4): the profile and the current state, as a platform reads them.

Knows the other commands only through `features`.
"""

from __future__ import annotations

import hmac
from typing import Any

from ..core import CREDENTIAL_BLOB_LENGTH, LARGE_BLOB_CAPACITY
from .authorisation import INTERNAL_ATTEMPTS
from .configuration import subcommands
from .features import (
    MAXIMUM_MESSAGE,
    MAXIMUM_PIN_LENGTH,
    MINIMUM_PIN_RP_IDS,
)
from .interaction import Interaction
from .parameters import Parameters
from .pin_protocols import encrypt_cbc, hkdf
from .session import Session

FIRMWARE_VERSION = 1
_FINGERPRINT_INTERNAL = 0x02
"""FIDO Registry of Predefined Values, section 3.1."""


def get_info(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    features, pin, settings = session.features, session.core.pin, session.core.settings
    info: dict[int, Any] = {
        0x01: [*(["U2F_V2"] if session.u2f else []), *features.versions],
        0x03: features.profile.aaguid,
        0x04: _options(session),
        0x05: MAXIMUM_MESSAGE,
    }
    if features.extensions:
        info[0x02] = features.extensions
    if features.pin_protocols:
        info[0x06] = features.pin_protocols
    if not features.since_2_1:
        return info  # CTAP 2.0 ends here (its section 5.4)
    info[0x07] = features.list_limit
    info[0x08] = features.id_limit
    info[0x09] = list(features.profile.transports)
    info[0x0A] = features.algorithms
    if features.large_blobs:
        info[0x0B] = LARGE_BLOB_CAPACITY
    if features.pin:
        info[0x0C] = pin.force_change
        info[0x0D] = pin.minimum_length
    info[0x0E] = FIRMWARE_VERSION
    if "credBlob" in features.extensions:
        info[0x0F] = CREDENTIAL_BLOB_LENGTH
    if features.configuration:
        info[0x10] = MINIMUM_PIN_RP_IDS
    if features.built_in:
        info[0x11] = INTERNAL_ATTEMPTS
        info[0x12] = _FINGERPRINT_INTERNAL
    if features.profile.certifications:
        info[0x13] = dict(features.profile.certifications)
    if features.resident_keys and session.remaining is not None:
        info[0x14] = session.remaining
    if not features.since_2_3:
        return info
    info[0x16] = features.attestation_formats
    if features.built_in and features.pin:
        info[0x17] = settings.verifications_since_pin
    if features.configuration:
        info[0x18] = settings.long_touch
    info[0x1A] = list(features.profile.transports)
    if "pinComplexityPolicy" in features.extensions:
        info[0x1B] = settings.pin_complexity
        if features.profile.pin_complexity_url:
            info[0x1C] = features.profile.pin_complexity_url.encode()
    if features.pin:
        info[0x1D] = MAXIMUM_PIN_LENGTH
    if features.persistent_token:
        info[0x19] = _sealed(session, session.identifier, b"encIdentifier")
        info[0x1E] = _sealed(session, _store_state(session), b"encCredStoreState")
    if features.configuration:
        info[0x1F] = sorted(subcommands(session))
    return info


def _sealed(session: Session, value: bytes, purpose: bytes) -> bytes:
    """A block of 16 bytes that only holders of the persistent token can read: IV and ciphertext."""
    start = session.random(16)
    return start + encrypt_cbc(hkdf(session.persistent_token, purpose)[:16], start, value)


def _store_state(session: Session) -> bytes:
    """Another value whenever a discoverable credential is made, changed or deleted."""
    changes = session.core.store.changes.to_bytes(8, "big")
    return hmac.digest(session.identifier, changes, "sha256")[:16]


def _options(session: Session) -> dict[str, bool]:
    """A missing feature is absent, not false, if absence has its own meaning."""
    features, settings = session.features, session.core.settings
    options = {
        "plat": features.profile.attachment == "platform",
        "rk": features.resident_keys,
        "up": True,
    }
    if features.built_in:
        options["uv"] = session.verifies_now
    if features.pin:
        options["clientPin"] = session.core.pin.hash is not None
    if features.since_2_1:
        options["makeCredUvNotRqd"] = session.uv_not_required
        if features.tokens:
            options["pinUvAuthToken"] = True
        if features.credential_management:
            options["credMgmt"] = True
        if features.persistent_token:
            options["perCredMgmtRO"] = True
        if features.large_blobs:
            options["largeBlobs"] = True
        if features.bio_enrollment:
            options["bioEnroll"] = bool(settings.fingerprints)
            options["uvBioEnroll"] = True
        if features.configuration:
            options["authnrCfg"] = options["setMinPINLength"] = True
            if features.built_in:
                options["uvAcfg"] = True
        if features.pin and not features.pin_verifies:
            options["noMcGaPermissionsWithClientPin"] = True
        if features.enterprise:
            options["ep"] = settings.enterprise
        if features.configuration or session.always_uv:
            options["alwaysUv"] = session.always_uv
    return options
