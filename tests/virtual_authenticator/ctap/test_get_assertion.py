"""GetAssertion and GetNextAssertion: which credentials, who was seen, and for how long."""

from __future__ import annotations

import pytest
from fido2.utils import sha256

from virtual_authenticator import Gesture

PIN = "2468"
HASH = bytes(range(32))


def identifier(made):
    return made.auth_data.credential_data.credential_id


@pytest.fixture
def three(platform):
    """Alice, Bob and Carol, discoverable, in this order; gives their ids by name."""
    return {
        name: identifier(
            platform.make(user=name.encode(), options={"rk": True}, token=platform.token())
        )
        for name in ("alice", "bob", "carol")
    }


# ---- steps 1 to 6


@pytest.mark.parametrize(("pin", "status"), [(None, "PIN_NOT_SET"), (PIN, "PIN_INVALID")])
def test_an_empty_param_asks_for_a_touch_only(new_key, platform_of, refuses, pin, status):
    platform = platform_of(new_key(pin=pin))
    touches = []
    with refuses(status):
        platform.get(pin_uv_param=b"", on_keepalive=touches.append)
    assert touches == [2]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"uv": True}, "INVALID_OPTION"),
        ({"rk": True}, "UNSUPPORTED_OPTION"),
        ({"rk": False}, "UNSUPPORTED_OPTION"),
        ({"up": "yes"}, "CBOR_UNEXPECTED_TYPE"),
        ({"unknown": True, "up": True, "uv": False}, None),
    ],
)
def test_options(platform, refuses, options, status):
    made = platform.make()
    if status is None:
        assert platform.get(allow=[identifier(made)], options=options)
    else:
        with refuses(status):
            platform.get(allow=[identifier(made)], options=options)


@pytest.mark.parametrize(
    ("options", "signed", "flags"),
    [
        (None, False, (True, False)),
        ({"up": False}, False, (False, False)),
        (None, True, (True, True)),
        ({"up": False}, True, (False, True)),
    ],
)
def test_flags_say_what_was_seen(platform, options, signed, flags):
    made = platform.make()
    touches = []
    got = platform.get(
        allow=[identifier(made)],
        options=options,
        token=platform.token() if signed else None,
        on_keepalive=touches.append,
    )

    got.verify(HASH, made.auth_data.credential_data.public_key)
    assert (got.auth_data.is_user_present(), got.auth_data.is_user_verified()) == flags
    assert touches == ([2] if flags[0] else [])


def test_always_uv_leaves_the_silent_look(new_key, platform_of, refuses):
    key = new_key(always_verifies=True, pin=PIN)
    platform = platform_of(key)
    made = platform.make(token=platform.token())

    with refuses("PUAT_REQUIRED"):
        platform.get(allow=[identifier(made)])
    assert not platform.get(
        allow=[identifier(made)], options={"up": False}
    ).auth_data.is_user_verified()


# ---- step 7: which credentials


def test_the_list_is_obeyed(platform, three):
    got = platform.get(allow=[b"unknown", three["bob"], three["alice"]])

    assert got.credential["id"] == three["bob"]
    assert got.number_of_credentials is None


def test_an_empty_list_is_none(platform, three):
    assert platform.get(allow=[]).credential["id"] == three["carol"]


@pytest.mark.parametrize("allow", [None, [b"unknown"]])
def test_nothing_found(platform, refuses, allow):
    platform.make()  # not discoverable, not listed
    with refuses("NO_CREDENTIALS"):
        platform.get(allow=allow)


def test_another_rps_credential_is_not_found(platform, three, refuses):
    with refuses("NO_CREDENTIALS"):
        platform.get("example.com", [three["bob"]])
    with refuses("NO_CREDENTIALS"):
        platform.get("example.com")


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("verified", [True, False])
def test_cred_protect(platform, refuses, level, listed, verified):
    made = platform.make(
        options={"rk": True}, extensions={"credProtect": level}, token=platform.token()
    )
    allow = [identifier(made)] if listed else None
    token = platform.token() if verified else None
    visible = verified or level == 1 or (level == 2 and listed)
    if visible:
        assert platform.get(allow=allow, token=token).credential["id"] == identifier(made)
    else:
        with refuses("NO_CREDENTIALS"):
            platform.get(allow=allow, token=token)


# ---- steps 11 to 13


def test_newest_first(platform, three):
    got = platform.ctap.get_assertions("example.org", HASH)

    assert [one.credential["id"] for one in got] == [three["carol"], three["bob"], three["alice"]]
    assert [one.number_of_credentials for one in got] == [3, None, None]
    for one in got:
        credential = platform.authenticator.credential(one.credential["id"])
        assert one.auth_data.counter == credential.sign_count


@pytest.mark.parametrize("verified", [True, False])
def test_names_are_for_who_was_verified(platform, three, verified):
    token = platform.token() if verified else None
    got = platform.ctap.get_assertions("example.org", HASH, **platform.signed(token))

    expected = {"id": b"bob"} | ({"name": "bob", "displayName": "Bob"} if verified else {})
    assert got[1].user == expected
    assert [one.auth_data.is_user_verified() for one in got] == [verified] * 3


