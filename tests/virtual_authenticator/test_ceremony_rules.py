"""What a browser asks of an authenticator and of the person in front of it: each rule with the name
of its DOM exception, and with the ceremony that goes through once the rule is ignored."""

from __future__ import annotations

from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty, descriptor
from virtual_authenticator import (
    Authenticator,
    Gesture,
    InvalidStateError,
    ManualClock,
    NotAllowedError,
    Person,
    Rule,
)
from virtual_authenticator.encoding import base64url_decode, base64url_encode


def verified(response: dict[str, Any]) -> bool:
    data = AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))
    return data.is_user_verified()


def selection(**members: Any) -> dict[str, Any]:
    return {"authenticatorSelection": members}


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


# ---- excludeCredentials


@pytest.mark.parametrize("residence", ["required", "discouraged"])
def test_an_excluded_credential_is_an_invalid_state(residence: str) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    first = party.register(device, **selection(residentKey=residence))
    options = party.creation_options(
        user=user(1), excludeCredentials=[descriptor(b"elsewhere"), descriptor(first["id"])]
    )
    with pytest.raises(InvalidStateError) as caught:
        device.create(options, party.origin)
    assert caught.value.name == "InvalidStateError"
    assert len(device.credentials) == 1
    response = device.create(options, party.origin, ignoring=[Rule.EXCLUDE_CREDENTIALS])
    party.accept_registration(response)
    assert len(device.credentials) == 2


@pytest.mark.parametrize(
    "excluded",
    [
        [],
        [descriptor(b"elsewhere")],
        "unknown type",
    ],
)
def test_what_is_not_here_excludes_nothing(excluded: Any) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    first = party.register(device)
    if excluded == "unknown type":
        excluded = [{"type": "a-new-kind", "id": first["id"]}]
    party.register(device, user=user(1), excludeCredentials=excluded)


def test_the_same_id_at_another_relying_party_excludes_nothing() -> None:
    device = Authenticator("security-key")
    first = RelyingParty("other.example", "https://other.example").register(device)
    RelyingParty().register(device, excludeCredentials=[descriptor(first["id"])])


@pytest.mark.parametrize("gesture", [Gesture.DECLINE, Gesture.IGNORE])
def test_without_consent_a_page_learns_of_no_excluded_credential(gesture: Gesture) -> None:
    device, party = Authenticator("security-key", clock=ManualClock()), RelyingParty()
    first = party.register(device)
    device.person.will(gesture)
    with pytest.raises(NotAllowedError):
        device.create(
            party.creation_options(excludeCredentials=[descriptor(first["id"])]), party.origin
        )


@pytest.mark.parametrize(("verification", "excluded"), [("required", True), ("discouraged", False)])
def test_a_credential_that_needs_verification_excludes_only_with_it(
    verification: str, excluded: bool
) -> None:
    """CTAP 2.1, section 6.1.2, step 12.2: credProtect hides it from an unverified user."""
    device, party = Authenticator("security-key"), RelyingParty()
    first = party.register(
        device, extensions={"credentialProtectionPolicy": "userVerificationRequired"}
    )
    options = party.creation_options(
        user=user(1),
        excludeCredentials=[descriptor(first["id"])],
        **selection(userVerification=verification),
    )
    if excluded:
        with pytest.raises(InvalidStateError):
            device.create(options, party.origin)
    else:
        party.accept_registration(device.create(options, party.origin))


# ---- allowCredentials


def test_only_a_listed_credential_is_used() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    ids = [
        party.register(device, user=user(number), **selection(residentKey="required"))["id"]
        for number in range(3)
    ]
    for wanted in ids:
        assert party.sign_in(device, [b"elsewhere", wanted])["id"] == wanted
    assert party.sign_in(device, [ids[1], ids[0]])["id"] in ids[:2]
    assert party.sign_in(device)["id"] == ids[-1]
    assert party.sign_in(device, [])["id"] == ids[-1]


def test_a_list_without_a_credential_of_this_device_is_not_allowed() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device)
    options = party.request_options([b"elsewhere"])
    with pytest.raises(NotAllowedError) as caught:
        device.get(options, party.origin)
    assert caught.value.name == "NotAllowedError"
    response = device.get(options, party.origin, ignoring=[Rule.ALLOW_CREDENTIALS])
    party.accept_assertion(response)
    assert response["id"] == held["id"]


