"""AuthenticatorConfig, by python-fido2's Config; the subcommand that it lacks by hand."""

from __future__ import annotations

import pytest
from cryptography import x509
from fido2.ctap2 import Config, Ctap2
from fido2.hid import CAPABILITY
from fido2.utils import websafe_decode
from fido2.webauthn import AuthenticatorData

from virtual_authenticator import Authenticator, Gesture

PIN = "2468"
CONFIGURE, LARGE_BLOBS = 0x20, 0x10
LONG_TOUCH = 0x04
CREATION = {
    "rp": {"id": "example.org", "name": "Example"},
    "user": {"id": "AAAA", "name": "a", "displayName": "A"},
    "challenge": "AAAA",
    "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
    "authenticatorSelection": {"userVerification": "discouraged"},
}
"""What a page asks for."""


def configure(platform, permissions=CONFIGURE, pin=PIN):
    """python-fido2's Config, with a token if there is a PIN to earn it with."""
    info = platform.ctap.get_info()
    token = platform.token(permissions, None, pin) if info.options["clientPin"] else None
    return Config(Ctap2(platform.authenticator.ctap), platform.protocol, token)


@pytest.fixture
def newest(new_key, platform_of):
    """A CTAP 2.3 key with a PIN, and a platform at it."""
    return platform_of(new_key("security-key-2.3", pin=PIN))


# ---- who may


def test_a_key_without_a_pin_is_anyones_to_set_up(new_key, platform_of):
    platform = platform_of(new_key())
    configure(platform).set_min_pin_length(6)
    assert platform.ctap.get_info().min_pin_length == 6


def test_a_pin_guards_it(platform, refuses):
    with refuses("PUAT_REQUIRED"):
        Config(platform.ctap).toggle_always_uv()
    with refuses("PIN_AUTH_INVALID"):
        configure(platform, LARGE_BLOBS).toggle_always_uv()
    config = configure(platform)
    token = config.pin_uv.token
    config.pin_uv = config.pin_uv.__class__(config.pin_uv.protocol, bytes(32))
    with refuses("PIN_AUTH_INVALID"):
        config.toggle_always_uv()
    assert platform.ctap.get_info().options["alwaysUv"] is False

    Config(platform.ctap, platform.protocol, token).toggle_always_uv()
    assert platform.ctap.get_info().options["alwaysUv"] is True


@pytest.mark.parametrize(
    ("shape", "missing"),
    [
        ("security-key", LONG_TOUCH),
        ("security-key-2.3", 0x01),
        ("security-key-2.3", 0xFF),
    ],
)
def test_subcommands_that_a_key_lacks(new_key, platform_of, refuses, shape, missing):
    platform = platform_of(new_key(shape))
    with refuses("INVALID_SUBCOMMAND"):
        platform.ctap.config(missing)
    named = platform.ctap.info.authenticator_config_commands
    assert named == ([2, 3, 4] if shape == "security-key-2.3" else None)
    assert "ep" not in platform.ctap.info.options


# ---- alwaysUv


def test_always_uv_on_and_off(platform, refuses):
    device = platform.authenticator.ctap
    configure(platform).toggle_always_uv()
    info = platform.ctap.get_info()

    assert (info.options["alwaysUv"], info.options["makeCredUvNotRqd"]) == (True, False)
    assert "U2F_V2" not in info.versions  # section 7.2.4: it could not verify anyone
    assert device.capabilities & CAPABILITY.NMSG
    assert device.processor.process_apdu(bytes.fromhex("00030000000000")) == b"\x6d\x00"
    with refuses("PUAT_REQUIRED"):
        platform.make()
    made = platform.make(token=platform.token())
    with refuses("PUAT_REQUIRED"):
        platform.get(allow=[made.auth_data.credential_data.credential_id])

    configure(platform).toggle_always_uv()
    info = platform.ctap.get_info()
    assert (info.options["alwaysUv"], info.options["makeCredUvNotRqd"]) == (False, True)
    assert "U2F_V2" in info.versions
    assert device.processor.process_apdu(bytes.fromhex("00030000000000")) == b"U2F_V2\x90\x00"
    assert platform.make()


def test_always_uv_holds_for_pages_too(platform):
    key = platform.authenticator

    def flags():
        data = key.create(CREATION, "https://example.org")["response"]["authenticatorData"]
        return websafe_decode(data)[32]

    assert not flags() & 0x04
    configure(platform).toggle_always_uv()
    assert flags() & 0x04


def test_pages_learn_the_minimum_too(platform):
    key = platform.authenticator
    options = {**CREATION, "extensions": {"minPinLength": True}}

    def extensions():
        data = key.create(options, "https://example.org")["response"]["authenticatorData"]
        return AuthenticatorData(websafe_decode(data)).extensions

    assert extensions() is None
    configure(platform).set_min_pin_length(rp_ids=["example.org"])
    assert extensions() == {"minPinLength": 4}


