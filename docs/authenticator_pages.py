"""The page on what the virtual authenticator has of WebAuthn and CTAP, and what it lacks.

The documents' own lists are here; whether an entry is there, the code tells.
"""

from __future__ import annotations

from collections.abc import Iterable

from virtual_authenticator import Profile, Rule, profiles
from virtual_authenticator.algorithms import ALGORITHMS, BY_NAME
from virtual_authenticator.attestation import FORMATS, TAKES
from virtual_authenticator.client_extensions import INPUTS
from virtual_authenticator.core import Core
from virtual_authenticator.ctap.features import Features
from virtual_authenticator.ctap.get_info import get_info
from virtual_authenticator.ctap.interaction import Interaction
from virtual_authenticator.ctap.parameters import Parameters
from virtual_authenticator.ctap.processor import commands_of
from virtual_authenticator.ctap.session import Session
from virtual_authenticator.faults import FAULTS

NOTE = (
    "<!-- Written by docs/make_pages.py from virtual_authenticator; change that, not this page. -->"
)

SIGNATURES = {
    -7: "ES256",
    -35: "ES384",
    -36: "ES512",
    -8: "EdDSA",
    -257: "RS256",
    -47: "ES256K",
    -37: "PS256",
    -53: "Ed448",
    -48: "ML-DSA-44",
    -49: "ML-DSA-65",
    -50: "ML-DSA-87",
    -9: "ESP256",
    -51: "ESP384",
    -52: "ESP512",
    -19: "Ed25519",
    -258: "RS384",
    -259: "RS512",
    -38: "PS384",
    -39: "PS512",
    -65535: "RS1",
}
"""IANA's registry of COSE algorithms, as far as relying parties of WebAuthn name them."""
STATEMENTS = {
    "none": "8.7",
    "packed": "8.2",
    "tpm": "8.3",
    "android-key": "8.4",
    "android-safetynet": "8.5",
    "fido-u2f": "8.6",
    "apple": "8.8",
    "compound": "8.9",
}
"""Attestation statement formats, with their sections in WebAuthn Level 3."""
CLIENT_EXTENSIONS = {
    "appid": "WebAuthn 10.1.1",
    "appidExclude": "WebAuthn 10.1.2",
    "credProps": "WebAuthn 10.1.3",
    "prf": "WebAuthn 10.1.4",
    "largeBlob": "WebAuthn 10.1.5",
    "credentialProtectionPolicy": "CTAP 2.1, 12.1",
    "credBlob": "CTAP 2.1, 12.2",
    "getCredBlob": "CTAP 2.1, 12.2",
    "minPinLength": "CTAP 2.1, 12.4",
    "pinComplexityPolicy": "CTAP 2.3",
    "hmacCreateSecret": "CTAP 2.1, 12.5",
    "hmacGetSecret": "CTAP 2.1, 12.5",
    "payment": "Secure Payment Confirmation",
}
COMMANDS = {
    0x01: "makeCredential",
    0x02: "getAssertion",
    0x04: "getInfo",
    0x06: "clientPIN",
    0x07: "reset",
    0x08: "getNextAssertion",
    0x09: "bioEnrollment",
    0x0A: "credentialManagement",
    0x0B: "selection",
    0x0C: "largeBlobs",
    0x0D: "authenticatorConfig",
}
CTAP_EXTENSIONS = (
    "credProtect",
    "credBlob",
    "largeBlobKey",
    "largeBlob",
    "minPinLength",
    "pinComplexityPolicy",
    "hmac-secret",
    "hmac-secret-mc",
    "thirdPartyPayment",
)
INFO_MEMBERS = {
    0x01: "versions",
    0x02: "extensions",
    0x03: "aaguid",
    0x04: "options",
    0x05: "maxMsgSize",
    0x06: "pinUvAuthProtocols",
    0x07: "maxCredentialCountInList",
    0x08: "maxCredentialIdLength",
    0x09: "transports",
    0x0A: "algorithms",
    0x0B: "maxSerializedLargeBlobArray",
    0x0C: "forcePINChange",
    0x0D: "minPINLength",
    0x0E: "firmwareVersion",
    0x0F: "maxCredBlobLength",
    0x10: "maxRPIDsForSetMinPINLength",
    0x11: "preferredPlatformUvAttempts",
    0x12: "uvModality",
    0x13: "certifications",
    0x14: "remainingDiscoverableCredentials",
    0x15: "vendorPrototypeConfigCommands",
    0x16: "attestationFormats",
    0x17: "uvCountSinceLastPinEntry",
    0x18: "longTouchForReset",
    0x19: "encIdentifier",
    0x1A: "transportsForReset",
    0x1B: "pinComplexityPolicy",
    0x1C: "pinComplexityPolicyURL",
    0x1D: "maxPINLength",
    0x1E: "encCredStoreState",
    0x1F: "authenticatorConfigCommands",
}
INFO_OPTIONS = (
    "plat",
    "rk",
    "clientPin",
    "up",
    "uv",
    "pinUvAuthToken",
    "noMcGaPermissionsWithClientPin",
    "largeBlobs",
    "ep",
    "bioEnroll",
    "userVerificationMgmtPreview",
    "uvBioEnroll",
    "authnrCfg",
    "uvAcfg",
    "credMgmt",
    "perCredMgmtRO",
    "credentialMgmtPreview",
    "setMinPINLength",
    "makeCredUvNotRqd",
    "alwaysUv",
)
REASONS = {
    "vendorPrototypeConfigCommands": "it has no vendor",
    "userVerificationMgmtPreview": "a draft's name for bioEnroll",
    "credentialMgmtPreview": "a draft's name for credMgmt",
}
"""Why something is not there."""
ABLE = Profile(
    ctap="2.3",
    user_verification="built-in+pin",
    extensions=tuple(name for name in CTAP_EXTENSIONS if name != "largeBlob"),
    capacity=25,
    enterprise_attestation=True,
    pin_manages_only=True,
    certifications={"FIDO": 1},
    pin_complexity_url="https://vendor.example/pins",
)
"""A device that has all that a profile can have, but for what excludes each other."""
ABLE_OTHERWISE = ABLE.with_(extensions=("largeBlob",))


