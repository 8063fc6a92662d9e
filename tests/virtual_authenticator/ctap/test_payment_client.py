"""thirdPartyPayment, by python-fido2's client: a bank's credential confirms a payment in a shop."""

from __future__ import annotations

import json

import pytest
from fido2.client import Fido2Client
from fido2.ctap2.extensions import ThirdPartyPaymentExtension
from fido2.payment import PaymentClientDataCollector
from fido2.server import Fido2Server
from fido2.webauthn import (
    AuthenticatorAttachment,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

SHOP = "https://shop.example"
PAYMENT = {
    "isPayment": True,
    "rpId": "example.org",
    "topOrigin": SHOP,
    "payeeName": "The shop",
    "total": {"currency": "EUR", "value": "7.50"},
    "instrument": {"displayName": "A card", "icon": "https://example.org/card.png"},
}


@pytest.mark.parametrize("made_for_payments", [True, False])
def test_a_payment_is_confirmed_where_the_bank_allowed_it(new_key, client_of, made_for_payments):
    key = new_key("security-key-2.3", pin="2468")
    _, holder = client_of(key)
    bank = Fido2Server(PublicKeyCredentialRpEntity(id="example.org", name="Bank"))

    def client(origin):
        collector = PaymentClientDataCollector(origin)
        return Fido2Client(key.ctap, collector, holder, extensions=[ThirdPartyPaymentExtension()])

    asked, state = bank.register_begin(
        PublicKeyCredentialUserEntity(id=b"alice", name="alice", display_name="Alice"),
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=UserVerificationRequirement.REQUIRED,
        authenticator_attachment=AuthenticatorAttachment.CROSS_PLATFORM,
        extensions={"payment": {"isPayment": True}} if made_for_payments else {},
    )
    made = client("https://example.org").make_credential(asked.public_key)
    credential = bank.register_complete(state, made).credential_data
    assert credential is not None

    request, _ = bank.authenticate_begin(
        [credential], UserVerificationRequirement.REQUIRED, extensions={"payment": PAYMENT}
    )
    response = client(SHOP).get_assertion(request.public_key).get_response(0).response

    data = response.authenticator_data
    assert data.extensions == {"thirdPartyPayment": made_for_payments}
    assert data.is_user_verified()
    told = json.loads(response.client_data)
    assert (told["type"], told["origin"]) == ("payment.get", SHOP)
    assert told["payment"]["total"] == PAYMENT["total"]
    credential.public_key.verify(data + response.client_data.hash, response.signature)