def test_a_tap_and_a_smudge_mean_to_pages_what_they_mean_to_a_sensor(new_key):
    key = new_key("security-key-biometric")
    key.person.will("smudge", "tap")
    key.create(CREATION, "https://example.org")
    assert not key.person.planned


def test_a_vendor_who_set_always_uv_means_it(new_key, platform_of, refuses):
    platform = platform_of(new_key("security-key-biometric", pin=PIN))
    with refuses("OPERATION_DENIED"):
        configure(platform).toggle_always_uv()


def test_always_uv_alone_locks_all_but_itself(new_key, platform_of, refuses):
    """Section 6.11, step 3: without a PIN nobody could ever earn a token."""
    platform = platform_of(new_key())
    configure(platform).toggle_always_uv()
    with refuses("PUAT_REQUIRED"):
        configure(platform).set_min_pin_length(6)
    configure(platform).toggle_always_uv()
    assert platform.ctap.get_info().options["alwaysUv"] is False


# ---- minimum PIN length


def test_the_minimum_only_rises(platform, refuses):
    config = configure(platform)
    for lower in (0, 3):
        with refuses("PIN_POLICY_VIOLATION"):
            config.set_min_pin_length(lower)
    with refuses("PIN_POLICY_VIOLATION"):
        config.set_min_pin_length(64)
    config.set_min_pin_length(4)
    assert platform.ctap.get_info().force_pin_change is False

    config.set_min_pin_length(6)
    info = platform.ctap.get_info()
    assert (info.min_pin_length, info.force_pin_change) == (6, True)  # the PIN of now has four
    with refuses("PIN_POLICY_VIOLATION"):
        platform.token(CONFIGURE, None)
    with refuses("PIN_POLICY_VIOLATION"):
        platform.pins.change_pin(PIN, "97531")
    platform.pins.change_pin(PIN, "975312")
    assert platform.ctap.get_info().force_pin_change is False
    assert platform.token(CONFIGURE, None, "975312")


def test_a_change_of_pin_can_be_forced(platform, refuses):
    config = configure(platform)
    config.set_min_pin_length(force_change_pin=True)

    assert platform.ctap.get_info().force_pin_change is True
    with refuses("PIN_AUTH_INVALID"):  # the token went with it
        config.toggle_always_uv()
    with refuses("PIN_POLICY_VIOLATION"):
        platform.pins.change_pin(PIN, PIN)
    platform.pins.change_pin(PIN, "97531")


def test_without_a_pin_none_can_be_forced_to_change(new_key, platform_of, refuses):
    platform = platform_of(new_key())
    with refuses("PIN_NOT_SET"):
        configure(platform).set_min_pin_length(7, force_change_pin=True)
    assert platform.ctap.get_info().min_pin_length == 4  # refused as a whole


def test_relying_parties_that_may_learn_the_minimum(new_key, platform_of, refuses):
    platform = platform_of(new_key(pin=PIN, min_pin_length_rp_ids=["vendor.example"]))
    asks = {"minPinLength": True}

    def learns(rp_id):
        made = platform.make(rp_id, extensions=asks)
        return (made.auth_data.extensions or {}).get("minPinLength")

    assert [learns("vendor.example"), learns("example.org")] == [4, None]
    configure(platform).set_min_pin_length(rp_ids=["example.org", "example.com"])
    assert [learns("vendor.example"), learns("example.org")] == [4, 4]
    configure(platform).set_min_pin_length(rp_ids=["example.com"])  # takes their place
    assert [learns("vendor.example"), learns("example.org")] == [4, None]

    most = platform.ctap.info.max_rpids_for_min_pin
    configure(platform).set_min_pin_length(rp_ids=[f"{n}.example" for n in range(most)])
    with refuses("KEY_STORE_FULL"):
        configure(platform).set_min_pin_length(rp_ids=[f"{n}.example" for n in range(most + 1)])
    with refuses("CBOR_UNEXPECTED_TYPE"):
        configure(platform)._call(Config.CMD.SET_MIN_PIN_LENGTH, {2: [b"example.org"]})


# ---- PIN complexity


@pytest.mark.parametrize("simple", ["0000", "7777", "1234", "9876", "abcd"])
def test_pin_complexity(newest, refuses, simple):
    assert newest.ctap.info.pin_complexity_policy is False
    newest.pins.change_pin(PIN, simple)
    newest.pins.change_pin(simple, PIN)

    configure(newest).set_min_pin_length(rp_ids=["example.org"], pin_complexity_policy=True)

    assert newest.ctap.get_info().pin_complexity_policy is True
    with refuses("PIN_POLICY_VIOLATION"):
        newest.pins.change_pin(PIN, simple)
    newest.pins.change_pin(PIN, "1235")
    asks = {"pinComplexityPolicy": True}
    assert newest.make(extensions=asks).auth_data.extensions == {"pinComplexityPolicy": True}
    assert newest.make("example.com", extensions=asks).auth_data.extensions is None


