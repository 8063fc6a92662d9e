"""Malformed options: one exception, which says where, what was got and what was expected."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Authenticator, InvalidOptionsError, NotAllowedError, WebAuthnError
from virtual_authenticator.encoding import base64url_encode

MISSING = object()
HUGE = "x" * 1_000_000
LONGEST_MESSAGE = 400


def changed(options: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The options with the member at a dotted path (numbers are positions) set or removed."""
    options = copy.deepcopy(options)
    *parents, last = path.split(".")
    at: Any = options
    for name in parents:
        at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
    key = int(last) if isinstance(at, list) else last
    if value is MISSING:
        del at[key]
    else:
        at[key] = value
    return options


def written(path: str) -> str:
    """A path as messages write it: a.0.b is a[0].b."""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split("."))[1:]


TEXT = [None, 5, True, ["a"], {"a": 1}, b"bytes"]
BASE64 = [
    MISSING,
    None,
    5,
    b"bytes",
    ["AAAA"],
    "AAA=",
    "AA==",
    "A",
    "AAAAA",
    "a+b/",
    "AA AA",
    "AAAA\n",
    "Ä",
    "\uff21\uff21\uff21\uff21",
    "\ud800AAA",
    HUGE[:-1] + "=",
]
OBJECT = [MISSING, None, 5, "text", [], True, HUGE]
NUMBERS = ["60000", True, [], {}, math.nan, math.inf, -math.inf, -1, 2**32, 10**400, 10**5000, HUGE]
LISTS = ["", "text", 0, 5, True, False, {}, {"0": 1}, HUGE]

CREATION = [
    *(("rp", value) for value in OBJECT),
    *(("user", value) for value in OBJECT),
    *(("rp.name", value) for value in [MISSING, *TEXT]),
    *(("rp.id", value) for value in TEXT if value is not None),
    *(("user.name", value) for value in [MISSING, *TEXT]),
    *(("user.displayName", value) for value in [MISSING, *TEXT]),
    *(("user.id", value) for value in [*BASE64, "", base64url_encode(bytes(65))]),
    *(("challenge", value) for value in BASE64),
    *(("pubKeyCredParams", value) for value in [MISSING, None, *LISTS]),
    *(("pubKeyCredParams.1", value) for value in [None, -7, "ES256", [], HUGE]),
    *(("pubKeyCredParams.1.alg", value) for value in [MISSING, None, "-7", True, 1.5, [], HUGE]),
    *(("pubKeyCredParams.1.type", value) for value in [MISSING, None, 5, []]),
    *(("timeout", value) for value in NUMBERS),
    *(("excludeCredentials", value) for value in LISTS),
    *(("excludeCredentials.1", value) for value in [None, 5, "AAAA", [], HUGE]),
    *(("excludeCredentials.1.id", value) for value in BASE64),
    *(("excludeCredentials.1.type", value) for value in [MISSING, None, 5, []]),
    *(("excludeCredentials.1.transports", value) for value in ["usb", 5, {}, True]),
    *(("authenticatorSelection", value) for value in [5, "text", [], True, HUGE]),
    *(
        (f"authenticatorSelection.{name}", value)
        for name in ("authenticatorAttachment", "residentKey", "userVerification")
        for value in TEXT
        if value is not None
    ),
    *(("authenticatorSelection.requireResidentKey", value) for value in ["true", 1, [], {}, HUGE]),
    *(("attestation", value) for value in TEXT if value is not None),
    *(("extensions", value) for value in [5, "text", [], True, HUGE]),
]
REQUEST = [
    *(("challenge", value) for value in BASE64),
    *(("rpId", value) for value in TEXT if value is not None),
    *(("timeout", value) for value in NUMBERS),
    *(("allowCredentials", value) for value in LISTS),
    *(("allowCredentials.1", value) for value in [None, 5, "AAAA", [], HUGE]),
    *(("allowCredentials.1.id", value) for value in BASE64),
    *(("allowCredentials.1.type", value) for value in [MISSING, None, 5, []]),
    *(("allowCredentials.1.transports", value) for value in ["usb", 5, {}, True]),
    *(("userVerification", value) for value in TEXT if value is not None),
    *(("extensions", value) for value in [5, "text", [], True, HUGE]),
]


def label(value: Any) -> str:
    if value is MISSING:
        return "missing"
    if isinstance(value, int) and value > 2**64:
        return "huge-number"
    return ascii(value)[:48]


