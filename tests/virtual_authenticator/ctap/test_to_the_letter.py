"""Statuses that the text of CTAP names and that authenticators, and suites, often have differently.

Each test names the section (of CTAP 2.3, unless it says otherwise), and where others differ, how.
"""

from __future__ import annotations

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Gesture, NotAllowedError

PIN = "2468"


def identifier(made):
    return made.auth_data.credential_data.credential_id


def registers_and_asserts(platform, **options):
    """Both commands, in the form that needs nothing prepared."""
    yield lambda: platform.make(**options)
    held = platform.authenticator.credentials
    yield lambda: platform.get(allow=[held[0].id if held else b"none"], **options)


# ---- who is not verified


@pytest.mark.parametrize(
    ("changes", "pin", "status"),
    [
        ({"user_verification": "built-in"}, None, "OPERATION_DENIED"),
        ({"user_verification": "built-in+pin"}, None, "OPERATION_DENIED"),
        ({"user_verification": "built-in+pin"}, PIN, "PUAT_REQUIRED"),
        ({"user_verification": "pin"}, PIN, "PUAT_REQUIRED"),
    ],
)
def test_a_resident_key_without_verification(new_key, platform_of, refuses, changes, pin, status):
    """Section 6.1.2, step 7: a token is asked for only where one could be earned, with a PIN that
    is set; a device with nothing but a sensor denies. (Many answer PUAT_REQUIRED to all.)"""
    platform = platform_of(new_key(pin=pin, **changes))
    with refuses(status):
        platform.make(options={"rk": True})
    assert platform.make(options={"rk": False})
    if "built-in" in changes["user_verification"]:
        assert platform.make(options={"rk": True, "uv": True})


@pytest.mark.parametrize(
    ("ability", "status"), [("none", "OPERATION_DENIED"), ("pin", "PUAT_REQUIRED")]
)
def test_always_uv_where_nobody_can_be_verified(new_key, platform_of, refuses, ability, status):
    """Sections 6.1.2 step 6 and 6.2.2 step 5: it is having the PIN feature that counts here, not
    that a PIN is set."""
    platform = platform_of(new_key(always_verifies=True, user_verification=ability))
    for command in registers_and_asserts(platform):
        with refuses(status):
            command()


def test_a_silent_assertion_is_not_held_up_by_always_uv(new_key, platform_of, refuses):
    """Section 6.2.2, step 5 is about assertions with a touch only."""
    platform = platform_of(new_key(always_verifies=True, pin=PIN))
    made = platform.make(token=platform.token())
    with refuses("PUAT_REQUIRED"):
        platform.get(allow=[identifier(made)])
    silent = platform.get(allow=[identifier(made)], options={"up": False})
    assert not silent.auth_data.is_user_present()


@pytest.fixture
def fingers_only(new_key, platform_of):
    """A key whose PIN is for its settings (noMcGaPermissionsWithClientPin)."""
    shape = {"pin_manages_only": True, "always_verifies": False}
    return platform_of(new_key("security-key-biometric", pin=PIN, **shape))


def test_a_pin_that_manages_only_earns_no_token_for_ceremonies(fingers_only, refuses):
    """Sections 6.5.5.7.1 and 6.5.5.7.2: neither by name nor by default."""
    assert fingers_only.ctap.info.options["noMcGaPermissionsWithClientPin"] is True
    for permissions in (1, 2, 3, 5):
        with refuses("UNAUTHORIZED_PERMISSION"):
            fingers_only.token(permissions)
    assert fingers_only.token(4)
    nothing = fingers_only.pins.get_pin_token(PIN)  # CTAP 2.0's subcommand
    for command in registers_and_asserts(fingers_only, token=nothing):
        with refuses("PIN_AUTH_INVALID"):
            command()
    token = fingers_only.pins.get_uv_token(1, "example.org")
    assert fingers_only.make(token=token).auth_data.is_user_verified()


def test_such_a_pin_is_not_asked_for(fingers_only, refuses):
    """Sections 6.1.2 (steps 6, 7 and 11.2) and 6.2.2: no platform could do anything with it."""
    with refuses("OPERATION_DENIED"):
        fingers_only.make(options={"rk": True})
    fingers_only.authenticator.core.pin.uv_retries = 0
    with refuses("PIN_BLOCKED"):
        fingers_only.make(options={"uv": True})


