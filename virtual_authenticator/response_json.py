"""What a page hands to its server: RegistrationResponseJSON and AuthenticationResponseJSON, as
plain objects (WebAuthn Level 3, section 5.1). Does not know how a response was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .attestation import attestation_object
from .credentials import Credential
from .encoding import base64url_encode

NO_RESULTS: Mapping[str, Any] = {}
"""Of a request without extensions."""


def registration_json(
    credential: Credential,
    client_data: bytes,
    data: bytes,
    public_der: bytes,
    attested: bytes | None,
    transports: Sequence[str],
    attachment: str,
    results: Mapping[str, Any] = NO_RESULTS,
) -> dict[str, Any]:
    """`attested` is the attestation object; None means the one without a statement."""
    encoded_id, encoded_data = credential.encoded_id, base64url_encode(data)
    if attested is None:
        head = _encoded_head(len(data))
        encoded_object = head + encoded_data if head else _encoded_whole(data)
    else:
        encoded_object = base64url_encode(attested)
    return {
        "id": encoded_id,
        "rawId": encoded_id,
        "response": {
            "clientDataJSON": base64url_encode(client_data),
            "authenticatorData": encoded_data,
            "transports": list(transports),
            "publicKey": base64url_encode(public_der),
            "publicKeyAlgorithm": credential.algorithm.identifier,
            "attestationObject": encoded_object,
        },
        "authenticatorAttachment": attachment,
        "clientExtensionResults": {**results},
        "type": "public-key",
    }


def _encoded_whole(data: bytes) -> str:
    return base64url_encode(attestation_object("none", {}, data))


@lru_cache(maxsize=64)
def _encoded_head(size: int) -> str:
    """The text before authenticator data of this size in an attestation object without statement;
    empty if it would end within a group of four characters."""
    whole = attestation_object("none", {}, bytes(size))
    head = len(whole) - size
    return "" if head % 3 else base64url_encode(whole[:head])


def assertion_json(
    credential: Credential,
    client_data: bytes,
    data: bytes,
    signature: bytes,
    attachment: str,
    results: Mapping[str, Any] = NO_RESULTS,
) -> dict[str, Any]:
    encoded_id = credential.encoded_id
    response = {
        "clientDataJSON": base64url_encode(client_data),
        "authenticatorData": base64url_encode(data),
        "signature": base64url_encode(signature),
    }
    if credential.discoverable:
        response["userHandle"] = credential.encoded_user_id
    return {
        "id": encoded_id,
        "rawId": encoded_id,
        "response": response,
        "authenticatorAttachment": attachment,
        "clientExtensionResults": {**results},
        "type": "public-key",
    }
