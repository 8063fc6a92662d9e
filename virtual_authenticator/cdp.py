"""The options and credentials of browser automation, read and written: Chrome DevTools Protocol
(domain WebAuthn) and WebDriver (WebAuthn Level 3, section 11).

Knows no browser: it only translates. What a browser's authenticator cannot express (several
transports, a counter that stays at zero at registration, ...) is listed by `losses`, not silently
dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .authenticator import Authenticator
from .cdp_credentials import (
    boolean,
    check_names,
    credential_from_json,
    credential_losses,
    credential_to_cdp,
    credential_to_webdriver,
    set_credential_properties,
)
from .counters import PerCredential
from .encoding import shorten
from .person import Gesture, Person
from .profile import Profile

__all__ = [
    "authenticator_from_options",
    "cdp_options",
    "credential_from_json",
    "credential_losses",
    "credential_to_cdp",
    "credential_to_webdriver",
    "losses",
    "person_from_options",
    "profile_from_options",
    "set_credential_properties",
    "webdriver_options",
]

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


def authenticator_from_options(options: Mapping[str, Any], **keywords: Any) -> Authenticator:
    """The device and the person that options of either protocol describe; keywords as for
    `Authenticator`."""
    person = person_from_options(options)
    return Authenticator(profile_from_options(options), person=person, **keywords)


def person_from_options(options: Mapping[str, Any]) -> Person:
    """What the options say of the person: `isUserConsenting` (WebDriver) and
    `automaticPresenceSimulation` (CDP) are true by default, `isUserVerified` is false."""
    check_names(options, _OPTIONS)
    person = Person()
    if not boolean({"isUserConsenting": True, **options}, "isUserConsenting"):
        person.always = Gesture.DECLINE
    elif not boolean(
        {"automaticPresenceSimulation": True, **options}, "automaticPresenceSimulation"
    ):
        person.always = Gesture.IGNORE
    elif boolean(options, "hasUserVerification") and not boolean(options, "isUserVerified"):
        person.always = Gesture.WRONG_FINGER
    return person


def profile_from_options(options: Mapping[str, Any]) -> Profile:
    """The profile that `WebAuthn.addVirtualAuthenticator` options (or WebDriver's) describe.

    `isUserVerified`, `isUserConsenting` and `automaticPresenceSimulation` describe a person, not a
    device: see `person_from_options`. Names that neither protocol has are refused.
    """
    check_names(options, _OPTIONS)
    version = _choice({"protocol": "ctap2", **options}, "protocol", _PROTOCOLS)
    if version != "u2f" and "ctap2Version" in options:
        version = _choice(options, "ctap2Version", _CDP_VERSIONS)
    transport = _choice(options, "transport", _TRANSPORTS)
    for name in _BOOLEANS:
        boolean(options, name)
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
        backup_eligible=boolean(options, "defaultBackupEligibility"),
        backup_state=boolean(options, "defaultBackupState"),
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
    if profile.certifications or profile.pin_complexity_url:
        lost.append("GetInfo says nothing of certifications and of the PIN policy's address")
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