def completeness_page() -> str:
    """What is there, by the documents' own lists."""
    features = Features(ABLE)
    commands = commands_of(features)
    extensions = {*features.extensions, *Features(ABLE_OTHERWISE).extensions}
    info = get_info(Session(Core(ABLE)), Parameters({}), Interaction(Core(ABLE)))
    return "\n".join(
        [
            "# What the virtual authenticator has, and what it lacks",
            "",
            NOTE,
            "",
            "By the lists of WebAuthn Level 3, CTAP 2.3 and IANA. How to use it: "
            "[virtual-authenticator](virtual-authenticator.md).",
            "",
            "## Algorithms",
            "",
            *_table(
                ("name", "COSE", "there", "a seed fixes signatures"),
                (
                    (name, str(number), _there(number in ALGORITHMS), _repeats(number))
                    for number, name in SIGNATURES.items()
                ),
            ),
            "",
            "## Attestation statements",
            "",
            "W3C's 15 test vectors (WebAuthn Level 3, section 16) are made byte for byte.",
            "",
            *_table(
                ("format", "section", "there", "for keys of"),
                (
                    (name, section, _there(name in FORMATS), _taken(name))
                    for name, section in STATEMENTS.items()
                ),
            ),
            "",
            "`packed` is made with certificates or by the credential's own key (`packed-self`), "
            "and for enterprises with the device's serial number.",
            "",
            "## Extensions of pages",
            "",
            *_table(
                ("input", "section", "there"),
                (
                    (name, section, _there(name in INPUTS))
                    for name, section in CLIENT_EXTENSIONS.items()
                ),
            ),
            "",
            "## CTAP commands",
            "",
            *_table(
                ("command", "number", "there"),
                (
                    (name, f"0x{number:02x}", _there(number in commands))
                    for number, name in COMMANDS.items()
                ),
            ),
            "",
            "U2F (register, authenticate, version) is there on security keys that it can express.",
            "",
            "## CTAP extensions",
            "",
            *_table(
                ("extension", "there"),
                ((name, _there(name in extensions)) for name in CTAP_EXTENSIONS),
            ),
            "",
            "A device has `largeBlobKey` (with the command largeBlobs) or `largeBlob`.",
            "",
            "## GetInfo",
            "",
            *_table(
                ("member", "number", "there"),
                (
                    (name, f"0x{number:02x}", _there(number in info, name))
                    for number, name in INFO_MEMBERS.items()
                ),
            ),
            "",
            *_table(
                ("option", "there"),
                ((name, _there(name in info[0x04], name)) for name in INFO_OPTIONS),
            ),
            "",
            "## Transports",
            "",
            "CTAPHID (in-process, over UDP on this machine, UHID on Linux) and NFC. Bluetooth and "
            "hybrid are not there: both need a radio, or somebody's tunnel service.",
            "",
            "## Profiles",
            "",
            *_table(
                ("profile", "CTAP", "verifies by", "attests", "algorithms", "extensions"),
                (_profile_row(name, shape) for name, shape in profiles().items()),
            ),
            "",
            "## The client",
            "",
            f"{len(Rule)} rules of a browser can be switched off one by one: "
            f"{', '.join(f'`{rule}`' for rule in Rule)}.",
            "",
            f"{len(FAULTS)} faults: {', '.join(f'`{name}`' for name in FAULTS)}.",
            "",
        ]
    )


def _there(is_there: bool, name: str = "") -> str:
    return "yes" if is_there else f"no: {REASONS[name]}" if name in REASONS else "no"


def _repeats(number: int) -> str:
    if number not in ALGORITHMS:
        return ""
    return "yes" if ALGORITHMS[number].repeats else "no, keys only"


def _taken(fmt: str) -> str:
    if fmt not in FORMATS:
        return ""
    return ", ".join(TAKES.get(fmt, ())) or f"all {len(BY_NAME)} algorithms"


def _profile_row(name: str, shape: Profile) -> tuple[str, ...]:
    return (
        f"`{name}`",
        shape.ctap,
        shape.user_verification,
        shape.attestation,
        ", ".join(shape.algorithms),
        ", ".join(shape.extensions),
    )


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [
        f"| {' | '.join(header)} |",
        "|" + "---|" * len(header),
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
