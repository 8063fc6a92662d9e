"""ClientPIN: the PIN and its retries, and tokens with permissions and a short life."""

from __future__ import annotations

import pytest
from fido2.ctap import CtapError
from fido2.ctap2 import ClientPin, CredentialManagement
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2
from fido2.utils import sha256

from virtual_authenticator import Authenticator, Gesture, ManualClock

PIN = "2468"
MAKE, GET, MANAGE, ENROL, BLOBS, CONFIGURE = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
READ_FOR_GOOD = 0x40


@pytest.fixture
def keyed(new_key, platform_of, protocol):
    """A key with a PIN, spoken to by each protocol in turn."""
    return platform_of(new_key(pin=PIN), protocol)


def wrong(platform, refuses, status="PIN_INVALID"):
    with refuses(status):
        platform.token(pin="0000")


# ---- setting and changing


def test_a_pin_is_set_and_gives_a_token(new_key, platform_of, protocol):
    platform = platform_of(new_key(), protocol)
    platform.pins.set_pin("12345678")

    token = platform.token(pin="12345678")

    assert len(token) == 32
    assert platform.make(token=token).auth_data.is_user_verified()


def test_a_second_set_is_refused(keyed, refuses):
    with refuses("PIN_AUTH_INVALID"):
        keyed.pins.set_pin("9999")


def test_a_pin_is_changed(keyed, refuses):
    keyed.pins.change_pin(PIN, "13579")

    wrong(keyed, refuses)
    with refuses("PIN_INVALID"):
        keyed.token(pin=PIN)
    assert keyed.token(pin="13579")


def test_changing_with_the_wrong_pin_costs_a_retry(keyed, refuses):
    with refuses("PIN_INVALID"):
        keyed.pins.change_pin("0000", "13579")

    assert keyed.pins.get_pin_retries()[0] == 7
    assert keyed.token(pin=PIN)


def test_without_a_pin_there_is_nothing_to_change_or_earn(new_key, platform_of, refuses):
    platform = platform_of(new_key())
    with refuses("PIN_NOT_SET"):
        platform.pins.change_pin("0000", "13579")
    with refuses("PIN_NOT_SET"):
        platform.token()


def send_new_pin(platform, padded):
    """What `set_pin` sends, with any plaintext in place of a padded PIN."""
    agreed, secret = platform.shared_secret()
    encrypted = platform.protocol.encrypt(secret, padded)
    platform.ctap.client_pin(
        platform.protocol.VERSION,
        ClientPin.CMD.SET_PIN,
        key_agreement=agreed,
        new_pin_enc=encrypted,
        pin_uv_param=platform.protocol.authenticate(secret, encrypted),
    )


@pytest.mark.parametrize(
    ("padded", "status"),
    [
        (b"123".ljust(64, b"\0"), "PIN_POLICY_VIOLATION"),
        ("ééé".encode().ljust(64, b"\0"), "PIN_POLICY_VIOLATION"),  # six bytes, three characters
        (b"7" * 64, "PIN_POLICY_VIOLATION"),
        (b"\xff" * 8 + bytes(56), "PIN_POLICY_VIOLATION"),
        (b"1234".ljust(48, b"\0"), "INVALID_PARAMETER"),
        (b"1234".ljust(80, b"\0"), "INVALID_PARAMETER"),
    ],
)
def test_a_pin_that_the_policy_forbids(new_key, platform_of, protocol, refuses, padded, status):
    platform = platform_of(new_key(), protocol)
    with refuses(status):
        send_new_pin(platform, padded)
    assert platform.ctap.get_info().options["clientPin"] is False


@pytest.mark.parametrize("pin", ["1234", "éééé", "7" * 63])
def test_a_pin_at_the_policys_edge(new_key, platform_of, pin):
    platform = platform_of(new_key())
    platform.pins.set_pin(pin)

    assert platform.token(pin=pin)
    assert platform.authenticator.core.pin.length == len(pin)


def test_the_minimum_length_is_the_states(new_key, platform_of, refuses):
    platform = platform_of(new_key())
    platform.authenticator.core.pin.minimum_length = 6
    with refuses("PIN_POLICY_VIOLATION"):
        platform.pins.set_pin("12345")
    platform.pins.set_pin("123456")
    assert platform.ctap.get_info().min_pin_length == 6


