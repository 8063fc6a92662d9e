"""GetInfo: every profile says what it is, in canonical CBOR."""

from __future__ import annotations

import pytest
from fido2.ctap2 import Ctap2
from fido2.hid import CAPABILITY

from virtual_authenticator import Authenticator, cbor, profile, profiles

CTAP2_PROFILES = [name for name, shape in profiles().items() if shape.ctap != "u2f"]
BY_VERSION = {
    "2.0": ["FIDO_2_0"],
    "2.1": ["FIDO_2_0", "FIDO_2_1"],
    "2.3": ["FIDO_2_0", "FIDO_2_1", "FIDO_2_3"],
}


@pytest.mark.parametrize("name", CTAP2_PROFILES)
def test_every_profile_answers_canonically(name):
    device = Authenticator(name).ctap

    answer = device.processor.process(b"\x04")

    assert answer[0] == 0
    assert cbor.encode(cbor.decode(answer[1:])) == answer[1:]
    assert Ctap2(device, strict_cbor=True).info.aaguid == profile(name).aaguid


@pytest.mark.parametrize("name", CTAP2_PROFILES)
def test_versions_follow_the_profile(name):
    versions = Ctap2(Authenticator(name).ctap).info.versions

    assert "FIDO_2_2" not in versions
    assert [one for one in versions if one != "U2F_V2"] == BY_VERSION[profile(name).ctap]
    assert "U2F_V2" not in versions[1:]


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("security-key", {}, True),
        ("security-key-2.0", {}, True),
        ("security-key-2.3", {}, True),
        ("security-key", {"always_verifies": True}, False),
        ("security-key", {"backup_eligible": True}, False),
        ("security-key", {"algorithms": ["EdDSA"]}, False),
        ("icloud-keychain", {}, False),
        ("phone-hybrid", {"always_verifies": False}, False),
    ],
)
def test_u2f_is_for_security_keys_that_can_sign_it(name, changes, expected):
    device = Authenticator(name, **changes).ctap

    assert ("U2F_V2" in Ctap2(device).info.versions) is expected
    assert bool(device.capabilities & CAPABILITY.NMSG) is not expected


def test_a_u2f_key_has_no_cbor():
    capabilities = Authenticator("u2f-key").ctap.capabilities

    assert not capabilities & CAPABILITY.CBOR
    assert not capabilities & CAPABILITY.NMSG


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "security-key",
            {
                "plat": False,
                "rk": True,
                "up": True,
                "clientPin": False,
                "pinUvAuthToken": True,
                "credMgmt": True,
                "makeCredUvNotRqd": True,
                "largeBlobs": True,
                "authnrCfg": True,
                "setMinPINLength": True,
                "alwaysUv": False,
            },
        ),
        ("security-key-2.0", {"plat": False, "rk": True, "up": True, "clientPin": False}),
        (
            "security-key-biometric",
            {
                "plat": False,
                "rk": True,
                "up": True,
                "uv": True,
                "clientPin": False,
                "pinUvAuthToken": True,
                "credMgmt": True,
                "makeCredUvNotRqd": False,
                "alwaysUv": True,
                "largeBlobs": True,
                "bioEnroll": True,
                "uvBioEnroll": True,
                "authnrCfg": True,
                "uvAcfg": True,
                "setMinPINLength": True,
            },
        ),
        (
            "security-key-2.3",
            {
                "plat": False,
                "rk": True,
                "up": True,
                "clientPin": False,
                "pinUvAuthToken": True,
                "credMgmt": True,
                "perCredMgmtRO": True,
                "makeCredUvNotRqd": True,
                "largeBlobs": True,
                "authnrCfg": True,
                "setMinPINLength": True,
                "alwaysUv": False,
            },
        ),
        (
            "android-platform",
            {
                "plat": True,
                "rk": False,
                "up": True,
                "uv": True,
                "pinUvAuthToken": True,
                "makeCredUvNotRqd": False,
                "alwaysUv": True,
            },
        ),
    ],
)
def test_options(name, expected):
    assert Ctap2(Authenticator(name).ctap).info.options == expected


