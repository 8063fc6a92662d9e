"""Whatever valid options a relying party sends, it accepts what comes back."""

from __future__ import annotations

import json
from typing import Any

from fido2.webauthn import AuthenticatorData
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_authenticator.support.relying_party import RelyingParty, descriptor
from virtual_authenticator import Authenticator, WebAuthnError
from virtual_authenticator.encoding import base64url_decode, base64url_encode

WORDS = st.sampled_from(["required", "preferred", "discouraged", "a-new-word", None])
IDS = st.binary(min_size=1, max_size=64).map(base64url_encode)
TIMEOUTS = st.one_of(st.none(), st.integers(0, 2**32 - 1), st.floats(0, 1e6))
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
ALGORITHMS = st.lists(st.sampled_from([-8, -7, -36, -35, -47, 0]), max_size=5).map(
    lambda x: [*x, -7]
)
SALT = st.binary(max_size=70).map(base64url_encode)
EVAL = st.one_of(
    st.fixed_dictionaries({"first": SALT}),
    st.fixed_dictionaries({"first": SALT, "second": SALT}),
)
UNKNOWN = st.dictionaries(
    st.sampled_from(["devicePubKey", "uvm", "x"]), st.one_of(st.booleans(), TEXTS), max_size=2
)
DESCRIPTORS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["public-key", "a-new-kind"]), "id": IDS},
        optional={"transports": st.lists(st.sampled_from(["usb", "internal", "new"]), max_size=3)},
    ),
    max_size=4,
)


def without_nothing(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


SELECTION = st.fixed_dictionaries(
    {
        "residentKey": WORDS,
        "userVerification": WORDS,
        "requireResidentKey": st.sampled_from([True, False, None]),
        "authenticatorAttachment": st.sampled_from(["cross-platform", "a-new-word", None]),
    }
).map(without_nothing)
CREATION = st.fixed_dictionaries(
    {
        "user": st.fixed_dictionaries({"id": IDS, "name": TEXTS, "displayName": TEXTS}),
        "challenge": st.binary(min_size=1, max_size=100).map(base64url_encode),
        "pubKeyCredParams": st.one_of(
            st.just([]), ALGORITHMS.map(lambda x: [{"type": "public-key", "alg": y} for y in x])
        ),
        "timeout": TIMEOUTS,
        "attestation": st.sampled_from(["none", "direct", "indirect", "enterprise", "new", None]),
        "excludeCredentials": st.one_of(st.none(), DESCRIPTORS),
        "authenticatorSelection": st.one_of(st.none(), SELECTION),
        "extensions": st.one_of(
            st.none(),
            st.fixed_dictionaries(
                {},
                optional={
                    "credProps": st.booleans(),
                    "prf": st.one_of(st.just({}), st.fixed_dictionaries({"eval": EVAL})),
                    "hmacCreateSecret": st.booleans(),
                    "minPinLength": st.booleans(),
                    "credentialProtectionPolicy": st.sampled_from(
                        [
                            "userVerificationOptional",
                            "userVerificationOptionalWithCredentialIDList",
                            "userVerificationRequired",
                        ]
                    ),
                },
            ),
            UNKNOWN,
        ),
    }
).map(without_nothing)
REQUEST = st.fixed_dictionaries(
    {
        "challenge": st.binary(min_size=1, max_size=100).map(base64url_encode),
        "timeout": TIMEOUTS,
        "userVerification": st.sampled_from(["required", "preferred", "a-new-word", None]),
        "extensions": st.one_of(
            st.none(),
            st.fixed_dictionaries({"prf": st.fixed_dictionaries({"eval": EVAL})}),
            UNKNOWN,
        ),
    }
).map(without_nothing)


@settings(max_examples=60, deadline=None)
@given(
    creation=CREATION,
    request=REQUEST,
    others=DESCRIPTORS,
    shape=st.sampled_from(["security-key", "security-key-2.3", "phone-hybrid"]),
    as_text=st.booleans(),
)
def test_random_valid_options_are_served_and_verified(
    creation: dict[str, Any],
    request: dict[str, Any],
    others: list[dict[str, Any]],
    shape: str,
    as_text: bool,
) -> None:
    device, party = Authenticator(shape), RelyingParty()
    form = json.dumps if as_text else dict
    registration = device.create(form(party.creation_options(**creation)), party.origin)
    party.accept_registration(registration)
    held = device.credential(base64url_decode(registration["id"]))
    assert base64url_encode(held.user_id) == creation["user"]["id"]
    assert held.user_name == creation["user"]["name"]
    wanted = creation.get("authenticatorSelection", {}).get("userVerification")
    data = AuthenticatorData(base64url_decode(registration["response"]["authenticatorData"]))
    assert data.is_user_verified() == (wanted != "discouraged" or shape == "phone-hybrid")

    options = party.request_options(
        **request, allowCredentials=[*others, descriptor(registration["id"])]
    )
    assertion = device.get(form(options), party.origin)
    party.accept_assertion(assertion)
    assert assertion["id"] == registration["id"]
    asked = "eval" in request.get("extensions", {}).get("prf", {})
    results = assertion["clientExtensionResults"].get("prf", {}).get("results", {})
    assert bool(results) == (asked and held.secrets is not None)


@settings(max_examples=100, deadline=None)
@given(
    options=st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, IDS),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [
                        "rp",
                        "user",
                        "id",
                        "name",
                        "displayName",
                        "challenge",
                        "rpId",
                        "type",
                        "alg",
                        "pubKeyCredParams",
                        "timeout",
                        "extensions",
                        "prf",
                        "eval",
                        "publicKey",
                        "allowCredentials",
                        "excludeCredentials",
                        "authenticatorSelection",
                    ]
                ),
                inner,
                max_size=8,
            ),
        ),
        max_leaves=20,
    ),
    ceremony=st.sampled_from(["create", "get"]),
)
def test_random_nonsense_meets_only_documented_errors(options: Any, ceremony: str) -> None:
    device = Authenticator("icloud-keychain")
    try:
        getattr(device, ceremony)(options, "https://example.org")
        message = ""
    except WebAuthnError as error:
        message = str(error)
    assert len(message) < 600
