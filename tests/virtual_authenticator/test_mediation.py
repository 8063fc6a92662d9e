"""Conditional mediation: passkeys that a page's fields suggest, and passkeys added beside a sign-in
(WebAuthn Level 3, sections 5.1.3 and 5.1.4)."""

from __future__ import annotations

from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import AbortError, Authenticator, ManualClock, NotAllowedError
from virtual_authenticator.encoding import base64url_decode


def flags(response: dict[str, Any]) -> AuthenticatorData.FLAG:
    return AuthenticatorData(base64url_decode(response["response"]["authenticatorData"])).flags


def conditional(party: RelyingParty, device: Authenticator, *ids: Any) -> dict[str, Any]:
    options = party.request_options(list(ids) or None, timeout=10)
    return device.get(options, party.origin, mediation="conditional")


def test_a_suggested_passkey_signs_in() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device)["id"]
    for ids in ((), (held,)):
        response = conditional(party, device, *ids)
        assert response["id"] == held
        party.accept_assertion(response)


def test_only_discoverable_credentials_are_suggested() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device)["id"]
    party.sign_in(device, [held])  # the twin: a dialog finds it by its id
    with pytest.raises(AbortError, match="nothing to suggest"):
        conditional(party, device, held)
    with pytest.raises(AbortError, match="nothing to suggest"):
        conditional(RelyingParty("example.com", "https://example.com"), device)


@pytest.mark.parametrize("gesture", ["ignore", "decline", "remove"])
def test_nothing_tells_the_page_that_nobody_took_it(gesture: str) -> None:
    clock = ManualClock()
    device, party = Authenticator("icloud-keychain", clock=clock), RelyingParty()
    party.register(device)
    before = clock.now()
    device.person.will(gesture)
    with pytest.raises(AbortError, match="until it aborts") as caught:
        conditional(party, device)
    assert caught.value.name == "AbortError"
    assert clock.now() == before, "no timeout runs"
    party.accept_assertion(conditional(party, device))


def test_a_passkey_is_added_without_asking_anybody() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    device.person.will("decline")  # nobody will be asked
    response = device.create(party.creation_options(), party.origin, mediation="conditional")
    assert not flags(response) & (AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV)
    assert list(device.person.planned)
    device.person.planned.clear()
    with pytest.raises(Exception, match=r"(?i)present"):  # neither library knows it was conditional
        party.verify_registration(response)


def test_a_person_is_asked_if_they_must_be_verified() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    selection = {"userVerification": "required"}
    options = party.creation_options(authenticatorSelection=selection)
    response = device.create(options, party.origin, mediation="conditional")
    party.accept_registration(response)


def test_a_security_key_adds_nothing_by_itself() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    with pytest.raises(NotAllowedError, match="passkey provider"):
        device.create(party.creation_options(), party.origin, mediation="conditional")


def test_other_words_are_refused() -> None:
    device, party = Authenticator(), RelyingParty()
    with pytest.raises(ValueError, match="mediation: got 'silent', expected optional, required"):
        device.get(party.request_options(), party.origin, mediation="silent")
    party.accept_registration(
        device.create(party.creation_options(), party.origin, mediation="required")
    )
