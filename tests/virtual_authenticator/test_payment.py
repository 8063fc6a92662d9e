"""The payment extension as far as it is WebAuthn's (Secure Payment Confirmation, section 5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Authenticator, InvalidOptionsError, NotAllowedError

PAYMENT = {"payment": {"isPayment": True}}
SELECTION = {
    "authenticatorAttachment": "platform",
    "residentKey": "required",
    "userVerification": "required",
}


def register(party: RelyingParty, device: Authenticator, inputs: Any, **changes: str) -> Any:
    return party.register(
        device, authenticatorSelection={**SELECTION, **changes}, extensions=inputs
    )


@pytest.mark.parametrize(
    ("inputs", "kept"), [(PAYMENT, True), ({"payment": {"isPayment": False}}, False), ({}, False)]
)
def test_a_credential_is_made_for_payments(inputs: dict[str, Any], kept: bool) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    made = register(party, device, inputs)
    assert made["clientExtensionResults"] == {}  # it has no output
    assert device.credentials[0].third_party_payment is kept
    party.sign_in(device, [made["id"]])  # and serves to sign in as any other


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("authenticatorAttachment", "cross-platform"),
        ("residentKey", "discouraged"),
        ("userVerification", "preferred"),
    ],
)
def test_what_a_payment_credential_must_be(member: str, value: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    with pytest.raises(InvalidOptionsError, match=f"{member}: got '{value}'") as refused:
        register(party, device, PAYMENT, **{member: value})
    assert refused.value.name == "TypeError"
    assert not device.credentials
    assert register(party, device, PAYMENT, residentKey="preferred")


def test_no_page_signs_in_for_a_payment() -> None:
    """That is PaymentRequest's to do."""
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = register(party, device, PAYMENT)["id"]
    options = party.request_options([held], extensions=PAYMENT)
    with pytest.raises(NotAllowedError, match=r"extensions\.payment"):
        device.get(options, party.origin)
    with pytest.raises(InvalidOptionsError, match=r"extensions\.payment: got 1"):
        register(party, device, {"payment": 1})
