"""The options and credentials of browser automation, read and written: Chrome DevTools Protocol
(domain WebAuthn) and WebDriver (WebAuthn Level 3, section 11).

Knows no browser: it only translates. What a browser's authenticator cannot express (several
transports, a counter that stays at zero at registration, ...) is listed by `losses`, not silently
dropped.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from . import large_blobs
from .algorithms import algorithm_of, from_pkcs8, to_pkcs8
from .authenticator import Authenticator
from .counters import LIMIT, PerCredential
from .credentials import Credential
from .encoding import base64url_decode, base64url_encode, shorten
from .person import Gesture, Person
from .profile import Profile

# There is no device of CTAP 2.2 here; one of 2.3 comes nearest.
_CDP_VERSIONS = {"ctap2_0": "2.0", "ctap2_1": "2.1", "ctap2_2": "2.3"}
_PROTOCOLS = {"u2f": "u2f", "ctap1/u2f": "u2f", "ctap2": "2.0", "ctap2_1": "2.1"}
"""The first name is CDP's, the second and the last are WebDriver's."""
_TRANSPORTS = {name: name for name in ("usb", "nfc", "ble", "smart-card", "hybrid", "internal")} | {
    "cable": "hybrid"
}
"""With CDP's older name for hybrid."""
_BROWSER_AAGUID = bytes.fromhex("01020304050607080102030405060708")
"""What Chromium's virtual authenticator shows."""
_CDP_EXTENSIONS = {
    "hasPrf": "hmac-secret",
    "hasHmacSecret": "hmac-secret",
    "hasHmacSecretMc": "hmac-secret-mc",
    "hasMinPinLength": "minPinLength",
    "hasLargeBlob": "largeBlobKey",
    "hasCredBlob": "credBlob",
}
_NAMED_EXTENSIONS = {
    "prf": "hmac-secret",
    "largeBlob": "largeBlobKey",
    "credProps": None,  # which clients answer by themselves
} | {
    name: name
    for name in (
        "hmac-secret",
        "hmac-secret-mc",
        "minPinLength",
        "largeBlobKey",
        "credBlob",
        "credProtect",
    )
}
"""By the names that WebDriver's `extensions` may have."""
_SINCE_2_1 = ("largeBlobKey", "credBlob")
_BOOLEANS = (
    "hasResidentKey",
    "hasUserVerification",
    *_CDP_EXTENSIONS,
    "isUserVerified",
    "isUserConsenting",
    "automaticPresenceSimulation",
    "defaultBackupEligibility",
    "defaultBackupState",
)
_OPTIONS = ("protocol", "ctap2Version", "transport", "extensions", *_BOOLEANS)
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


def authenticator_from_options(options: Mapping[str, Any], **keywords: Any) -> Authenticator:
    """The device and the person that options of either protocol describe; keywords as for
    `Authenticator`."""
    person = person_from_options(options)
    return Authenticator(profile_from_options(options), person=person, **keywords)


def person_from_options(options: Mapping[str, Any]) -> Person:
    """What the options say of the person: `isUserConsenting` (WebDriver) and
    `automaticPresenceSimulation` (CDP) are true by default, `isUserVerified` is false."""
    _check_names(options, _OPTIONS)
    person = Person()
    if not _boolean({"isUserConsenting": True, **options}, "isUserConsenting"):
        person.always = Gesture.DECLINE
    elif not _boolean(
        {"automaticPresenceSimulation": True, **options}, "automaticPresenceSimulation"
    ):
        person.always = Gesture.IGNORE
    elif _boolean(options, "hasUserVerification") and not _boolean(options, "isUserVerified"):
        person.always = Gesture.WRONG_FINGER
    return person


