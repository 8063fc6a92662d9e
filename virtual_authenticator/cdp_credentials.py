"""Credentials in the JSON of browser automation, CDP's and WebDriver's.

Reached as `virtual_authenticator.cdp`. What the JSON cannot say is listed by `credential_losses`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from . import large_blobs
from .algorithms import algorithm_of, from_pkcs8, to_pkcs8
from .authenticator import Authenticator
from .counters import LIMIT
from .credentials import Credential
from .encoding import base64url_decode, base64url_encode, shorten

_CREDENTIAL_MEMBERS = (
    "credentialId",
    "isResidentCredential",
    "rpId",
    "privateKey",
    "userHandle",
    "signCount",
    "largeBlob",
    "backupEligibility",
    "backupState",
    "userName",
    "userDisplayName",
)


def credential_to_cdp(
    credential: Credential, device: Authenticator | None = None
) -> dict[str, Any]:
    """A WebAuthn.Credential of CDP: standard base64. See `credential_losses` for what it cannot
    say. The `device` is asked for a large blob that is not with the credential itself."""
    return _credential_json(credential, device, lambda data: base64.b64encode(data).decode("ascii"))


def credential_to_webdriver(
    credential: Credential, device: Authenticator | None = None
) -> dict[str, Any]:
    """Credential parameters of WebDriver: base64url; otherwise as for CDP."""
    return _credential_json(credential, device, base64url_encode)


def credential_losses(credential: Credential, device: Authenticator | None = None) -> list[str]:
    """What a credential has that the JSON of either protocol cannot say."""
    lost = []
    if credential.protection > 1:
        lost.append(f"credential protection {credential.protection} becomes 1")
    if credential.secrets is not None:
        lost.append("the secrets of prf and hmac-secret become new ones")
    if credential.credential_blob is not None:
        lost.append("the credBlob is gone")
    if credential.large_blob_key is not None and device is None:
        lost.append("the large blob stays on its device: give the device to write it too")
    if credential.third_party_payment:
        lost.append("it no longer serves payments of others")
    if credential.rp_name is not None:
        lost.append("the name of the relying party is gone")
    return lost


def _credential_json(
    credential: Credential, device: Authenticator | None, encode: Any
) -> dict[str, Any]:
    by_key = algorithm_of(credential.key)
    if by_key is not credential.algorithm:
        raise ValueError(
            f"credential: got a key for {credential.algorithm.name}, expected one that tells its "
            f"algorithm: the JSON holds the key alone, which a browser would take for {by_key.name}"
        )
    written: dict[str, Any] = {
        "credentialId": encode(credential.id),
        "isResidentCredential": credential.discoverable,
        "rpId": credential.rp_id,
        "privateKey": encode(to_pkcs8(credential.key)),
        "signCount": credential.sign_count,
        "backupEligibility": credential.backup_eligible,
        "backupState": credential.backup_state,
    }
    if credential.user_id:
        written["userHandle"] = encode(credential.user_id)
    if credential.user_name is not None:
        written["userName"] = credential.user_name
    if credential.user_display_name is not None:
        written["userDisplayName"] = credential.user_display_name
    blob = credential.large_blob
    if device is not None:
        blob = large_blobs.read(device.core, credential)
    if blob is not None:
        written["largeBlob"] = encode(blob)
    return written


def set_credential_properties(credential: Credential, members: Mapping[str, Any]) -> None:
    """What WebAuthn.setCredentialProperties (CDP) and Set Credential Properties (WebDriver) do."""
    check_names(members, ("backupEligibility", "backupState"))
    if "backupEligibility" in members:
        credential.backup_eligible = boolean(members, "backupEligibility")
    if "backupState" in members:
        credential.backup_state = boolean(members, "backupState")


def credential_from_json(members: Mapping[str, Any]) -> Credential:
    """A credential from CDP's or WebDriver's JSON: either alphabet of base64 is read. Members that
    neither has are refused."""
    check_names(members, _CREDENTIAL_MEMBERS)
    try:
        key = from_pkcs8(_bytes(members, "privateKey"))
    except (ValueError, TypeError) as error:
        raise ValueError(f"privateKey: got no usable key ({error}), expected PKCS#8") from None
    sign_count = members.get("signCount", 0)
    if type(sign_count) is not int or not 0 <= sign_count < LIMIT:
        raise ValueError(f"signCount: got {shorten(sign_count)}, expected 0 to 2^32-1")
    rp_id = _text(members, "rpId")
    if rp_id is None:
        raise ValueError("rpId: got nothing, expected a string")
    credential_id = _bytes(members, "credentialId")
    if not credential_id:
        raise ValueError("credentialId: got no bytes, expected at least one")
    return Credential(
        id=credential_id,
        rp_id=rp_id,
        key=key,
        user_id=_bytes(members, "userHandle") if members.get("userHandle") is not None else b"",
        user_name=_text(members, "userName"),
        user_display_name=_text(members, "userDisplayName"),
        discoverable=boolean(members, "isResidentCredential"),
        sign_count=sign_count,
        # The value is the one shown last, so that the next one follows it.
        shown=1,
        backup_eligible=boolean(members, "backupEligibility"),
        backup_state=boolean(members, "backupState"),
        large_blob=_bytes(members, "largeBlob") if members.get("largeBlob") is not None else None,
    )


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}: got {shorten(value)}, expected a string")
    return value


def _bytes(members: Mapping[str, Any], name: str) -> bytes:
    value = members.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: got {shorten(value)}, expected base64")
    try:
        return base64url_decode(value.rstrip("=").replace("+", "-").replace("/", "_"))
    except (ValueError, binascii.Error):
        raise ValueError(f"{name}: got {shorten(value)}, expected base64") from None


def check_names(members: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in members:
        if name not in known:
            raise ValueError(f"got {shorten(name)}, expected names among {', '.join(known)}")


def boolean(members: Mapping[str, Any], name: str) -> bool:
    value = members.get(name)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{name}: got {shorten(value)}, expected true or false")
    return bool(value)