def creation_options() -> dict[str, Any]:
    descriptors = [{"type": "public-key", "id": "AAAA"}, {"type": "public-key", "id": "AAAB"}]
    return RelyingParty().creation_options(excludeCredentials=descriptors)


@pytest.fixture
def device() -> Authenticator:
    return Authenticator("icloud-keychain")


def check(caught: InvalidOptionsError, path: str) -> None:
    assert caught.where == written(path)
    assert str(caught) == f"{caught.where}: got {caught.got}, expected {caught.expected}"
    assert caught.got
    assert caught.expected
    assert len(str(caught)) < LONGEST_MESSAGE
    assert caught.name in ("TypeError", "EncodingError")
    assert isinstance(caught, WebAuthnError)
    assert isinstance(caught, ValueError)


@pytest.mark.parametrize(("path", "value"), CREATION, ids=label)
def test_malformed_creation_options_are_refused_with_their_place(
    device: Authenticator, path: str, value: Any
) -> None:
    options = creation_options()
    device.create(options, "https://example.org")  # whole, they are accepted
    with pytest.raises(InvalidOptionsError) as caught:
        device.create(changed(options, path, value), "https://example.org")
    check(caught.value, path)
    assert len(device.credentials) == 1


@pytest.mark.parametrize(("path", "value"), REQUEST, ids=label)
def test_malformed_request_options_are_refused_with_their_place(
    device: Authenticator, path: str, value: Any
) -> None:
    party = RelyingParty()
    held = party.register(device)
    options = party.request_options([held["id"], b"elsewhere"])
    device.get(options, party.origin)
    with pytest.raises(InvalidOptionsError) as caught:
        device.get(changed(options, path, value), party.origin)
    check(caught.value, path)


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(
    "options",
    [
        None,
        5,
        [],
        "",
        "no JSON",
        "[]",
        "null",
        '"text"',
        b"\xff",
        '{"challenge": "AAAA"',
        "[" * 100_000,
        {"publicKey": 5},
        {"publicKey": []},
        HUGE,
    ],
    ids=label,
)
def test_what_is_no_object_is_refused(device: Authenticator, ceremony: str, options: Any) -> None:
    with pytest.raises(InvalidOptionsError) as caught:
        getattr(device, ceremony)(options, "https://example.org")
    check(caught.value, "options")


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize("options", [{}, "{}", {"publicKey": {}}, {"publicKey": None}])
def test_empty_options_are_refused_for_what_is_missing(
    device: Authenticator, ceremony: str, options: Any
) -> None:
    with pytest.raises(InvalidOptionsError, match="got nothing, expected"):
        getattr(device, ceremony)(options, "https://example.org")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("user.id", "AAA=", "user.id: got 'AAA=', expected base64url without padding"),
        ("user.id", base64url_encode(bytes(65)), "user.id: got 65 bytes, expected 1 to 64 bytes"),
        ("user.id", "", "user.id: got 0 bytes, expected 1 to 64 bytes"),
        ("timeout", math.nan, "timeout: got nan, expected milliseconds from 0 to 2^32-1"),
        ("challenge", MISSING, "challenge: got nothing, expected a base64url string"),
        ("rp.name", 5, "rp.name: got 5, expected a string"),
    ],
)
def test_messages_read_well(device: Authenticator, path: str, value: Any, words: str) -> None:
    with pytest.raises(InvalidOptionsError) as caught:
        device.create(changed(creation_options(), path, value), "https://example.org")
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("value", "name"), [("AAA=", "EncodingError"), ("+/+/", "EncodingError"), (5, "TypeError")]
)
def test_broken_base64url_is_an_encoding_error_to_a_page(
    device: Authenticator, value: Any, name: str
) -> None:
    with pytest.raises(InvalidOptionsError) as caught:
        device.create(changed(creation_options(), "challenge", value), "https://example.org")
    assert caught.value.name == name


# ---- what is not malformed