def profile_from_options(options: Mapping[str, Any]) -> Profile:
    """The profile that `WebAuthn.addVirtualAuthenticator` options (or WebDriver's) describe.

    `isUserVerified`, `isUserConsenting` and `automaticPresenceSimulation` describe a person, not a
    device: see `person_from_options`. Names that neither protocol has are refused.
    """
    _check_names(options, _OPTIONS)
    version = _choice({"protocol": "ctap2", **options}, "protocol", _PROTOCOLS)
    if version != "u2f" and "ctap2Version" in options:
        version = _choice(options, "ctap2Version", _CDP_VERSIONS)
    transport = _choice(options, "transport", _TRANSPORTS)
    for name in _BOOLEANS:
        _boolean(options, name)
    named = options.get("extensions", [])
    if not isinstance(named, list):
        raise ValueError(f"extensions: got {shorten(named)}, expected a list of names")
    extensions = [extension for name, extension in _CDP_EXTENSIONS.items() if options.get(name)]
    for name in named:
        if not isinstance(name, str) or name not in _NAMED_EXTENSIONS:
            known = ", ".join(_NAMED_EXTENSIONS)
            raise ValueError(f"extensions: got {shorten(name)}, expected names among {known}")
        extensions.extend(filter(None, [_NAMED_EXTENSIONS[name]]))
    if version in ("2.1", "2.3"):
        extensions.append("credProtect")
    extensions = list(dict.fromkeys(extensions))
    for extension in _SINCE_2_1:  # as Chromium refuses it
        if extension in extensions and version not in ("2.1", "2.3"):
            raise ValueError(f"{extension}: got CTAP {version}, expected 2.1 or later")
    if "largeBlobKey" in extensions and not options.get("hasResidentKey"):
        raise ValueError("hasLargeBlob: got no hasResidentKey, expected it too")
    internal = transport == "internal"
    return Profile(
        name="cdp",
        title="as described by browser automation options",
        aaguid=bytes(16) if version == "u2f" else _BROWSER_AAGUID,  # U2F has no models
        transports=(transport,),
        attachment="platform" if internal else "cross-platform",
        algorithms=("ES256",) if version == "u2f" else ("ES256", "EdDSA", "RS256"),
        attestation="fido-u2f" if version == "u2f" else "packed",
        ctap=version,
        user_verification="built-in" if options.get("hasUserVerification") else "none",
        discoverable="on-request" if options.get("hasResidentKey") else "never",
        counter=PerCredential(start=1),
        backup_eligible=_boolean(options, "defaultBackupEligibility"),
        backup_state=_boolean(options, "defaultBackupState"),
        extensions=tuple(extensions),
    )


def cdp_options(profile: Profile) -> dict[str, Any]:
    """Options for `WebAuthn.addVirtualAuthenticator`; see `losses` for what they cannot say."""
    options: dict[str, Any] = {
        "protocol": "u2f" if profile.ctap == "u2f" else "ctap2",
        "transport": _one_transport(profile),
        "hasResidentKey": profile.discoverable != "never",
        "hasUserVerification": profile.verifies,
        "hasPrf": bool({"prf", "hmac-secret"} & set(profile.extensions)),
        "hasMinPinLength": "minPinLength" in profile.extensions,
        "hasLargeBlob": _has_large_blob(profile),
        "hasCredBlob": "credBlob" in profile.extensions and profile.ctap in ("2.1", "2.3"),
        "automaticPresenceSimulation": True,
        "isUserVerified": profile.verifies,
        "defaultBackupEligibility": profile.backup_eligible is True,
        "defaultBackupState": profile.backup_state is True,
    }
    if profile.ctap != "u2f":
        options["ctap2Version"] = "ctap2_0" if profile.ctap == "2.0" else "ctap2_1"
    return options


def webdriver_options(profile: Profile) -> dict[str, Any]:
    """Options for WebDriver's Add Virtual Authenticator."""
    cdp = cdp_options(profile)
    names = {"u2f": "ctap1/u2f", "2.0": "ctap2", "2.1": "ctap2_1", "2.3": "ctap2_1"}
    extensions = [
        *(name for name in ("credProtect", "minPinLength") if name in profile.extensions),
        *(["credBlob"] if cdp["hasCredBlob"] else []),
        *(["largeBlob"] if cdp["hasLargeBlob"] else []),
    ]
    return {
        "protocol": names[profile.ctap],
        "transport": cdp["transport"],
        "hasResidentKey": cdp["hasResidentKey"],
        "hasUserVerification": cdp["hasUserVerification"],
        "isUserConsenting": True,
        "isUserVerified": cdp["isUserVerified"],
        "extensions": [*extensions, *(["prf"] if cdp["hasPrf"] else [])],
        "defaultBackupEligibility": cdp["defaultBackupEligibility"],
        "defaultBackupState": cdp["defaultBackupState"],
    }


def _has_large_blob(profile: Profile) -> bool:
    return (
        bool({"largeBlob", "largeBlobKey"} & set(profile.extensions))
        and profile.ctap in ("2.1", "2.3")
        and profile.discoverable != "never"
    )