@pytest.mark.parametrize("spoiled", ["signature", "ciphertext"])
def test_a_new_pin_must_be_signed(new_key, platform_of, protocol, refuses, spoiled):
    platform = platform_of(new_key(), protocol)
    agreed, secret = platform.shared_secret()
    encrypted = protocol.encrypt(secret, b"1234".ljust(64, b"\0"))
    signature = protocol.authenticate(secret, encrypted)
    if spoiled == "signature":
        signature = bytes([signature[0] ^ 1]) + signature[1:]
    else:
        encrypted = encrypted[:-1] + bytes([encrypted[-1] ^ 1])
    with refuses("PIN_AUTH_INVALID"):
        platform.ctap.client_pin(
            protocol.VERSION,
            ClientPin.CMD.SET_PIN,
            key_agreement=agreed,
            new_pin_enc=encrypted,
            pin_uv_param=signature,
        )


def test_a_changed_pin_must_be_signed_with_the_old_one(keyed, refuses):
    agreed, secret = keyed.shared_secret()
    old = keyed.protocol.encrypt(secret, sha256(PIN.encode())[:16])
    new = keyed.protocol.encrypt(secret, b"13579".ljust(64, b"\0"))
    with refuses("PIN_AUTH_INVALID"):
        keyed.ctap.client_pin(
            keyed.protocol.VERSION,
            ClientPin.CMD.CHANGE_PIN,
            key_agreement=agreed,
            pin_hash_enc=old,
            new_pin_enc=new,
            pin_uv_param=keyed.protocol.authenticate(secret, new),  # the old one left out
        )
    assert keyed.pins.get_pin_retries()[0] == 8
    assert keyed.token(pin=PIN)


def test_a_forced_change_gives_no_token_until_it_is_done(platform, refuses):
    platform.authenticator.core.pin.force_change = True

    assert platform.ctap.get_info().force_pin_change is True
    with refuses("PIN_POLICY_VIOLATION"):
        platform.token()
    with refuses("PIN_POLICY_VIOLATION"):
        platform.pins.change_pin(PIN, PIN)
    platform.pins.change_pin(PIN, "97531")
    assert platform.token(pin="97531")


# ---- retries and locks


def test_a_wrong_pin_counts_and_a_right_one_forgives(keyed, refuses):
    wrong(keyed, refuses)
    wrong(keyed, refuses)
    assert keyed.pins.get_pin_retries() == (6, False)

    keyed.token()

    assert keyed.pins.get_pin_retries() == (8, False)


def test_a_right_pin_between_keeps_the_lock_open(keyed, refuses):
    for _ in range(2):
        wrong(keyed, refuses)
        wrong(keyed, refuses)
        keyed.token()
    assert keyed.pins.get_pin_retries() == (8, False)


def test_a_wrong_pin_changes_the_key_agreement_of_that_protocol(new_key, platform_of, refuses):
    key = new_key(pin=PIN)
    one, two = platform_of(key, PinProtocolV1()), platform_of(key, PinProtocolV2())

    def public_keys():
        return [
            platform.ctap.client_pin(platform.protocol.VERSION, ClientPin.CMD.GET_KEY_AGREEMENT)[1]
            for platform in (one, two)
        ]

    before = public_keys()
    assert public_keys() == before
    wrong(two, refuses)
    after = public_keys()

    assert after[0] == before[0]
    assert after[1] != before[1]


def test_three_wrong_pins_lock_until_the_next_power_cycle(keyed, refuses):
    wrong(keyed, refuses)
    wrong(keyed, refuses)
    wrong(keyed, refuses, "PIN_AUTH_BLOCKED")

    assert keyed.pins.get_pin_retries() == (5, True)
    with refuses("PIN_AUTH_BLOCKED"):
        keyed.token(pin=PIN)  # even the right one
    with refuses("PIN_AUTH_BLOCKED"):
        keyed.pins.change_pin(PIN, "13579")
    assert keyed.pins.get_pin_retries() == (5, True)

    keyed.authenticator.ctap.power_cycle()

    assert keyed.pins.get_pin_retries() == (5, False)
    assert keyed.token(pin=PIN)


def test_eight_wrong_pins_lock_for_good(keyed, refuses):
    statuses = []
    for _ in range(8):
        try:
            keyed.token(pin="0000")
        except CtapError as error:
            statuses.append(error.code.name)
        if statuses[-1] == "PIN_AUTH_BLOCKED":
            keyed.authenticator.ctap.power_cycle()

    invalid, soft = "PIN_INVALID", "PIN_AUTH_BLOCKED"
    assert statuses == [invalid, invalid, soft, invalid, invalid, soft, invalid, "PIN_BLOCKED"]
    keyed.authenticator.ctap.power_cycle()
    with refuses("PIN_BLOCKED"):
        keyed.token(pin=PIN)
    with refuses("PIN_BLOCKED"):
        keyed.pins.change_pin(PIN, "13579")
    assert keyed.pins.get_pin_retries() == (0, False)


