"""What is answered in a straight line is what the long way would have answered: the same bytes from
the same seed, the same errors, the same log, the same state afterwards."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import (
    Authenticator,
    FaultError,
    ManualClock,
    RandomStep,
    Rule,
    WebAuthnError,
    cbor,
)
from virtual_authenticator.algorithms import BY_NAME
from virtual_authenticator.attestation import attestation_object
from virtual_authenticator.encoding import base64url_encode
from virtual_authenticator.entropy import Entropy

ORIGIN = "https://example.org"
USER = {"id": "dXNlcg", "name": "user", "displayName": "User"}
CREATION = {
    "rp": {"id": "example.org", "name": "Example"},
    "user": USER,
    "challenge": "AAAA",
    "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
    "authenticatorSelection": {"residentKey": "required", "userVerification": "required"},
}
SHAPES: dict[str, dict[str, Any]] = {
    "security-key": {},
    "full": {"shape": "security-key", "capacity": 1},
    "icloud-keychain": {},
    "u2f-key": {},
    "windows-hello": {},
    "harmless": {"shape": "security-key", "attestation": "packed-self", "aaguid": bytes(16)},
    "unattested": {"shape": "security-key", "attestation": "none"},
    "random": {"shape": "security-key", "counter": RandomStep(), "credential_id_length": 300},
    "backed-up": {
        "shape": "security-key",
        "backup_eligible": [True, False],
        "backup_state": [True, True, False],
    },
    "several": {"shape": "security-key", "algorithms": ["EdDSA", "ES384", "ES256"]},
}
GONE = object()
"""In place of a value: the member is not there."""


def twins(name: str = "security-key") -> tuple[Authenticator, Authenticator]:
    """Two devices that differ only in the way they go."""
    changes = {"shape": name, **SHAPES[name]}
    short, long = (Authenticator(seed="twins", clock=ManualClock(), **changes) for _ in range(2))
    long._ceremonies._plain.create = lambda *_: None  # type: ignore[method-assign]
    long._ceremonies._plain.get = lambda *_: None  # type: ignore[method-assign]
    return short, long


def end_of(device: Authenticator, ceremony: str, options: Any, **keywords: Any) -> Any:
    assert isinstance(device.clock, ManualClock)
    device.clock.advance(1)
    before = copy.deepcopy(options)
    try:
        return getattr(device, ceremony)(options, **{"origin": ORIGIN, **keywords})
    except (WebAuthnError, FaultError) as error:
        return type(error), getattr(error, "name", None), str(error)
    finally:
        assert options == before


def state_of(device: Authenticator) -> list[Any]:
    """All that `to_json` gives but the attestation key, which takes long to make."""
    core = device.core
    parts = core.store.to_json(), core.entropy.to_json(), core.pin.to_json()
    return [*parts, core.device_count, core.device_shown]


def assert_alike(short: Authenticator, long: Authenticator) -> None:
    assert list(short.log) == list(long.log)
    assert state_of(short) == state_of(long)
    for ceremony, options in (("create", CREATION), ("get", {"challenge": "AAAA"})):
        # The fault gives back the response before; what is kept for it has to be alike too.
        replay = {"faults": "replayed"}
        assert end_of(short, ceremony, options, **replay) == end_of(
            long, ceremony, options, **replay
        )


def changed(options: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with members changed; `a.b` is the member b of the object a."""
    made = copy.deepcopy(options)
    for path, value in changes.items():
        *parents, name = path.split(".")
        place = made
        for parent in parents:
            place = place[parent]
        if value is GONE:
            place.pop(name, None)
        else:
            place[name] = value
    return made


def some(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*values, GONE, None, 7])