def test_the_pin_and_the_room_left_show_at_once(new_key, platform_of):
    platform = platform_of(new_key(capacity=3))
    before = platform.ctap.get_info()
    platform.pins.set_pin("123456")
    platform.make(options={"rk": True}, token=platform.token(1, pin="123456"))
    after = platform.ctap.get_info()

    assert (before.options["clientPin"], after.options["clientPin"]) == (False, True)
    assert (before.remaining_disc_creds, after.remaining_disc_creds) == (3, 2)


@pytest.mark.parametrize(
    ("name", "protocols"),
    [("security-key-2.0", [1]), ("security-key", [2, 1]), ("windows-hello", [2, 1])],
)
def test_pin_protocols(name, protocols):
    assert Ctap2(Authenticator(name).ctap).info.pin_uv_protocols == protocols


def test_an_unverified_key_without_hmac_secret_has_no_pin_command():
    device = Authenticator("security-key", user_verification="none", extensions=[]).ctap

    assert Ctap2(device).info.pin_uv_protocols == []
    assert device.processor.process(b"\x06" + cbor.encode({1: 1, 2: 2})) == b"\x01"


def test_a_2_0_key_says_no_more_than_its_specification_has():
    answer = Authenticator("security-key-2.0").ctap.processor.process(b"\x04")

    assert set(cbor.decode(answer[1:])) == {1, 2, 3, 4, 5, 6}


def test_a_2_3_key_names_formats_and_the_longest_pin():
    info = Ctap2(Authenticator("security-key-2.3").ctap).info

    assert info.attestation_formats == ["packed", "none"]
    assert info.max_pin_length == 63
    assert "hmac-secret-mc" in info.extensions


@pytest.mark.parametrize("name", CTAP2_PROFILES)
def test_members_come_with_the_features_that_they_describe(name):
    """What a platform may conclude from an option, it finds the member for, and no others."""
    device = Authenticator(name).ctap
    info = cbor.decode(device.processor.process(b"\x04")[1:])
    options, extensions = info[0x04], info.get(0x02, [])
    since_2_1, since_2_3 = profile(name).ctap != "2.0", profile(name).ctap == "2.3"
    due = {
        0x0B: "largeBlobs" in options,
        0x0C: since_2_1 and "clientPin" in options,
        0x0D: since_2_1 and "clientPin" in options,
        0x0F: "credBlob" in extensions,
        0x10: "setMinPINLength" in options,
        0x11: since_2_1 and "uv" in options,
        0x12: since_2_1 and "uv" in options,
        0x16: since_2_3,
        0x17: since_2_3 and "bioEnroll" in options,
        0x18: since_2_3 and "authnrCfg" in options,
        0x19: "perCredMgmtRO" in options,
        0x1A: since_2_3,
        0x1B: "pinComplexityPolicy" in extensions,
        0x1D: since_2_3 and "clientPin" in options,
        0x1E: "perCredMgmtRO" in options,
        0x1F: since_2_3 and "authnrCfg" in options,
    }

    assert {member for member in due if member in info} == {
        m for m, is_due in due.items() if is_due
    }
    assert not set(info) - set(due) - {*range(0x01, 0x0B), 0x0E, 0x14}


def test_commands_are_there_if_getinfo_says_so():
    for name in CTAP2_PROFILES:
        device = Authenticator(name).ctap
        options = Ctap2(device).info.options
        commands = device.processor.commands
        assert (0x09 in commands) is ("bioEnroll" in options), name
        assert (0x0A in commands) is options.get("credMgmt", False), name
        assert (0x0C in commands) is options.get("largeBlobs", False), name
        assert (0x0D in commands) is options.get("authnrCfg", False), name


def test_what_a_vendor_may_add():
    key = Authenticator(
        "security-key-2.3",
        certifications={"FIDO": 2, "FIPS-CMVP-3": 1},
        pin_complexity_url="https://vendor.example/pins",
    )
    info = Ctap2(Authenticator.from_json(key.to_json()).ctap).info
    assert info.certifications == {"FIDO": 2, "FIPS-CMVP-3": 1}
    assert info.pin_complexity_policy_url == b"https://vendor.example/pins"
    plain = Ctap2(Authenticator("security-key-2.3").ctap).info
    assert plain.certifications == {}
    assert plain.pin_complexity_policy_url is None