def test_the_lock_survives_saving(new_key, platform_of, refuses):
    platform = platform_of(new_key(pin=PIN))
    wrong(platform, refuses)
    restored = platform_of(Authenticator.from_json(platform.authenticator.to_json()))

    assert restored.pins.get_pin_retries()[0] == 7
    assert restored.token(pin=PIN)


# ---- permissions


@pytest.mark.parametrize(
    ("permission", "lacking", "able"),
    [
        (MANAGE, {"discoverable": "never"}, {}),
        (ENROL, {}, {"user_verification": "built-in+pin"}),
        (BLOBS, {"extensions": ["credBlob"]}, {}),
        (MAKE | BLOBS, {"extensions": ["credBlob"]}, {}),
        (READ_FOR_GOOD, {}, {"ctap": "2.3"}),
        (READ_FOR_GOOD, {"ctap": "2.3", "discoverable": "never"}, {"ctap": "2.3"}),
    ],
)
def test_permissions_that_the_key_lacks(new_key, platform_of, refuses, permission, lacking, able):
    with refuses("UNAUTHORIZED_PERMISSION"):
        platform_of(new_key(pin=PIN, **lacking)).token(permission)
    assert platform_of(new_key(pin=PIN, **able)).token(permission)


@pytest.mark.parametrize("permission", [MAKE, GET, MAKE | GET])
def test_making_and_getting_need_an_rp_id(platform, refuses, permission):
    with refuses("MISSING_PARAMETER"):
        platform.token(permission, None)
    assert platform.token(permission)


def test_no_permission_at_all_is_refused(platform, refuses):
    with refuses("INVALID_PARAMETER"):
        platform.token(0)


def test_a_refused_permission_costs_no_retry(platform, refuses):
    with refuses("UNAUTHORIZED_PERMISSION"):
        platform.token(ENROL, pin="0000")
    assert platform.pins.get_pin_retries()[0] == 8


def test_a_token_serves_only_its_permission(keyed, refuses):
    with refuses("PIN_AUTH_INVALID"):
        keyed.make(token=keyed.token(GET))
    made = keyed.make(token=keyed.token(MAKE))
    identifier = made.auth_data.credential_data.credential_id
    with refuses("PIN_AUTH_INVALID"):
        keyed.get(allow=[identifier], token=keyed.token(MAKE))
    assert keyed.get(allow=[identifier], token=keyed.token(GET)).auth_data.is_user_verified()


def test_a_token_serves_only_its_rp_id(keyed, refuses):
    token = keyed.token(MAKE, "example.org")
    with refuses("PIN_AUTH_INVALID"):
        keyed.make("example.com", token=token)
    assert keyed.make("example.org", token=token)


def test_an_old_style_token_is_bound_by_its_first_use(keyed, refuses):
    token = keyed.pins.get_pin_token(PIN)
    made = keyed.make("example.org", token=keyed.token(MAKE, "example.org"))
    token = keyed.pins.get_pin_token(PIN)
    identifier = made.auth_data.credential_data.credential_id

    silent = {"up": False}
    assert keyed.get("example.org", [identifier], token=token, options=silent)
    with refuses("PIN_AUTH_INVALID"):
        keyed.get("example.com", [identifier], token=token, options=silent)
    with refuses("PIN_AUTH_INVALID"):
        keyed.make("example.com", token=token)
    assert keyed.make("example.org", token=token)


def test_an_old_style_request_names_no_permissions(platform, refuses):
    agreed, secret = platform.shared_secret()
    with refuses("INVALID_PARAMETER"):
        platform.ctap.client_pin(
            platform.protocol.VERSION,
            ClientPin.CMD.GET_TOKEN_USING_PIN_LEGACY,
            key_agreement=agreed,
            pin_hash_enc=platform.protocol.encrypt(secret, sha256(PIN.encode())[:16]),
            permissions=MAKE,
        )


def test_an_old_style_token_cannot_manage(platform, refuses):
    token = platform.pins.get_pin_token(PIN)
    with refuses("PIN_AUTH_INVALID"):
        CredentialManagement(platform.ctap, platform.protocol, token).get_metadata()


def test_a_token_is_spent_by_a_touch(keyed, refuses):
    token = keyed.token(MAKE | GET)
    identifier = keyed.make(token=token).auth_data.credential_data.credential_id

    with refuses("PIN_AUTH_INVALID"):
        keyed.make(token=token)
    with refuses("PIN_AUTH_INVALID"):
        keyed.get(allow=[identifier], token=token)


