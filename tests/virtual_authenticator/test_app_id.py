"""The AppID extensions: what was registered by U2F goes on serving pages (WebAuthn Level 3,
sections 10.1.1 and 10.1.2)."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from fido2 import cbor
from fido2.cose import ES256
from fido2.ctap1 import Ctap1
from webauthn import verify_authentication_response

from tests.virtual_authenticator.support.relying_party import RelyingParty, descriptor
from virtual_authenticator import (
    Authenticator,
    InvalidOptionsError,
    InvalidStateError,
    NotAllowedError,
    NotSupportedError,
    SecurityError,
)
from virtual_authenticator.encoding import base64url_encode

APP_ID = "https://example.org/u2f/app-id.json"


class Legacy:
    """A key with one credential that a page of the U2F days registered."""

    def __init__(self, shape: str = "security-key", app_id: str = APP_ID) -> None:
        self.key = Authenticator(shape)
        self.party = RelyingParty()
        made = Ctap1(self.key.ctap).register(bytes(32), sha256(app_id.encode()).digest())
        self.public_key = cbor.encode(dict(ES256.from_ctap1(made.public_key)))
        self.id = base64url_encode(made.key_handle)

    def sign_in(self, app_id: Any = APP_ID, *ids: str, **more: Any) -> dict[str, Any]:
        options = self.party.request_options(
            [*(ids or (self.id,))], extensions={"appid": app_id} if app_id is not None else {}
        )
        return self.key.get(options, more.pop("origin", self.party.origin), **more)

    def register(self, app_id: Any, *excluded: str) -> dict[str, Any]:
        return self.party.register(
            self.key,
            excludeCredentials=[descriptor(one) for one in excluded],
            extensions={"appidExclude": app_id} if app_id is not None else {},
        )


@pytest.mark.parametrize("shape", ["u2f-key", "security-key-2.0", "security-key"])
def test_a_u2f_credential_signs_for_its_app_id(shape: str) -> None:
    legacy = Legacy(shape)
    with pytest.raises(NotAllowedError, match="no credential"):
        legacy.sign_in(None)
    response = legacy.sign_in()

    assert response["clientExtensionResults"] == {"appid": True}
    assert "userHandle" not in response["response"]
    verified = verify_authentication_response(
        credential=response,
        expected_challenge=legacy.party.challenge,
        expected_rp_id=APP_ID,
        expected_origin=legacy.party.origin,
        credential_public_key=legacy.public_key,
        credential_current_sign_count=0,
    )
    assert verified.new_sign_count > 0


def test_the_rp_id_comes_first() -> None:
    legacy = Legacy()
    newer = legacy.party.register(legacy.key)["id"]
    response = legacy.sign_in(APP_ID, legacy.id, newer)
    assert response["id"] == newer
    assert response["clientExtensionResults"] == {"appid": False}
    legacy.party.accept_assertion(response)


def test_a_person_may_pick_the_old_one() -> None:
    legacy = Legacy()
    newer = legacy.party.register(legacy.key)["id"]
    old = next(one for one in legacy.key.credentials if not one.rp_id)
    response = legacy.sign_in(APP_ID, legacy.id, newer, credential=old)
    assert response["id"] == legacy.id
    assert response["clientExtensionResults"] == {"appid": True}
    with pytest.raises(NotAllowedError, match="the credential is for"):
        legacy.sign_in(None, legacy.id, newer, credential=old)


def test_without_a_list_there_is_nothing_to_find() -> None:
    """U2F has no discoverable credentials."""
    legacy = Legacy()
    options = legacy.party.request_options(extensions={"appid": APP_ID})
    with pytest.raises(NotAllowedError, match="no credential"):
        legacy.key.get(options, legacy.party.origin)


@pytest.mark.parametrize(
    ("app_id", "origin"),
    [
        ("https://example.org/a", "https://example.org"),
        ("https://www.example.org/a", "https://example.org"),
        ("https://example.org:8443/a", "https://login.example.org"),
        ("", "https://example.org"),  # stands for the origin
        ("https://example.org", "https://example.org"),
    ],
)
def test_app_ids_of_the_same_site(app_id: str, origin: str) -> None:
    legacy = Legacy(app_id=app_id or origin)
    response = legacy.sign_in(app_id, origin=origin)
    assert response["clientExtensionResults"] == {"appid": True}


@pytest.mark.parametrize(
    "app_id",
    [
        "https://example.com/a",
        "https://example.org.attacker.example/a",
        "http://example.org/a",
        "android:apk-key-hash:x",
        "example.org/a",
        "https://10.0.0.1/a",
        "https://org/a",
    ],
)
def test_app_ids_of_others_are_refused(app_id: str) -> None:
    legacy = Legacy(app_id=app_id)
    with pytest.raises(SecurityError, match=r"extensions\.appid: got"):
        legacy.sign_in(app_id)
    with pytest.raises(SecurityError, match=r"extensions\.appidExclude: got"):
        legacy.register(app_id, legacy.id)
    assert legacy.key.log[-1].details["error"] == "SecurityError"
    signed = legacy.sign_in(app_id, ignoring=["rp-id"])  # a client that does not care
    assert signed["clientExtensionResults"] == {"appid": True}


def test_a_u2f_credential_is_excluded_by_its_app_id() -> None:
    legacy = Legacy()
    twin = legacy.register(None, legacy.id)  # by the RP ID nobody knows it
    assert twin["clientExtensionResults"] == {}
    with pytest.raises(InvalidStateError):
        legacy.register(APP_ID, legacy.id)
    other = legacy.register(APP_ID, base64url_encode(bytes(64)))
    assert other["clientExtensionResults"] == {"appidExclude": True}
    with pytest.raises(InvalidStateError):  # and the RP ID still counts
        legacy.register("https://example.org/other", other["id"])


def test_each_belongs_to_one_ceremony() -> None:
    legacy = Legacy()
    with pytest.raises(NotSupportedError, match="for sign-in only"):
        legacy.party.register(legacy.key, extensions={"appid": APP_ID})
    options = legacy.party.request_options([legacy.id], extensions={"appidExclude": APP_ID})
    with pytest.raises(NotSupportedError, match="for registration only"):
        legacy.key.get(options, legacy.party.origin)
    for wrong in (7, True, {}):
        with pytest.raises(InvalidOptionsError, match="a string"):
            legacy.sign_in(wrong)