def test_such_a_pin_verifies_nobody_for_a_page(fingers_only):
    """What is so over CTAP is so for pages."""
    key, party = fingers_only.authenticator, RelyingParty()
    selection = {"userVerification": "required"}
    assert party.register(key, authenticatorSelection=selection)
    key.core.pin.uv_retries = 0
    with pytest.raises(NotAllowedError, match="cannot verify"):
        key.create(party.creation_options(authenticatorSelection=selection), party.origin)


@pytest.mark.parametrize("shape", ["security-key", "security-key-2.0"])
def test_a_key_without_sensor_needs_its_pin(new_key, platform_of, shape):
    platform = platform_of(new_key(shape, pin=PIN, pin_manages_only=True))
    assert "noMcGaPermissionsWithClientPin" not in platform.ctap.info.options


# ---- no retries left


@pytest.mark.parametrize(("pin", "status"), [(None, "PIN_BLOCKED"), (PIN, "PUAT_REQUIRED")])
def test_no_verification_retries_left(new_key, platform_of, refuses, pin, status):
    """Sections 6.1.2 step 11.2 and 6.2.2 step 6.2: with a PIN set the platform shall ask for that,
    without one the status is PIN_BLOCKED, although no PIN is blocked. (OPERATION_DENIED is common.)
    """
    platform = platform_of(new_key("security-key-biometric", pin=pin))
    assert platform.make(options={"uv": True})
    platform.authenticator.core.pin.uv_retries = 0
    for command in registers_and_asserts(platform, options={"uv": True}):
        with refuses(status):
            command()


def test_the_last_wrong_finger(new_key, platform_of, refuses):
    """The same steps: what counts is whether any retry is left after the attempts."""
    platform = platform_of(new_key("security-key-biometric"))
    platform.authenticator.person.always = Gesture.WRONG_FINGER
    with refuses("OPERATION_DENIED"):  # three of five
        platform.make(options={"uv": True})
    with refuses("PIN_BLOCKED"):  # the other two
        platform.make(options={"uv": True})


def test_client_pin_has_a_status_of_its_own_for_that(new_key, platform_of, refuses):
    """Section 6.5.5.7.3, steps 7 and 10."""
    platform = platform_of(new_key("security-key-biometric"))
    platform.authenticator.core.pin.uv_retries = 0
    with refuses("UV_BLOCKED"):
        platform.pins.get_uv_token(1, "example.org")


# ---- a person who never acts


@pytest.mark.parametrize("shape", ["security-key", "security-key-2.0", "security-key-2.3"])
def test_nobody_acts(new_key, platform_of, refuses, clock, shape):
    """Sections 6.1.2 (steps 1 and 14) and 6.2.2 (steps 1 and 9) give a person who declines and one
    who never acts the same status. (USER_ACTION_TIMEOUT is what real keys often answer.)"""
    platform = platform_of(new_key(shape))
    platform.make()
    for gesture in (Gesture.DECLINE, Gesture.IGNORE):
        platform.authenticator.person.always = gesture
        for options in ({}, {"pin_uv_param": b"", "pin_uv_protocol": 1}):
            for command in registers_and_asserts(platform, **options):
                before = clock.now()
                with refuses("OPERATION_DENIED"):
                    command()
                waited = 30 if gesture is Gesture.IGNORE else 0
                assert clock.now() - before == pytest.approx(waited)
    assert len(platform.authenticator.credentials) == 1


def test_elsewhere_a_timeout_is_one(new_key, platform_of, refuses):
    """Sections 6.1.2 step 11.2, 6.5.5.7.3 step 10, 6.6 and 6.9: these tell the two apart."""
    platform = platform_of(new_key("security-key-biometric"))
    person = platform.authenticator.person
    for gesture, status in (
        (Gesture.IGNORE, "USER_ACTION_TIMEOUT"),
        (Gesture.DECLINE, "OPERATION_DENIED"),
    ):
        person.always = gesture
        platform.authenticator.ctap.power_cycle()
        for command in (
            lambda: platform.make(options={"uv": True}),
            lambda: platform.pins.get_uv_token(1, "example.org"),
            platform.ctap.selection,
        ):
            with refuses(status):
                command()
        platform.authenticator.ctap.power_cycle()
        with refuses(status):
            platform.ctap.reset()