def test_a_list_of_unknown_types_is_not_an_empty_list() -> None:
    """Section 5.5: if all listed credentials are ignored, the ceremony fails."""
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device)
    unknown = {"type": "a-new-kind", "id": held["id"]}
    with pytest.raises(NotAllowedError):
        device.get(party.request_options(allowCredentials=[unknown]), party.origin)
    known = [unknown, descriptor(held["id"])]
    response = device.get(party.request_options(allowCredentials=known), party.origin)
    party.accept_assertion(response)


def test_another_relying_party_s_credential_cannot_be_listed() -> None:
    device = Authenticator("security-key")
    held = RelyingParty("other.example", "https://other.example").register(device)
    party = RelyingParty()
    with pytest.raises(NotAllowedError):
        device.get(party.request_options([held["id"]]), party.origin)


@pytest.mark.parametrize("listed", [None, []])
def test_a_credential_that_is_not_discoverable_needs_a_list(listed: Any) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device, **selection(residentKey="discouraged"))
    with pytest.raises(NotAllowedError):
        device.get(party.request_options(listed), party.origin)
    party.sign_in(device, [held["id"]])


def test_the_person_picks_an_account() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    ids = [party.register(device, user=user(number))["id"] for number in range(3)]
    for wanted in ids:
        raw = base64url_decode(wanted)
        for choice in (raw, device.credential(raw)):
            response = device.get(party.request_options(), party.origin, credential=choice)
            party.accept_assertion(response)
            assert response["id"] == wanted


def test_the_person_can_pick_only_what_the_page_may_have() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    other = RelyingParty("other.example", "https://other.example")
    foreign = other.register(device, **selection(residentKey="required"))
    first = party.register(device, user=user(0), **selection(residentKey="required"))
    second = party.register(device, user=user(1), **selection(residentKey="required"))
    hidden = party.register(device, user=user(2), **selection(residentKey="discouraged"))
    raw = {
        name: base64url_decode(one["id"])
        for name, one in {"foreign": foreign, "first": first, "hidden": hidden}.items()
    }
    with pytest.raises(NotAllowedError, match=r"is for 'other\.example'"):
        device.get(party.request_options(), party.origin, credential=raw["foreign"])
    options = party.request_options([second["id"]])
    with pytest.raises(NotAllowedError, match="allowCredentials"):
        device.get(options, party.origin, credential=raw["first"])
    party.accept_assertion(
        device.get(
            options, party.origin, credential=raw["first"], ignoring=[Rule.ALLOW_CREDENTIALS]
        )
    )
    options = party.request_options()
    with pytest.raises(NotAllowedError, match="discoverable"):
        device.get(options, party.origin, credential=raw["hidden"])
    party.accept_assertion(
        device.get(
            options, party.origin, credential=raw["hidden"], ignoring=[Rule.ALLOW_CREDENTIALS]
        )
    )
    with pytest.raises(KeyError, match=b"elsewhere".hex()):
        device.get(party.request_options(), party.origin, credential=b"elsewhere")


def test_an_empty_authenticator_has_nothing_to_offer() -> None:
    party = RelyingParty()
    with pytest.raises(NotAllowedError):
        Authenticator("icloud-keychain").get(party.request_options(), party.origin)


# ---- user verification


@pytest.mark.parametrize(
    ("ability", "always", "wanted", "expected"),
    [
        ("pin", False, "required", True),
        ("pin", False, "preferred", True),
        ("pin", False, "discouraged", False),
        ("pin", False, None, True),
        ("pin", False, "a-new-word", True),
        ("built-in", True, "discouraged", True),
        ("built-in+pin", False, "discouraged", False),
        ("none", False, "preferred", False),
        ("none", False, "discouraged", False),
        ("none", False, None, False),
    ],
)
def test_the_user_is_verified_as_wanted_and_able(
    ability: str, always: bool, wanted: str | None, expected: bool
) -> None:
    device = Authenticator(user_verification=ability, always_verifies=always)
    party = RelyingParty()
    members = {} if wanted is None else {"userVerification": wanted}
    registration = party.register(device, **selection(**members))
    assert verified(registration) is expected
    assert verified(party.sign_in(device, [registration["id"]], **members)) is expected