OFFERED: list[Any] = [
    {"type": "public-key", "alg": alg} for alg in (-7, -8, -35, -257, 0, True, 1.5, None)
]
OFFERED += [{"type": "new", "alg": -7}, {"alg": -7}, {"type": 3, "alg": -7}, "text"]
PARAMETERS = st.lists(st.sampled_from(OFFERED), max_size=3)
VALUES: dict[str, list[Any]] = {
    "rp.id": ["example.org", "org", "other.example", ""],
    "rp.name": ["", "Ex\u00e4mple"],
    "user.id": ["", "AA", "AB", "A", "AA==", "a+bc", "A" * 86, "A" * 87, "A" * 88, "\u00e9"],
    "user.name": [""],
    "user.displayName": ["\ud800"],
    "challenge": ["", "AA", "AB", "A", "AA==", "a/bc", "\u00e9", "A" * 200],
    "pubKeyCredParams": [{}, "text", [], *([OFFERED[1], one] for one in OFFERED)],
    "timeout": [0, 60000, 2**32 - 1, 2**32, -1, 1.5, True, "x"],
    "attestation": ["none", "direct", "new", ""],
    "extensions": [{}, {"credProps": True}, {"prf": {}}, []],
    "excludeCredentials": [
        *([], {}, "", 0, [3]),
        [{"type": "public-key", "id": "AAAA"}],
        [{"type": "new", "id": "AA"}],
    ],
    "authenticatorSelection.residentKey": ["required", "preferred", "discouraged", "new"],
    "authenticatorSelection.requireResidentKey": [True, False, "x"],
    "authenticatorSelection.userVerification": ["required", "preferred", "discouraged", "new"],
    "authenticatorSelection.authenticatorAttachment": ["platform", "cross-platform", "new"],
}
MEMBERS = {name: some(*values) for name, values in VALUES.items()}
MEMBERS["pubKeyCredParams"] = st.one_of(PARAMETERS, MEMBERS["pubKeyCredParams"])
OBJECTS = {name: some({}, [], "text") for name in ("rp", "user", "authenticatorSelection")}
CREATIONS = st.one_of(
    st.fixed_dictionaries({}, optional=MEMBERS),
    st.fixed_dictionaries({}, optional=OBJECTS),
).map(lambda changes: changed(CREATION, changes))
KEYWORDS = st.fixed_dictionaries(
    {},
    optional={
        "ignoring": st.sampled_from([[rule] for rule in Rule] + [list(Rule)]),
        "cross_origin": st.booleans(),
        "top_origin": st.sampled_from(["", "https://top.example"]),
        "client_data_extra": st.sampled_from([{}, {"more": [1]}]),
        "origin": st.sampled_from(["https://www.example.org", "http://example.org", "x"]),
    },
)
GESTURES = st.lists(st.sampled_from(["decline", "ignore", "wrong-finger", "approve"]), max_size=2)


@pytest.mark.parametrize("member", VALUES)
def test_the_ways_of_create_agree_on_every_single_change(member: str) -> None:
    for value in [*VALUES[member], GONE, None, 7]:
        for name in SHAPES:
            short, long = twins(name)
            # The honest one stands first and last: the last replaces the first's credential.
            for options in (CREATION, changed(CREATION, {member: value}), CREATION):
                ends = [end_of(device, "create", options) for device in (short, long)]
                assert ends[0] == ends[1], (name, value)
            assert_alike(short, long)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(list(SHAPES)),
    requests=st.lists(CREATIONS, min_size=1, max_size=3),
    gestures=GESTURES,
    keywords=st.one_of(st.just({}), KEYWORDS),
)
def test_the_short_way_and_the_long_way_of_create_agree(
    name: str, requests: list[dict[str, Any]], gestures: list[str], keywords: dict[str, Any]
) -> None:
    short, long = twins(name)
    for device in (short, long):
        device.person.will(*gestures)
    for options in (CREATION, *requests, CREATION):
        ends = [end_of(device, "create", options, **keywords) for device in (short, long)]
        assert ends[0] == ends[1]
    assert_alike(short, long)


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(list(SHAPES)),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "timeout": some(0, 60000, 2**32 - 1, 2**32, 1.5, "x", True),
            "userVerification": some("required", "preferred", "discouraged"),
            "extensions": some({}, {"credProps": True}, {"prf": {"eval": {"first": "AAAA"}}}),
            "rpId": some("example.org", "org"),
            "challenge": some("AAAA", "AA==", "AB", "\u00e9"),
            "allowCredentials": some("this", "that", "both", [], "text", [3]),
        },
    ),
    gestures=GESTURES,
    keywords=st.one_of(st.just({}), KEYWORDS),
)
def test_the_short_way_and_the_long_way_of_get_agree(
    name: str, changes: dict[str, Any], gestures: list[str], keywords: dict[str, Any]
) -> None:
    short, long = twins(name)
    options: dict[str, Any] = {
        "challenge": "AAAA",
        "rpId": "example.org",
        "allowCredentials": "this",
        "userVerification": "required",
    }
    options = changed(options, changes)
    for device in (short, long):
        device.create(CREATION, ORIGIN, ignoring=list(Rule))
        device.person.will(*gestures)
    own = {"type": "public-key", "id": short.credentials[0].encoded_id}
    other = {"type": "public-key", "id": "AAAA", "transports": ["usb"]}
    lists = {"this": [own], "that": [other], "both": [other, own]}
    listed = options.get("allowCredentials")
    if isinstance(listed, str):
        options["allowCredentials"] = lists.get(listed, listed)
    for _ in range(2):
        ends = [end_of(device, "get", options, **keywords) for device in (short, long)]
        assert ends[0] == ends[1]
    assert_alike(short, long)


