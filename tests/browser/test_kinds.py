"""Every profile in both kinds: a real relying party accepts what the page got."""

from __future__ import annotations

import pytest

from virtual_authenticator import profiles
from virtual_authenticator.encoding import base64url_decode

FLAGS = 32
"""Where the flags are in authenticator data: after the RP ID's hash."""


def _data(response) -> bytes:
    return base64url_decode(response["response"]["authenticatorData"])


def _count(response) -> int:
    return int.from_bytes(_data(response)[FLAGS + 1 : FLAGS + 5])


@pytest.mark.parametrize("name", profiles())
def test_every_profile_enrols_and_asserts(approval_page, ask, party, name):
    shape = profiles()[name]
    for kind in ("bridge", "cdp"):
        key = approval_page.key(name, kind=kind)
        registered = ask.response("create", party.creation_options())
        party.accept_registration(registered)
        asserted = ask.response("get", party.request_options([registered["id"]]))
        party.accept_assertion(asserted)
        assert [prompt.kind for prompt in key.prompts] == ["create", "get"]
        assert [one.encoded_id for one in key.credentials] == [registered["id"]]
        assert key.prompts[1].response == asserted
        told = sorted(registered["response"]["transports"])
        if kind == "bridge":
            assert key.losses == []
            assert told == sorted(shape.transports)
            assert registered["authenticatorAttachment"] == shape.attachment
            assert key.authenticator.profile == shape
        elif told != sorted(shape.transports):
            assert any(loss.startswith("transports") for loss in key.losses)


@pytest.mark.parametrize("name", ["icloud-keychain", "google-password-manager"])
def test_only_the_bridge_has_a_counter_that_is_always_zero(approval_page, ask, party, name):
    exact = approval_page.key(name, kind="bridge")
    registered = ask.response("create", party.creation_options())
    asserted = ask.response("get", party.request_options([registered["id"]]))
    assert (_count(registered), _count(asserted)) == (0, 0)
    assert exact.losses == []
    other = approval_page.key(name, kind="cdp")
    assert any("counter" in loss and "starts at 1" in loss for loss in other.losses)
    assert _count(ask.response("create", party.creation_options())) == 1


def test_without_a_kind_it_is_cdp_where_that_is_exact(approval_page):
    from virtual_authenticator.cdp import profile_from_options

    plain = profile_from_options({"protocol": "ctap2", "transport": "usb"})
    assert approval_page.key(plain).kind == "cdp"
    assert approval_page.key(plain, transports=["usb", "nfc"]).kind == "bridge"
    assert approval_page.key("icloud-keychain").kind == "bridge"