def test_a_touch_takes_every_permission(keyed, refuses):
    token = keyed.token(MAKE | MANAGE)
    manage = CredentialManagement(keyed.ctap, keyed.protocol, token)
    keyed.make(token=token, options={"rk": True})
    with refuses("PIN_AUTH_INVALID"):
        manage.enumerate_creds(sha256(b"example.org"))


def test_a_silent_look_does_not_spend_it(keyed):
    identifier = keyed.make(token=keyed.token()).auth_data.credential_data.credential_id
    token = keyed.token(MAKE | GET)

    for _ in range(3):
        keyed.get(allow=[identifier], token=token, options={"up": False})

    assert keyed.make(user=b"bob", token=token)


def test_a_new_token_ends_the_last_one(keyed, refuses):
    old = keyed.token()
    keyed.token()
    with refuses("PIN_AUTH_INVALID"):
        keyed.make(token=old)


def test_a_token_belongs_to_its_protocol(new_key, platform_of, refuses):
    key = new_key(pin=PIN)
    one, two = platform_of(key, PinProtocolV1()), platform_of(key, PinProtocolV2())
    token = one.token()
    with refuses("PIN_AUTH_INVALID"):
        two.make(token=token)
    assert one.make(token=token)


def test_changing_the_pin_ends_tokens(keyed, refuses):
    token = keyed.token()
    keyed.pins.change_pin(PIN, "13579")
    with refuses("PIN_AUTH_INVALID"):
        keyed.make(token=token)


def test_a_power_cycle_ends_tokens_and_keys(keyed, refuses):
    agreed, secret = keyed.shared_secret()
    token = keyed.token()
    keyed.authenticator.ctap.power_cycle()
    with refuses("PIN_AUTH_INVALID"):
        keyed.make(token=token)
    with refuses("PIN_INVALID"):  # encrypted under a key that is gone
        keyed.ctap.client_pin(
            keyed.protocol.VERSION,
            ClientPin.CMD.GET_TOKEN_USING_PIN,
            key_agreement=agreed,
            pin_hash_enc=keyed.protocol.encrypt(secret, sha256(PIN.encode())[:16]),
            permissions=MAKE,
            permissions_rpid="example.org",
        )


# ---- time


@pytest.mark.parametrize(("seconds", "alive"), [(29.9, True), (30.0, False)])
def test_a_token_must_be_used_soon(keyed, clock, refuses, seconds, alive):
    token = keyed.token()
    clock.advance(seconds)
    if alive:
        assert keyed.make(token=token)
    else:
        with refuses("PIN_AUTH_INVALID"):
            keyed.make(token=token)


@pytest.mark.parametrize(("seconds", "alive"), [(599.0, True), (600.0, False)])
def test_a_used_token_lives_ten_minutes(platform, clock, refuses, seconds, alive):
    manage = CredentialManagement(platform.ctap, platform.protocol, platform.token(MANAGE, None))
    manage.get_metadata()
    clock.advance(seconds)
    if alive:
        manage.get_metadata()
    else:
        with refuses("PIN_AUTH_INVALID"):
            manage.get_metadata()


def test_a_clock_set_back_does_not_revive_a_token(platform, clock, refuses):
    token = platform.token()
    clock.advance(-3600)
    with refuses("PIN_AUTH_INVALID"):
        platform.make(token=token)


def test_a_2_0_token_knows_no_limits(new_key, platform_of, clock):
    platform = platform_of(new_key("security-key-2.0", pin=PIN))
    token = platform.pins.get_pin_token(PIN)
    clock.advance(3600)

    assert platform.make("example.org", token=token)
    assert platform.make("example.com", user=b"bob", token=token).auth_data.is_user_verified()


def test_a_2_0_key_has_no_permissions(new_key, platform_of, refuses):
    platform = platform_of(new_key("security-key-2.0", pin=PIN))
    agreed, secret = platform.shared_secret()
    with refuses("INVALID_PARAMETER"):
        platform.ctap.client_pin(
            1,
            ClientPin.CMD.GET_TOKEN_USING_PIN,
            key_agreement=agreed,
            pin_hash_enc=platform.protocol.encrypt(secret, sha256(PIN.encode())[:16]),
            permissions=MAKE,
            permissions_rpid="example.org",
        )


# ---- built-in verification


@pytest.fixture
def biometric(new_key, platform_of, protocol):
    return platform_of(new_key("security-key-biometric", pin=PIN), protocol)


