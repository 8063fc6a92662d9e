"""The android-safetynet format (WebAuthn Level 3, section 8.5): a signed web token in which
Google's service vouches for the phone and names this very registration.

Phones of today give android-key instead (see android-platform in profiles.toml); relying parties
that still take this one can be tested. The payload is that of the SafetyNet Attestation API.
"""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ..encoding import base64url_encode
from ..hardware import SafetyNet

if TYPE_CHECKING:
    from . import AttestationInput


def statement(given: AttestationInput) -> dict[str, Any]:
    identity = given.identity("android-safetynet")
    phone = identity.hardware
    assert isinstance(phone, SafetyNet)
    header = {
        "alg": identity.algorithm.name,
        "x5c": [b64encode(one).decode() for one in identity.certificates],
    }
    payload = {
        "nonce": b64encode(sha256(given.to_be_signed).digest()).decode(),
        "timestampMs": int(given.credential.created * 1000),
        "apkPackageName": "com.google.android.gms",
        "apkDigestSha256": b64encode(sha256(phone.version.encode()).digest()).decode(),
        "ctsProfileMatch": phone.profile_matches,
        "apkCertificateDigestSha256": [b64encode(sha256(b"gms").digest()).decode()],
        "basicIntegrity": phone.has_integrity,
        "evaluationType": "BASIC,HARDWARE_BACKED",
    }
    signed = ".".join(
        base64url_encode(json.dumps(part, separators=(",", ":")).encode())
        for part in (header, payload)
    )
    signature = given.sign_with(identity, signed.encode())
    return {
        "ver": phone.version,
        "response": f"{signed}.{base64url_encode(signature)}".encode(),
    }