# ---- options of CTAP 2.0


@pytest.mark.parametrize(
    ("command", "options", "before", "since"),
    [
        ("make", {"up": True}, "INVALID_OPTION", None),
        ("make", {"up": False}, "INVALID_OPTION", "INVALID_OPTION"),
        ("make", {"uv": True}, "UNSUPPORTED_OPTION", "INVALID_OPTION"),
        ("get", {"rk": True}, "INVALID_OPTION", "UNSUPPORTED_OPTION"),
        ("get", {"uv": True}, "UNSUPPORTED_OPTION", "INVALID_OPTION"),
        ("get", {"up": True}, None, None),
    ],
)
def test_options_then_and_now(new_key, platform_of, refuses, command, options, before, since):
    """CTAP 2.0, sections 5.1 and 5.2: an option that is known but not supported is
    UNSUPPORTED_OPTION, one that is known but not valid for the command is INVALID_OPTION, and `up`
    is not valid for MakeCredential. CTAP 2.1 (sections 6.1.2 step 5, 6.2.2 step 4) names another
    status for most of them, and takes `up: true`."""
    for shape, status in (("security-key-2.0", before), ("security-key", since)):
        platform = platform_of(new_key(shape))
        allow = [identifier(platform.make())]

        def run(platform=platform, allow=allow):
            if command == "make":
                return platform.make(options=options)
            return platform.get(allow=allow, options=options)

        if status is None:
            assert run()
        else:
            with refuses(status):
                run()


# ---- getNextAssertion


@pytest.fixture
def three(platform):
    for user in (b"alice", b"bob", b"carol"):
        platform.make(user=user, options={"rk": True}, token=platform.token())
    return platform


def test_every_assertion_is_given_once(three, refuses):
    """Section 6.3, step 2: beyond the last there is nothing, however often one asks."""
    first = three.get()
    rest = [three.ctap.get_next_assertion() for _ in range(2)]
    ids = [one.credential["id"] for one in (first, *rest)]

    assert first.number_of_credentials == 3
    assert [one.number_of_credentials for one in rest] == [None, None]
    assert len(set(ids)) == 3
    for _ in range(3):
        with refuses("NOT_ALLOWED"):
            three.ctap.get_next_assertion()


def test_nothing_is_left_of_an_assertion_that_something_else_followed(three, refuses):
    """Section 6: other commands end it, whether they succeed or not, and so does time."""

    def failing():
        with refuses("NO_CREDENTIALS"):
            three.get("example.net")

    ends = [
        three.ctap.get_info,
        lambda: three.get(allow=[three.authenticator.credentials[0].id]),
        failing,
        three.authenticator.ctap.power_cycle,
        lambda: three.authenticator.clock.advance(31),
    ]
    for end in ends:
        three.get()
        end()
        with refuses("NOT_ALLOWED"):
            three.ctap.get_next_assertion()
    with refuses("NOT_ALLOWED"):
        three.ctap.get_next_assertion()
    three.get()
    three.authenticator.clock.advance(30)
    assert three.ctap.get_next_assertion()


def test_credentials_that_come_or_go_in_between_end_it(three, refuses):
    """A page may use the same key; the rest would be of another list."""
    three.get()
    three.authenticator.remove_credential(three.authenticator.credentials[0].id)
    with refuses("NOT_ALLOWED"):
        three.ctap.get_next_assertion()
    assert three.get().number_of_credentials == 2


def test_hidden_credentials_are_not_counted(platform):
    """Section 6.2.2, step 7: numberOfCredentials is of those that the request may see."""
    for user, level in ((b"alice", 1), (b"bob", 2), (b"carol", 3), (b"dave", 1)):
        platform.make(
            user=user,
            options={"rk": True},
            extensions={"credProtect": level},
            token=platform.token(),
        )

    def seen(**token):
        first = platform.get(**token)
        rest = range(1, first.number_of_credentials or 1)
        every = [first, *(platform.ctap.get_next_assertion() for _ in rest)]
        return [one.user["id"] for one in every]

    assert seen() == [b"dave", b"alice"]
    assert seen(token=platform.token(2)) == [b"dave", b"carol", b"bob", b"alice"]
