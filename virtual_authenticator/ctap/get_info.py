"""GetInfo (CTAP 2.1, section 6.4): the profile and the current state, as a platform reads them.

Knows the other commands only through `features`.
"""

from __future__ import annotations

from typing import Any

from .authorisation import INTERNAL_ATTEMPTS
from .features import MAXIMUM_MESSAGE
from .interaction import Interaction
from .parameters import Parameters
from .session import Session

FIRMWARE_VERSION = 1
MAXIMUM_PIN_LENGTH = 63
_FINGERPRINT_INTERNAL = 0x02
"""FIDO Registry of Predefined Values, section 3.1."""


def get_info(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    features, pin = session.features, session.core.pin
    info: dict[int, Any] = {
        0x01: features.versions,
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
    if features.pin:
        info[0x0C] = pin.force_change
        info[0x0D] = pin.minimum_length
    info[0x0E] = FIRMWARE_VERSION
    if features.built_in:
        info[0x11] = INTERNAL_ATTEMPTS
        info[0x12] = _FINGERPRINT_INTERNAL
    if features.resident_keys and session.remaining is not None:
        info[0x14] = session.remaining
    if features.since_2_3:
        info[0x16] = features.attestation_formats
        if features.pin:
            info[0x1D] = MAXIMUM_PIN_LENGTH
    return info


def _options(session: Session) -> dict[str, bool]:
    """A missing feature is absent, not false, if absence has its own meaning.

    setMinPINLength is absent because there is no authenticatorConfig command to set it with,
    although the minPinLength extension is supported.
    """
    features = session.features
    options = {
        "plat": features.profile.attachment == "platform",
        "rk": features.resident_keys,
        "up": True,
    }
    if features.built_in:
        options["uv"] = True
    if features.pin:
        options["clientPin"] = session.core.pin.hash is not None
    if features.since_2_1:
        options["makeCredUvNotRqd"] = features.make_credential_uv_not_required
        if features.tokens:
            options["pinUvAuthToken"] = True
        if features.credential_management:
            options["credMgmt"] = True
        if features.always_uv:
            options["alwaysUv"] = True
    return options