def test_required_verification_that_cannot_be_is_not_allowed() -> None:
    device, party = Authenticator("u2f-key"), RelyingParty()
    held = party.register(device)
    creation = party.creation_options(**selection(userVerification="required"))
    with pytest.raises(NotAllowedError):
        device.create(creation, party.origin)
    unverified = device.create(creation, party.origin, ignoring=[Rule.USER_VERIFICATION])
    assert not verified(unverified)
    request = party.request_options([held["id"]], userVerification="required")
    with pytest.raises(NotAllowedError):
        device.get(request, party.origin)
    response = device.get(request, party.origin, ignoring=["user-verification"])
    assert not verified(response)
    with pytest.raises(Exception, match=r"(?i)verif"):
        party.verify_assertion(response)
    party.require_user_verification = False
    party.accept_assertion(response)


# ---- attachment, resident key, capacity


@pytest.mark.parametrize(
    ("shape", "wanted"), [("security-key", "platform"), ("touch-id", "cross-platform")]
)
def test_the_wrong_attachment_is_not_allowed(shape: str, wanted: str) -> None:
    device, party = Authenticator(shape), RelyingParty()
    options = party.creation_options(**selection(authenticatorAttachment=wanted))
    with pytest.raises(NotAllowedError):
        device.create(options, party.origin)
    party.accept_registration(device.create(options, party.origin, ignoring=[Rule.ATTACHMENT]))


@pytest.mark.parametrize("wanted", ["cross-platform", "a-new-word", None])
def test_the_right_attachment_and_unknown_words_are_served(wanted: str | None) -> None:
    RelyingParty().register(
        Authenticator("security-key"), **selection(authenticatorAttachment=wanted)
    )


def test_a_required_resident_key_that_cannot_be_is_not_allowed() -> None:
    device, party = Authenticator("u2f-key"), RelyingParty()
    options = party.creation_options(**selection(residentKey="required"))
    with pytest.raises(NotAllowedError):
        device.create(options, party.origin)
    response = device.create(options, party.origin, ignoring=[Rule.RESIDENT_KEY])
    party.accept_registration(response)
    assert not device.credentials[0].discoverable


@pytest.mark.parametrize(
    ("ability", "members", "expected"),
    [
        ("on-request", {"residentKey": "required"}, True),
        ("on-request", {"residentKey": "preferred"}, True),
        ("on-request", {"residentKey": "discouraged"}, False),
        ("on-request", {}, False),
        ("on-request", {"requireResidentKey": True}, True),
        ("on-request", {"requireResidentKey": False}, False),
        ("on-request", {"requireResidentKey": None}, False),
        ("on-request", {"residentKey": "a-new-word", "requireResidentKey": True}, True),
        ("on-request", {"residentKey": "discouraged", "requireResidentKey": True}, False),
        ("always", {"residentKey": "discouraged"}, True),
        ("always", {}, True),
        ("never", {"residentKey": "preferred"}, False),
    ],
)
def test_discoverability_is_as_wanted_and_able(
    ability: str, members: dict[str, Any], expected: bool
) -> None:
    device, party = Authenticator(discoverable=ability), RelyingParty()
    response = party.register(device, extensions={"credProps": True}, **selection(**members))
    assert device.credentials[0].discoverable is expected
    assert response["clientExtensionResults"]["credProps"] == {"rk": expected}


def test_a_full_authenticator_makes_no_more_discoverable_credentials() -> None:
    device, party = Authenticator("security-key", capacity=2), RelyingParty()
    required = selection(residentKey="required")
    for number in range(2):
        party.register(device, user=user(number), **required)
    options = party.creation_options(user=user(2), **required)
    with pytest.raises(NotAllowedError, match="full"):
        device.create(options, party.origin)
    response = device.create(options, party.origin, ignoring=[Rule.RESIDENT_KEY])
    party.accept_registration(response)
    assert not device.credential(base64url_decode(response["id"])).discoverable
    preferred = party.register(device, user=user(3), **selection(residentKey="preferred"))
    assert not device.credential(base64url_decode(preferred["id"])).discoverable


def test_a_full_authenticator_still_replaces_an_account_s_credential() -> None:
    device, party = Authenticator("security-key", capacity=1), RelyingParty()
    required = selection(residentKey="required")
    party.register(device, user=user(0), **required)
    second = party.register(device, user=user(0), **required)
    assert [base64url_encode(one.id) for one in device.credentials] == [second["id"]]


def test_a_deleted_credential_makes_room() -> None:
    device, party = Authenticator("security-key", capacity=1), RelyingParty()
    required = selection(residentKey="required")
    first = party.register(device, user=user(0), **required)
    device.remove_credential(base64url_decode(first["id"]))
    party.register(device, user=user(1), **required)