def finger_token(platform, permissions=MAKE | GET, rp_id="example.org", **rest):
    return platform.pins.get_uv_token(ClientPin.PERMISSION(permissions), rp_id, **rest)


def test_a_finger_earns_a_token_that_carries_the_touch(biometric):
    asked = []
    token = finger_token(biometric, on_keepalive=asked.append)
    biometric.authenticator.person.will(Gesture.DECLINE)  # would refuse a second touch

    made = biometric.make(token=token)

    assert asked == [2]
    assert made.auth_data.is_user_present()
    assert made.auth_data.is_user_verified()
    assert list(biometric.authenticator.person.planned) == [Gesture.DECLINE]


def test_the_touch_in_a_token_fades(biometric, clock, refuses):
    identifier = biometric.make(
        token=finger_token(biometric)
    ).auth_data.credential_data.credential_id
    token = finger_token(biometric)
    biometric.get(allow=[identifier], token=token, options={"up": False})  # in use from here on
    clock.advance(30)
    biometric.authenticator.person.will(Gesture.DECLINE)

    with refuses("OPERATION_DENIED"):  # verified still, but it has to be touched again
        biometric.get(allow=[identifier], token=token)


def test_a_wrong_finger_counts_and_a_right_one_forgives(biometric, refuses):
    biometric.authenticator.person.will(Gesture.WRONG_FINGER)
    with refuses("UV_INVALID"):
        finger_token(biometric)
    assert biometric.pins.get_uv_retries() == 4
    assert finger_token(biometric)
    assert biometric.pins.get_uv_retries() == 5


def test_five_wrong_fingers_block_and_the_pin_opens_again(biometric, refuses):
    biometric.authenticator.person.will(*[Gesture.WRONG_FINGER] * 5)
    for status in ["UV_INVALID"] * 4 + ["UV_BLOCKED"] * 2:
        with refuses(status):
            finger_token(biometric)
    assert biometric.pins.get_uv_retries() == 0
    assert not biometric.authenticator.person.planned  # the sixth was not even asked for

    assert biometric.token(pin=PIN)
    assert finger_token(biometric)


@pytest.mark.parametrize(
    ("gesture", "status"),
    [(Gesture.DECLINE, "OPERATION_DENIED"), (Gesture.IGNORE, "USER_ACTION_TIMEOUT")],
)
def test_no_finger_no_token(biometric, refuses, gesture, status):
    biometric.authenticator.person.will(gesture)
    with refuses(status):
        finger_token(biometric)
    assert biometric.pins.get_uv_retries() == 5


def test_a_key_without_a_sensor_has_no_uv_subcommands(platform, refuses):
    with refuses("INVALID_SUBCOMMAND"):
        finger_token(platform)
    with refuses("INVALID_SUBCOMMAND"):
        platform.pins.get_uv_retries()


# ---- the handshake


def test_a_seed_fixes_the_device_side_of_the_handshake(platform_of):
    def public_keys(seed):
        platform = platform_of(Authenticator(seed=seed, clock=ManualClock()))
        return [
            platform.ctap.client_pin(version, ClientPin.CMD.GET_KEY_AGREEMENT)[1]
            for version in (1, 2)
        ]

    assert public_keys("a") == public_keys("a")
    assert public_keys("a") != public_keys("b")
    assert public_keys("a")[0] != public_keys("a")[1]


def test_talking_ctap_does_not_move_a_seeds_credentials(platform_of):
    """What a seed gives to pages stays the same whether or not a platform shook hands first."""
    quiet, talked = Authenticator(seed=1), Authenticator(seed=1)
    platform = platform_of(talked)
    platform.pins.set_pin(PIN)
    platform.token()

    assert quiet.core.entropy.bytes(16) == talked.core.entropy.bytes(16)


@pytest.mark.parametrize(
    ("version", "subcommand", "status"),
    [
        (3, 2, "INVALID_PARAMETER"),
        (None, 2, "MISSING_PARAMETER"),
        (1, None, "MISSING_PARAMETER"),
        (1, 3, "MISSING_PARAMETER"),
        (1, 4, "MISSING_PARAMETER"),
        (1, 5, "MISSING_PARAMETER"),
        (1, 9, "MISSING_PARAMETER"),
        (1, 8, "INVALID_SUBCOMMAND"),
        ("1", 2, "CBOR_UNEXPECTED_TYPE"),
        (1, True, "CBOR_UNEXPECTED_TYPE"),
    ],
)
def test_malformed_requests(platform, refuses, version, subcommand, status):
    with refuses(status):
        platform.ctap.client_pin(version, subcommand)