def test_a_single_account_gives_its_id_only(platform):
    platform.make(options={"rk": True}, token=platform.token())
    assert platform.get(token=platform.token()).user == {"id": b"alice"}


def test_a_credential_that_is_not_discoverable_has_no_user(platform):
    made = platform.make()
    assert platform.get(allow=[identifier(made)]).user is None


# ---- GetNextAssertion


def test_next_without_a_first(platform, refuses):
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()


def test_next_after_the_last(platform, three, refuses):
    platform.ctap.get_assertions("example.org", HASH)
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()


def test_the_timer_starts_again_with_each(platform, three, clock, refuses):
    platform.get()
    clock.advance(30)
    platform.ctap.get_next_assertion()
    clock.advance(30)
    platform.ctap.get_next_assertion()


def test_the_timer_ends_it(platform, three, clock, refuses):
    platform.get()
    clock.advance(30.1)
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()
    clock.advance(-20)  # and it stays ended
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()


@pytest.mark.parametrize("other", ["get_info", "selection", "power_cycle", "u2f"])
def test_anything_else_ends_it(platform, three, refuses, other):
    platform.get()
    platform.ctap.get_next_assertion()
    if other == "power_cycle":
        platform.authenticator.ctap.power_cycle()
    elif other == "u2f":
        platform.authenticator.ctap.processor.process_apdu(bytes([0, 3, 0, 0]))
    else:
        getattr(platform.ctap, other)()
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()


def test_a_credential_deleted_meanwhile_is_not_used(platform, three, refuses):
    platform.get()
    platform.authenticator.remove_credential(three["bob"])
    with refuses("NOT_ALLOWED"):
        platform.ctap.get_next_assertion()
    assert platform.authenticator.credential(three["carol"])


# ---- hmac-secret


def secret_input(platform, salts, protocol_key=True):
    agreed, secret = platform.shared_secret()
    encrypted = platform.protocol.encrypt(secret, salts)
    inputs = {
        1: agreed,
        2: encrypted,
        3: platform.protocol.authenticate(secret, encrypted),
    }
    if protocol_key:
        inputs[4] = platform.protocol.VERSION
    return inputs, secret


def secrets(platform, allow, salts, token=None):
    inputs, secret = secret_input(platform, salts)
    got = platform.get(allow=allow, token=token, extensions={"hmac-secret": inputs})
    return platform.protocol.decrypt(secret, got.auth_data.extensions["hmac-secret"])


@pytest.fixture
def secretive(new_key, platform_of, protocol):
    platform = platform_of(new_key(pin=PIN), protocol)
    made = platform.make(extensions={"hmac-secret": True})
    return platform, [identifier(made)]


def test_one_salt_and_two(secretive):
    platform, allow = secretive
    one = secrets(platform, allow, bytes(32))
    two = secrets(platform, allow, bytes(32) + bytes([1]) * 32)

    assert len(one) == 32
    assert two[:32] == one != two[32:]


def test_verified_or_not_are_two_secrets(secretive):
    platform, allow = secretive
    without = secrets(platform, allow, bytes(32))
    with_token = secrets(platform, allow, bytes(32), token=platform.token())

    assert without != with_token
    assert with_token == secrets(platform, allow, bytes(32), token=platform.token())


def test_next_assertions_carry_secrets_too(platform):
    for user in (b"alice", b"bob"):
        platform.make(
            user=user,
            options={"rk": True},
            token=platform.token(),
            extensions={"hmac-secret": True},
        )
    inputs, secret = secret_input(platform, bytes(32))
    got = platform.ctap.get_assertions("example.org", HASH, None, {"hmac-secret": inputs})
    values = [
        platform.protocol.decrypt(secret, one.auth_data.extensions["hmac-secret"]) for one in got
    ]

    assert len(set(values)) == 2


def test_a_credential_without_a_secret_gives_none(platform):
    made = platform.make()
    inputs, _ = secret_input(platform, bytes(32))
    got = platform.get(allow=[identifier(made)], extensions={"hmac-secret": inputs})
    assert got.auth_data.extensions is None


@pytest.mark.parametrize("length", [0, 16, 48, 96])
def test_salts_of_a_wrong_length(secretive, refuses, length):
    platform, allow = secretive
    with refuses("INVALID_PARAMETER"):
        secrets(platform, allow, bytes(length))


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({1: None}, "MISSING_PARAMETER"),
        ({2: None}, "MISSING_PARAMETER"),
        ({3: None}, "MISSING_PARAMETER"),
        ({1: {}}, "INVALID_PARAMETER"),
        ({3: bytes(32)}, "PIN_AUTH_INVALID"),
        ({4: 7}, "INVALID_PARAMETER"),
        ({2: "text"}, "CBOR_UNEXPECTED_TYPE"),
    ],
    ids=str,
)
def test_broken_secret_inputs(secretive, refuses, change, status):
    platform, allow = secretive
    inputs, _ = secret_input(platform, bytes(32))
    inputs = {key: value for key, value in {**inputs, **change}.items() if value is not None}
    with refuses(status):
        platform.get(allow=allow, extensions={"hmac-secret": inputs})