HARMLESS = [
    ("attestation", "a-new-word"),
    ("attestation", None),
    ("authenticatorSelection", None),
    ("authenticatorSelection.residentKey", "a-new-word"),
    ("authenticatorSelection.userVerification", "a-new-word"),
    ("authenticatorSelection.authenticatorAttachment", "a-new-word"),
    ("authenticatorSelection.somethingNew", {"a": 1}),
    ("excludeCredentials.1.type", "a-new-word"),
    ("excludeCredentials.1.transports", ["a-new-word"]),
    ("excludeCredentials", None),
    ("pubKeyCredParams.1.type", "a-new-word"),
    ("timeout", None),
    ("timeout", 2**32 - 1),
    ("timeout", 0.5),
    ("extensions", None),
    ("extensions", {}),
    ("extensions.somethingNew", [1]),
    ("hints", ["security-key", "a-new-word"]),
    ("attestationFormats", ["packed"]),
    ("somethingNew", 5),
    ("user.id", base64url_encode(bytes(64))),
    ("user.id", "AA"),
    ("user.displayName", ""),
    ("rp.icon", "data:,"),
]


@pytest.mark.parametrize(("path", "value"), HARMLESS, ids=label)
def test_unknown_words_and_members_are_ignored(
    device: Authenticator, path: str, value: Any
) -> None:
    party = RelyingParty()
    options = changed(
        party.creation_options(
            excludeCredentials=[{"type": "public-key", "id": "AAAA"}, {"type": "x", "id": "AAAB"}]
        ),
        path,
        value,
    )
    party.accept_registration(device.create(options, party.origin))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("userVerification", "a-new-word"),
        ("hints", ["x"]),
        ("somethingNew", 1),
        ("timeout", None),
        ("allowCredentials", None),
        ("extensions", None),
    ],
)
def test_unknown_words_and_members_are_ignored_in_requests(
    device: Authenticator, name: str, value: Any
) -> None:
    party = RelyingParty()
    party.register(device)
    party.sign_in(device, **{name: value})


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "in publicKey"])
@pytest.mark.parametrize("form", [dict, json.dumps, lambda o: json.dumps(o).encode()])
def test_options_come_as_an_object_as_text_and_wrapped(
    device: Authenticator, ceremony: str, wrapped: bool, form: Any
) -> None:
    party = RelyingParty()
    party.register(device)
    options = party.creation_options() if ceremony == "create" else party.request_options()
    response = getattr(device, ceremony)(
        form({"publicKey": options} if wrapped else options), party.origin
    )
    if ceremony == "create":
        party.accept_registration(response)
    else:
        party.accept_assertion(response)


def test_options_are_left_as_they_were(device: Authenticator) -> None:
    party = RelyingParty()
    creation = party.creation_options(extensions={"credProps": True, "prf": {}})
    before = copy.deepcopy(creation)
    held = device.create(creation, party.origin)
    assert creation == before
    request = party.request_options([held["id"]], extensions={"prf": {"eval": {"first": "AAAA"}}})
    before = copy.deepcopy(request)
    device.get(request, party.origin)
    assert request == before


def test_a_mapping_that_is_no_dict_is_read_too(device: Authenticator) -> None:
    from types import MappingProxyType

    party = RelyingParty()
    creation = party.creation_options()
    creation["rp"] = MappingProxyType(creation["rp"])
    party.accept_registration(device.create(MappingProxyType(creation), party.origin))
    party.accept_assertion(device.get(MappingProxyType(party.request_options()), party.origin))


@pytest.mark.parametrize("ceremony", ["create", "get"])
def test_a_huge_rp_id_or_origin_makes_no_huge_message(device: Authenticator, ceremony: str) -> None:
    party = RelyingParty(rp_id=HUGE)
    options = party.creation_options() if ceremony == "create" else party.request_options()
    for origin in ("https://example.org", f"https://{HUGE}.org", HUGE):
        with pytest.raises(WebAuthnError) as caught:
            getattr(device, ceremony)(options, origin)
        assert len(str(caught.value)) < LONGEST_MESSAGE


def test_thousands_of_unknown_algorithms_make_no_huge_message(device: Authenticator) -> None:
    params = [{"type": "public-key", "alg": 10**5000}] * 5000
    with pytest.raises(WebAuthnError) as caught:
        device.create(
            RelyingParty().creation_options(pubKeyCredParams=params), "https://example.org"
        )
    assert caught.value.name == "NotSupportedError"
    assert len(str(caught.value)) < LONGEST_MESSAGE


def test_a_huge_list_of_allowed_credentials_is_searched(device: Authenticator) -> None:
    party = RelyingParty()
    held = party.register(device)
    others = [number.to_bytes(16, "big") for number in range(2000)]
    assert party.sign_in(device, [*others, held["id"]])["id"] == held["id"]
    with pytest.raises(NotAllowedError):
        device.get(party.request_options(list(others)), party.origin)