@pytest.mark.parametrize("name", ["security-key", "icloud-keychain", "unattested", "random"])
def test_what_is_plain_goes_the_short_way(name: str) -> None:
    """Else the comparisons above would compare the long way with itself."""
    device, party = twins(name)[0], RelyingParty()
    answered = {"create": 0, "get": 0}

    def counted(ceremony: str) -> Any:
        answer = getattr(device._ceremonies._plain, ceremony)

        def count(*given: Any) -> Any:
            response = answer(*given)
            answered[ceremony] += response is not None
            return response

        return count

    for ceremony in answered:
        setattr(device._ceremonies._plain, ceremony, counted(ceremony))
    selection = CREATION["authenticatorSelection"]
    held = party.register(device, authenticatorSelection=selection)["id"]
    party.sign_in(device, [held], userVerification="required")
    assert answered == {"create": 1, "get": 1}


def test_a_response_that_was_changed_leaves_the_next_replay_whole() -> None:
    device = twins()[0]
    first = device.create(CREATION, ORIGIN)
    whole = copy.deepcopy(first)
    first["response"]["transports"].append("changed")
    first["clientExtensionResults"]["changed"] = True
    assert device.create(CREATION, ORIGIN, faults="replayed") == whole


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_public_forms_are_those_of_the_library(name: str) -> None:
    """The DER of a curve's key is put together from a fixed beginning and the point."""
    algorithm = BY_NAME[name]
    for _ in range(5):
        key = algorithm.generate(Entropy())
        der, cose = algorithm.public_forms(key)
        public = key.public_key()
        assert der == public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        members = {"ML": 3, "Ed": 4, "RS": 4, "PS": 4, "ES": 5}[name[:2]]
        assert cose[0] == 0xA0 | members
        if isinstance(public, ec.EllipticCurvePublicKey):
            width = (public.curve.key_size + 7) // 8
            numbers = public.public_numbers()
            assert numbers.x.to_bytes(width, "big") in cose
            assert cose.endswith(numbers.y.to_bytes(width, "big"))


@pytest.mark.parametrize("size", [0, 1, 23, 24, 37, 255, 256, 65535, 65536])
def test_the_attestation_object_without_statement_is_canonical(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    expected = {"fmt": "none", "attStmt": {}, "authData": data[:size]}
    assert cbor.decode(attestation_object("none", {}, data[:size])) == expected
    assert attestation_object("none", {}, data[:size]) == cbor.encode(expected)


def test_user_ids_of_every_allowed_length_go_the_short_way() -> None:
    short, long = twins("icloud-keychain")
    for length in (1, 2, 3, 63, 64):
        options = changed(CREATION, {"user.id": base64url_encode(bytes(length))})
        assert end_of(short, "create", options) == end_of(long, "create", options)
        assert short.credentials[-1].user_id == bytes(length)