def losses(profile: Profile) -> list[str]:
    """What a browser's virtual authenticator made from this profile would do differently."""
    made = profile_from_options(cdp_options(profile))
    lost = []
    if profile.transports != made.transports:
        lost.append(f"transports {list(profile.transports)} become {list(made.transports)}")
    if profile.counter != made.counter:
        lost.append(f"counter {profile.counter.to_json()} becomes one that starts at 1")
    if profile.ctap != made.ctap:
        lost.append(f"CTAP {profile.ctap} becomes {made.ctap}")
    if (profile.backup_eligible, profile.backup_state) != (made.backup_eligible, made.backup_state):
        lost.append("backup flags that change with time stay as they are")
    if profile.has_pin:
        lost.append("a PIN becomes built-in user verification")
    if profile.always_verifies:
        lost.append("a device that always verifies its user does so on request")
    if profile.aaguid != made.aaguid:
        lost.append("the AAGUID becomes that of the browser")
    if profile.algorithms != made.algorithms:
        lost.append(f"algorithms {list(profile.algorithms)} become {list(made.algorithms)}")
    if profile.attestation != made.attestation:
        lost.append(f"attestation {profile.attestation} becomes {made.attestation}")
    if profile.discoverable != made.discoverable:
        lost.append("discoverable credentials are made on request, not always")
    if profile.capacity:
        lost.append(f"the capacity of {profile.capacity} credentials becomes unlimited")
    if profile.credential_id_length != made.credential_id_length:
        lengths = f"{profile.credential_id_length} bytes become {made.credential_id_length}"
        lost.append(f"credential ids of {lengths}")
    # To a page, prf and largeBlob are the same however a device implements them.
    alike = {"prf": "hmac-secret", "largeBlob": "largeBlobKey"}
    mine = sorted({alike.get(name, name) for name in profile.extensions})
    if mine != sorted(made.extensions):
        lost.append(f"extensions {mine} become {sorted(made.extensions)}")
    if profile.enterprise_attestation:
        lost.append("enterprise attestation is given to nobody")
    if profile.min_pin_length_rp_ids:
        lost.append("no relying party may learn the minimum PIN length")
    return lost


def _one_transport(profile: Profile) -> str:
    if profile.attachment == "platform":
        return "internal"
    for transport in profile.transports:
        if transport in _TRANSPORTS:
            return transport
    return "usb"


def _choice(options: Mapping[str, Any], name: str, choices: Mapping[str, str]) -> str:
    value = options.get(name)
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: got {shorten(value)}, expected one of {', '.join(choices)}")
    return choices[value]


# ---- credentials


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
    _check_names(members, ("backupEligibility", "backupState"))
    if "backupEligibility" in members:
        credential.backup_eligible = _boolean(members, "backupEligibility")
    if "backupState" in members:
        credential.backup_state = _boolean(members, "backupState")


def credential_from_json(members: Mapping[str, Any]) -> Credential:
    """A credential from CDP's or WebDriver's JSON: either alphabet of base64 is read. Members that
    neither has are refused."""
    _check_names(members, _CREDENTIAL_MEMBERS)
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
        discoverable=_boolean(members, "isResidentCredential"),
        sign_count=sign_count,
        # The value is the one shown last, so that the next one follows it.
        shown=1,
        backup_eligible=_boolean(members, "backupEligibility"),
        backup_state=_boolean(members, "backupState"),
        large_blob=_bytes(members, "largeBlob") if members.get("largeBlob") is not None else None,
    )


def _check_names(members: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in members:
        if name not in known:
            raise ValueError(f"got {shorten(name)}, expected names among {', '.join(known)}")


def _text(members: Mapping[str, Any], name: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name}: got {shorten(value)}, expected a string")
    return value


def _boolean(members: Mapping[str, Any], name: str) -> bool:
    value = members.get(name)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f"{name}: got {shorten(value)}, expected true or false")
    return bool(value)


def _bytes(members: Mapping[str, Any], name: str) -> bytes:
    value = members.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: got {shorten(value)}, expected base64")
    try:
        return base64url_decode(value.rstrip("=").replace("+", "-").replace("/", "_"))
    except (ValueError, binascii.Error):
        raise ValueError(f"{name}: got {shorten(value)}, expected base64") from None