def test_one_account_has_one_discoverable_credential_on_a_device() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    first, second = party.register(device), party.register(device)
    assert first["id"] != second["id"]
    assert [base64url_encode(one.id) for one in device.credentials] == [second["id"]]
    with pytest.raises(NotAllowedError):
        device.get(party.request_options([first["id"]]), party.origin)


# ---- the person


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(
    ("gestures", "words"),
    [
        ([Gesture.DECLINE], "declined"),
        ([Gesture.IGNORE], "nobody acted"),
        ([Gesture.REMOVE], "taken away"),
        ([Gesture.WRONG_FINGER] * 3, "could not be verified"),
        ([Gesture.SMUDGE] * 3, "could not be verified"),
        ([Gesture.WRONG_FINGER, Gesture.DECLINE], "declined"),
    ],
)
def test_without_approval_nothing_is_allowed(
    ceremony: str, gestures: list[Gesture], words: str
) -> None:
    clock = ManualClock()
    device, party = Authenticator("icloud-keychain", clock=clock), RelyingParty()
    party.register(device)
    held, count = device.credentials, device.credentials[0].shown
    device.person.will(*gestures)
    options = party.creation_options() if ceremony == "create" else party.request_options()
    with pytest.raises(NotAllowedError, match=words) as caught:
        getattr(device, ceremony)(options, party.origin)
    assert caught.value.name == "NotAllowedError"
    assert device.credentials == held
    assert held[0].shown == count
    party.sign_in(device)  # every gesture was made, the next request is approved


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize("failures", [1, 2])
def test_a_wrong_finger_may_be_followed_by_the_right_one(ceremony: str, failures: int) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    device.person.will(*[Gesture.WRONG_FINGER] * failures)
    response = party.register(device) if ceremony == "create" else party.sign_in(device)
    assert verified(response)
    assert not device.person.planned


def test_any_finger_proves_presence_where_nobody_is_verified() -> None:
    device, party = Authenticator("u2f-key", person=Person("wrong-finger")), RelyingParty()
    assert not verified(party.register(device))


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(
    ("members", "seconds"),
    [({"timeout": 60_000}, 60), ({"timeout": 1.5}, 0.0015), ({"timeout": 0}, 0), ({}, 300)],
)
def test_a_person_who_never_acts_lets_the_timeout_pass(
    ceremony: str, members: dict[str, Any], seconds: float
) -> None:
    clock = ManualClock()
    device, party = Authenticator("icloud-keychain", clock=clock), RelyingParty()
    party.register(device)
    before = clock.now()
    device.person.will("ignore")
    options = (
        party.creation_options(**members)
        if ceremony == "create"
        else party.request_options(**members)
    )
    with pytest.raises(NotAllowedError):
        getattr(device, ceremony)(options, party.origin)
    assert clock.now() - before == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("standing", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("ceremony", ["create", "get"])
def test_a_client_that_ignores_the_timeout_waits_for_the_person(
    ceremony: str, standing: bool
) -> None:
    clock = ManualClock()
    device, party = Authenticator("icloud-keychain", clock=clock), RelyingParty()
    party.register(device)
    if standing:
        device.person.always = Gesture.IGNORE
    else:
        device.person.will("ignore")
    before = clock.now()
    options = (
        party.creation_options(timeout=5000)
        if ceremony == "create"
        else party.request_options(timeout=5000)
    )
    response = getattr(device, ceremony)(options, party.origin, ignoring=[Rule.TIMEOUT])
    if ceremony == "create":
        party.accept_registration(response)
    else:
        party.accept_assertion(response)
    assert clock.now() - before == 5


def test_a_client_that_ignores_the_timeout_still_sees_what_comes_next() -> None:
    device, party = Authenticator("icloud-keychain", clock=ManualClock()), RelyingParty()
    device.person.will("ignore", "decline")
    with pytest.raises(NotAllowedError, match="declined"):
        device.create(party.creation_options(), party.origin, ignoring=[Rule.TIMEOUT])


@pytest.mark.parametrize("gesture", ["decline", "remove", "ignore"])
def test_a_standing_gesture_is_made_every_time(gesture: str) -> None:
    device, party = Authenticator("icloud-keychain", clock=ManualClock()), RelyingParty()
    device.person.always = Gesture(gesture)
    for _ in range(3):
        with pytest.raises(NotAllowedError):
            device.create(party.creation_options(), party.origin)
    device.person.always = Gesture.APPROVE
    party.register(device)


def test_an_unknown_gesture_is_an_error_of_the_test() -> None:
    with pytest.raises(ValueError, match="shrug"):
        Person("shrug")