def test_a_key_without_the_policy_ignores_the_wish(platform):
    configure(platform)._call(Config.CMD.SET_MIN_PIN_LENGTH, {4: True})
    platform.pins.change_pin(PIN, "0000")


# ---- enterprise attestation


def enterprise_key(new_key, **changes):
    return new_key(
        "security-key-2.3",
        pin=PIN,
        enterprise_attestation=True,
        enterprise_rp_ids=["work.example"],
        **changes,
    )


@pytest.mark.parametrize(
    ("kind", "rp_id", "shown"),
    [
        (1, "work.example", True),
        (1, "example.org", False),
        (2, "work.example", True),
        (2, "example.org", True),
    ],
)
def test_enterprise_attestation(new_key, platform_of, refuses, kind, rp_id, shown):
    platform = platform_of(enterprise_key(new_key))
    assert platform.ctap.info.authenticator_config_commands == [1, 2, 3, 4]
    with refuses("INVALID_PARAMETER"):
        platform.make(rp_id, enterprise_attestation=kind)
    configure(platform).enable_enterprise_attestation()
    configure(platform).enable_enterprise_attestation()  # once more changes nothing
    assert platform.ctap.get_info().options["ep"] is True

    usual = platform.make(rp_id).att_stmt["x5c"][0]
    made = platform.make(rp_id, enterprise_attestation=kind)

    assert made.ep_att is (True if shown else None)
    assert (made.att_stmt["x5c"][0] != usual) is shown
    with refuses("INVALID_OPTION"):
        platform.make(rp_id, enterprise_attestation=3)


def test_the_certificate_is_this_devices_and_stays(new_key, platform_of):
    def certificate(key):
        platform = platform_of(key)
        configure(platform).enable_enterprise_attestation()
        made = platform.make(enterprise_attestation=2)
        return made.att_stmt["x5c"][0]

    key = enterprise_key(new_key)
    mine = certificate(key)
    root = x509.load_der_x509_certificate(key.attestation_authority.root)
    x509.load_der_x509_certificate(mine).verify_directly_issued_by(root)

    assert certificate(Authenticator.from_json(key.to_json())) == mine
    key.ctap.power_cycle()
    platform_of(key).ctap.reset()
    assert platform_of(key).ctap.info.options["ep"] is False  # section 7.1.3
    assert certificate(key) == mine


# ---- long touch


def call(platform, subcommand):
    config = configure(platform)
    config._subcommands = None
    config._call(subcommand)


def test_a_long_touch_for_reset(newest, clock, refuses):
    newest.make()
    assert newest.ctap.info.long_touch_for_reset is False
    call(newest, LONG_TOUCH)
    assert newest.ctap.get_info().long_touch_for_reset is True

    key = newest.authenticator
    key.person.always = Gesture.TAP
    with refuses("USER_ACTION_TIMEOUT"):
        newest.ctap.reset()
    assert key.credentials

    key.person.always = Gesture.APPROVE
    key.ctap.power_cycle()
    key.person.will("tap")  # too short: the key goes on asking
    before, heard = clock.now(), []
    newest.ctap.reset(on_keepalive=heard.append)
    assert clock.now() - before == pytest.approx(6)
    assert heard == [2]
    assert not key.credentials
    assert newest.ctap.get_info().long_touch_for_reset is False


def test_a_tap_is_enough_for_everything_else(platform):
    platform.authenticator.person.always = Gesture.TAP
    assert platform.make()
    platform.ctap.selection()
    platform.ctap.reset()


# ---- how long it lasts


def test_settings_survive_a_power_cycle_and_a_save_but_not_a_reset(new_key, platform_of):
    newest = platform_of(enterprise_key(new_key))
    config = configure(newest)
    config.set_min_pin_length(4, ["example.org"], pin_complexity_policy=True)
    config.enable_enterprise_attestation()
    config.toggle_always_uv()
    key = newest.authenticator

    def shown(authenticator):
        info = Ctap2(authenticator.ctap).info
        return info.options["alwaysUv"], info.options["ep"], info.pin_complexity_policy

    key.ctap.power_cycle()
    assert shown(key) == (True, True, True)
    assert shown(Authenticator.from_json(key.to_json())) == (True, True, True)
    assert shown(key.clone()) == (True, True, True)
    newest.ctap.reset()
    assert shown(key) == (False, False, False)
    assert key.core.settings.minimum_pin_rp_ids == ()


def test_a_state_saved_before_there_were_settings_loads(platform):
    state = platform.authenticator.to_json()
    del state["settings"]
    loaded = Authenticator.from_json(state)
    assert Ctap2(loaded.ctap).info.options["alwaysUv"] is False
