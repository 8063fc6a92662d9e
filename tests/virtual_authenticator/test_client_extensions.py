"""Extensions as a page sees them (WebAuthn Level 3, section 10; CTAP 2.1, section 12)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import (
    Authenticator,
    InvalidOptionsError,
    NotAllowedError,
    NotSupportedError,
    WebAuthnError,
)
from virtual_authenticator.client_extensions import INPUTS
from virtual_authenticator.encoding import base64url_decode, base64url_encode

FIRST, SECOND = base64url_encode(b"first"), base64url_encode(b"second")


def data_of(response: dict[str, Any]) -> AuthenticatorData:
    return AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


def prf(party: RelyingParty, device: Authenticator, held: str, **inputs: Any) -> dict[str, str]:
    changes = {"userVerification": inputs.pop("verification", "preferred")}
    response = party.sign_in(device, [held], extensions={"prf": inputs}, **changes)
    return response["clientExtensionResults"]["prf"]["results"]


# ---- credProps


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"credProps": True}, {"credProps": {"rk": True}}), ({"credProps": False}, {}), ({}, {})],
)
def test_cred_props_are_told_when_asked_for(given: dict, expected: dict) -> None:
    response = RelyingParty().register(Authenticator("icloud-keychain"), extensions=given)
    assert response["clientExtensionResults"] == expected


# ---- prf


@pytest.mark.parametrize("shape", ["icloud-keychain", "security-key", "security-key-2.3"])
def test_prf_is_enabled_where_the_device_has_it(shape: str) -> None:
    response = RelyingParty().register(Authenticator(shape), extensions={"prf": {}})
    assert response["clientExtensionResults"] == {"prf": {"enabled": True}}


def test_prf_is_not_enabled_where_the_device_lacks_it() -> None:
    device, party = Authenticator("touch-id"), RelyingParty()
    response = party.register(device, extensions={"prf": {"eval": {"first": FIRST}}})
    assert response["clientExtensionResults"] == {"prf": {"enabled": False}}
    response = party.sign_in(
        device, [response["id"]], extensions={"prf": {"eval": {"first": FIRST}}}
    )
    assert response["clientExtensionResults"] == {"prf": {}}


@pytest.mark.parametrize(
    ("shape", "at_once"),
    [("icloud-keychain", True), ("security-key-2.3", True), ("security-key", False)],
)
def test_prf_at_registration_gives_what_an_assertion_gives(shape: str, at_once: bool) -> None:
    device, party = Authenticator(shape), RelyingParty()
    inputs = {"eval": {"first": FIRST, "second": SECOND}}
    registration = party.register(device, extensions={"prf": inputs})
    results = registration["clientExtensionResults"]["prf"].get("results")
    later = prf(party, device, registration["id"], **inputs)
    assert results == (later if at_once else None)
    assert set(later) == {"first", "second"}


def test_prf_gives_32_bytes_the_same_for_the_same_input() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    first = prf(party, device, held, eval={"first": FIRST})
    assert first == prf(party, device, held, eval={"first": FIRST})
    assert set(first) == {"first"}
    assert len(base64url_decode(first["first"])) == 32
    both = prf(party, device, held, eval={"first": SECOND, "second": FIRST})
    assert both["second"] == first["first"]
    assert both["first"] != both["second"]


def test_prf_is_hmac_secret_with_the_salt_of_section_10_1_4() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    secrets = device.credentials[0].secrets
    assert secrets is not None
    salt = hashlib.sha256(b"WebAuthn PRF\x00" + b"first").digest()
    given = prf(party, device, held, eval={"first": FIRST})["first"]
    assert base64url_decode(given) == hmac.digest(secrets[0], salt, "sha256")


def test_prf_differs_by_credential() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    outputs = {
        prf(
            party,
            device,
            party.register(device, user=user(number), extensions={"prf": {}})["id"],
            eval={"first": FIRST},
        )["first"]
        for number in range(3)
    }
    assert len(outputs) == 3


def test_prf_differs_by_user_verification() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    verified = prf(party, device, held, eval={"first": FIRST}, verification="required")
    unverified = prf(party, device, held, eval={"first": FIRST}, verification="discouraged")
    assert verified != unverified


def test_prf_takes_the_input_of_the_credential_that_is_used() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    ids = [
        party.register(device, user=user(number), extensions={"prf": {}})["id"]
        for number in range(2)
    ]
    plain = [
        prf(party, device, ids[0], eval={"first": FIRST}),
        prf(party, device, ids[1], eval={"first": SECOND}),
    ]
    inputs = {"eval": {"first": FIRST}, "evalByCredential": {ids[1]: {"first": SECOND}}}
    for position in (0, 1):
        response = device.get(
            party.request_options(ids, extensions={"prf": inputs}),
            party.origin,
            credential=base64url_decode(ids[position]),
        )
        party.accept_assertion(response)
        assert response["clientExtensionResults"]["prf"]["results"] == plain[position]


def test_prf_without_an_input_for_the_credential_gives_nothing() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    response = party.sign_in(device, [held], extensions={"prf": {}})
    assert response["clientExtensionResults"] == {"prf": {}}


def test_a_credential_made_without_prf_gives_nothing() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device)["id"]
    response = party.sign_in(device, [held], extensions={"prf": {"eval": {"first": FIRST}}})
    assert response["clientExtensionResults"] == {"prf": {}}


def test_inputs_by_credential_are_not_supported_at_registration() -> None:
    party = RelyingParty()
    options = party.creation_options(
        extensions={"prf": {"evalByCredential": {"AAAA": {"first": FIRST}}}}
    )
    with pytest.raises(NotSupportedError):
        Authenticator("icloud-keychain").create(options, party.origin)


@pytest.mark.parametrize("listed", [None, []])
def test_inputs_by_credential_are_not_supported_without_a_list(listed: list | None) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    inputs = {"prf": {"evalByCredential": {held: {"first": FIRST}}}}
    with pytest.raises(NotSupportedError):
        device.get(party.request_options(listed, extensions=inputs), party.origin)


@pytest.mark.parametrize("key", ["", "AAA=", "not base64!", "AAAA"])
def test_an_input_for_no_listed_credential_is_a_syntax_error(key: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    inputs = {"prf": {"evalByCredential": {held: {"first": FIRST}, key: {"first": FIRST}}}}
    with pytest.raises(WebAuthnError, match="evalByCredential") as caught:
        device.get(party.request_options([held], extensions=inputs), party.origin)
    assert caught.value.name == "SyntaxError"


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(
    ("inputs", "where"),
    [
        (5, "extensions.prf"),
        (None, "extensions.prf"),
        ({"eval": 5}, "extensions.prf.eval"),
        ({"eval": {}}, "extensions.prf.eval.first"),
        ({"eval": {"first": "AAA="}}, "extensions.prf.eval.first"),
        ({"eval": {"first": 5}}, "extensions.prf.eval.first"),
        ({"eval": {"first": FIRST, "second": "="}}, "extensions.prf.eval.second"),
        ({"eval": {"second": FIRST}}, "extensions.prf.eval.first"),
        ({"evalByCredential": 5}, "extensions.prf.evalByCredential"),
    ],
)
def test_malformed_prf_inputs_are_refused_with_their_place(
    inputs: Any, where: str, ceremony: str
) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    extensions = {"extensions": {"prf": inputs}}
    options = (
        party.creation_options(user=user(1), **extensions)
        if ceremony == "create"
        else party.request_options([held], **extensions)
    )
    before = device.credentials[0].shown
    with pytest.raises(InvalidOptionsError) as caught:
        getattr(device, ceremony)(options, party.origin)
    assert caught.value.where == where
    assert [one.shown for one in device.credentials] == [before]


# ---- hmac-secret of native clients


def test_hmac_get_secret_gives_one_output_a_salt() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    registration = party.register(device, extensions={"hmacCreateSecret": True})
    assert registration["clientExtensionResults"] == {"hmacCreateSecret": True}
    assert data_of(registration).extensions == {"hmac-secret": True}
    salts = [base64url_encode(bytes([number]) * 32) for number in (1, 2)]
    results = []
    for inputs in ({"salt1": salts[0]}, {"salt1": salts[1], "salt2": salts[0]}):
        response = party.sign_in(device, [registration["id"]], extensions={"hmacGetSecret": inputs})
        results.append(response["clientExtensionResults"]["hmacGetSecret"])
        outputs = data_of(response).extensions
        assert outputs is not None
        # Protocol two: an IV, then the outputs, encrypted.
        assert len(outputs["hmac-secret"]) == 16 + 32 * len(inputs)
    assert set(results[0]) == {"output1"}
    assert results[1]["output2"] == results[0]["output1"]
    assert results[1]["output1"] != results[0]["output1"]


@pytest.mark.parametrize("sizes", [(31,), (33,), (0,), (64,), (16, 16), (32, 16), (32, 33)])
def test_salts_have_32_bytes_each(sizes: tuple[int, ...]) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device, extensions={"hmacCreateSecret": True})["id"]
    inputs = {
        f"salt{number}": base64url_encode(bytes(size)) for number, size in enumerate(sizes, 1)
    }
    options = party.request_options([held], extensions={"hmacGetSecret": inputs})
    with pytest.raises(InvalidOptionsError, match=r"extensions\.hmacGetSecret.*32 bytes"):
        device.get(options, party.origin)


def test_hmac_create_secret_without_the_extension_is_false() -> None:
    response = RelyingParty().register(
        Authenticator("touch-id"), extensions={"hmacCreateSecret": True}
    )
    assert response["clientExtensionResults"] == {"hmacCreateSecret": False}


# ---- credProtect

POLICIES = {
    "userVerificationOptional": 1,
    "userVerificationOptionalWithCredentialIDList": 2,
    "userVerificationRequired": 3,
}


@pytest.mark.parametrize(("policy", "level"), POLICIES.items())
def test_cred_protect_is_told_in_the_authenticator_data(policy: str, level: int) -> None:
    response = RelyingParty().register(
        Authenticator("security-key"), extensions={"credentialProtectionPolicy": policy}
    )
    assert data_of(response).extensions == {"credProtect": level}
    assert response["clientExtensionResults"] == {}


@pytest.mark.parametrize("picked", [False, True], ids=["found", "picked"])
@pytest.mark.parametrize(
    ("level", "listed", "verification", "allowed"),
    [
        (1, False, "discouraged", True),
        (1, True, "discouraged", True),
        (2, False, "discouraged", False),
        (2, True, "discouraged", True),
        (2, False, "required", True),
        (3, False, "discouraged", False),
        (3, True, "discouraged", False),
        (3, False, "required", True),
        (3, True, "required", True),
    ],
)
def test_cred_protect_hides_a_credential_from_the_unverified(
    level: int, listed: bool, verification: str, allowed: bool, picked: bool
) -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    policy = next(name for name, value in POLICIES.items() if value == level)
    held = party.register(
        device,
        extensions={"credentialProtectionPolicy": policy},
        authenticatorSelection={"residentKey": "required"},
    )
    options = party.request_options([held["id"]] if listed else None, userVerification=verification)
    choice = base64url_decode(held["id"]) if picked else None
    if allowed:
        party.accept_assertion(device.get(options, party.origin, credential=choice))
    else:
        with pytest.raises(NotAllowedError):
            device.get(options, party.origin, credential=choice)


def test_an_older_unprotected_credential_is_found_behind_a_protected_one() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    required = {"authenticatorSelection": {"residentKey": "required"}}
    plain = party.register(device, user=user(0), **required)
    party.register(
        device,
        user=user(1),
        extensions={"credentialProtectionPolicy": "userVerificationRequired"},
        **required,
    )
    assert party.sign_in(device, userVerification="discouraged")["id"] == plain["id"]


@pytest.mark.parametrize("enforced", [True, False])
def test_cred_protect_may_be_enforced(enforced: bool) -> None:
    device, party = Authenticator("touch-id"), RelyingParty()
    options = party.creation_options(
        extensions={
            "credentialProtectionPolicy": "userVerificationRequired",
            "enforceCredentialProtectionPolicy": enforced,
        }
    )
    if enforced:
        with pytest.raises(NotAllowedError, match="credProtect"):
            device.create(options, party.origin)
        assert not device.credentials
    else:
        response = device.create(options, party.origin)
        party.accept_registration(response)
        assert data_of(response).extensions is None


@pytest.mark.parametrize("policy", ["a-new-word", 3, [], {}, ["userVerificationRequired"], True])
def test_an_unknown_policy_is_refused(policy: Any) -> None:
    party = RelyingParty()
    options = party.creation_options(extensions={"credentialProtectionPolicy": policy})
    with pytest.raises(InvalidOptionsError, match=r"credentialProtectionPolicy: got .*, expected"):
        Authenticator("security-key").create(options, party.origin)


# ---- minPinLength


@pytest.mark.parametrize(
    ("named", "asked", "expected"),
    [
        (["example.org"], True, {"minPinLength": 4}),
        (["example.org"], False, None),
        (["other.example"], True, None),
        ([], True, None),
    ],
)
def test_only_a_named_relying_party_learns_the_minimum_pin_length(
    named: list[str], asked: bool, expected: dict | None
) -> None:
    device = Authenticator("security-key", min_pin_length_rp_ids=named)
    response = RelyingParty().register(device, extensions={"minPinLength": asked})
    assert data_of(response).extensions == expected
    assert response["clientExtensionResults"] == {}


@pytest.mark.parametrize("shape", ["security-key-2.3", "security-key"])
@pytest.mark.parametrize("complex_pins", [False, True])
def test_only_a_named_relying_party_learns_the_pin_complexity_policy(
    shape: str, complex_pins: bool
) -> None:
    for named in (["example.org"], []):
        device = Authenticator(shape, min_pin_length_rp_ids=named)
        device.core.settings.pin_complexity = complex_pins
        response = RelyingParty().register(device, extensions={"pinComplexityPolicy": True})
        told = named and shape == "security-key-2.3"
        assert data_of(response).extensions == (
            {"pinComplexityPolicy": complex_pins} if told else None
        )


def test_all_extensions_go_together_in_canonical_order() -> None:
    device = Authenticator("security-key", min_pin_length_rp_ids=["example.org"])
    party = RelyingParty()
    registration = party.register(
        device,
        attestation="direct",
        extensions={
            "credProps": True,
            "prf": {},
            "hmacCreateSecret": True,
            "minPinLength": True,
            "credentialProtectionPolicy": "userVerificationOptionalWithCredentialIDList",
        },
    )
    assert data_of(registration).extensions == {
        "credProtect": 2,
        "hmac-secret": True,
        "minPinLength": 4,
    }
    assert registration["clientExtensionResults"] == {
        "credProps": {"rk": False},
        "prf": {"enabled": True},
        "hmacCreateSecret": True,
    }


# ---- the list that the completeness page shows

ASKED: dict[str, Any] = {
    "credProps": True,
    "prf": {},
    "largeBlob": {"support": "preferred"},
    "credentialProtectionPolicy": "userVerificationRequired",
    "credBlob": "AAAA",
    "getCredBlob": True,
    "minPinLength": True,
    "pinComplexityPolicy": True,
    "hmacCreateSecret": True,
    "hmacGetSecret": {"salt1": base64url_encode(bytes(32))},
    "appid": "https://example.org/appid.json",
    "appidExclude": "https://example.org/appid.json",
    "uvm": True,
}
SILENT = {"payment"}
"""Understood, but it has no output: see test_payment."""


@pytest.mark.parametrize("name", ASKED)
def test_what_is_listed_as_understood_is_and_nothing_else(name: str) -> None:
    device = Authenticator(
        "security-key-2.3",
        min_pin_length_rp_ids=["example.org"],
    )
    party = RelyingParty()
    held = party.register(device, extensions={"prf": {}, "credBlob": "AAAA"})["id"]
    if name in ("appid", "getCredBlob", "hmacGetSecret"):
        response = party.sign_in(device, [held], extensions={name: ASKED[name]})
    else:
        response = party.register(device, user=user(2), extensions={name: ASKED[name]})
    answered = bool(response["clientExtensionResults"] or data_of(response).extensions)
    assert answered == (name in INPUTS)


def test_every_input_in_the_list_was_tried() -> None:
    assert set(INPUTS) - SILENT <= set(ASKED)