def test_protocol_one_is_the_default(new_key, platform_of):
    from fido2.ctap2.pin import PinProtocolV1

    platform = platform_of(new_key(), PinProtocolV1())
    allow = [identifier(platform.make(extensions={"hmac-secret": True}))]
    inputs, secret = secret_input(platform, bytes(32), protocol_key=False)
    got = platform.get(allow=allow, extensions={"hmac-secret": inputs})
    value = platform.protocol.decrypt(secret, got.auth_data.extensions["hmac-secret"])

    assert value == secrets(platform, allow, bytes(32))


def test_no_secret_without_a_touch(secretive, refuses):
    platform, allow = secretive
    inputs, _ = secret_input(platform, bytes(32))
    with refuses("UNSUPPORTED_OPTION"):
        platform.get(allow=allow, options={"up": False}, extensions={"hmac-secret": inputs})


# ---- shapes, and the person


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({1: "example.org"}, "MISSING_PARAMETER"),
        ({2: HASH}, "MISSING_PARAMETER"),
        ({1: b"example.org", 2: HASH}, "CBOR_UNEXPECTED_TYPE"),
        ({1: "example.org", 2: HASH[:-1]}, "INVALID_LENGTH"),
        ({1: "example.org", 2: HASH, 3: {}}, "CBOR_UNEXPECTED_TYPE"),
        ({1: "example.org", 2: HASH, 3: [b"id"]}, "CBOR_UNEXPECTED_TYPE"),
        ({1: "example.org", 2: HASH, 3: [{"id": b"id"}]}, "MISSING_PARAMETER"),
        ({1: "example.org", 2: HASH, 5: True}, "CBOR_UNEXPECTED_TYPE"),
        (
            {1: "example.org", 2: HASH, 3: [{"id": b"id", "type": "public-key"}] * 9},
            "LIMIT_EXCEEDED",
        ),
    ],
    ids=str,
)
def test_shapes(platform, three, refuses, request_, status):
    with refuses(status):
        platform.ctap.send_cbor(0x02, request_)


def test_the_person_decides(platform, three, refuses):
    platform.authenticator.person.will(Gesture.DECLINE)
    with refuses("OPERATION_DENIED"):
        platform.get()
    assert platform.get().auth_data.rp_id_hash == sha256(b"example.org")


# ---- many credentials


@pytest.mark.parametrize("verified", [False, True])
def test_an_answer_looks_at_no_more_credentials_than_it_gives(
    new_key, platform_of, monkeypatch, verified
):
    """However many there are: they are found by their RP ID and counted as they come and go."""
    key = new_key(capacity=0)
    platform = platform_of(key)
    for number in range(300):
        platform.make(f"{number % 3}.example", user=b"%d" % number, options={"rk": True})
    platform.pins.set_pin(PIN)
    seen = []
    newest_first = key.core.store.newest_first

    def counting(rp_id):
        for credential in newest_first(rp_id):
            seen.append(credential)
            yield credential

    monkeypatch.setattr(key.core.store, "newest_first", counting)
    token = platform_of(key).token(2, "1.example") if verified else None
    first = platform.get("1.example", token=token)
    second = platform.ctap.get_next_assertion()

    assert first.number_of_credentials == 100
    assert [first.user["id"], second.user["id"]] == [b"298", b"295"]
    assert len(seen) == 2


def test_counts_follow_what_comes_and_goes(platform):
    store = platform.authenticator.core.store

    def counted():
        return [store.count_for("example.org", verified=verified) for verified in (False, True)]

    for user, level in ((b"alice", 1), (b"bob", 3), (b"alice", 3), (b"carol", 1), (b"bob", 1)):
        platform.make(
            user=user,
            options={"rk": True},
            extensions={"credProtect": level},
            token=platform.token(1),
        )
        held = store.discoverable_for("example.org")
        assert counted() == [sum(one.protection == 1 for one in held), len(held)]
    assert store.copy().count_for("example.org", verified=False) == counted()[0]
    for one in store.discoverable_for("example.org"):
        store.remove(one.id)
    assert counted() == [0, 0]
    assert store.rp_id_of(sha256(b"example.org")) is None


@pytest.mark.parametrize("listed", [True, False])
def test_credentials_that_go_while_the_person_is_asked(three, platform, refuses, listed):
    """A page may delete them meanwhile; the command still ends with a status that fits."""
    key = platform.authenticator

    def delete(_):
        for credential in key.credentials:
            key.remove_credential(credential.id)

    with refuses("NOT_ALLOWED" if listed else "NO_CREDENTIALS"):
        platform.get(allow=[three["bob"]] if listed else None, on_keepalive=delete)
    assert not [entry for entry in key.log if entry.what == "ctap-defect"]
