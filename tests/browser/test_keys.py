"""What can be done with a key in each kind, and what the other kind says instead."""

from __future__ import annotations

import pytest
from webauthn.helpers.exceptions import InvalidAuthenticationResponse

from pytest_mcp_approval.browser import BrowserError
from virtual_authenticator.encoding import base64url_decode

KINDS = ["bridge", "cdp"]


def _flags(response) -> int:
    return base64url_decode(response["response"]["authenticatorData"])[32]


def _count(response) -> int:
    return int.from_bytes(base64url_decode(response["response"]["authenticatorData"])[33:37])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_excluded_cannot_be_registered_again(approval_page, ask, party, kind):
    approval_page.key("security-key", kind=kind)
    first = ask.response("create", party.creation_options())
    excluded = [{"type": "public-key", "id": first["id"]}]
    outcome = ask("create", party.creation_options(excludeCredentials=excluded))
    assert (outcome["error"], outcome["isDom"]) == ("InvalidStateError", True)
    assert approval_page.asked[-1].error == "InvalidStateError"


@pytest.mark.parametrize("kind", KINDS)
def test_a_foreign_rp_id_is_a_security_error_and_nobody_is_asked(approval_page, ask, party, kind):
    key = approval_page.key("security-key", kind=kind)
    party.rp_id = "example.com"
    assert ask("create", party.creation_options())["error"] == "SecurityError"
    assert ask("get", party.request_options())["error"] == "SecurityError"
    key.person.will("wait")
    outcome = ask("get", party.request_options())
    assert outcome["error"] == "SecurityError", "told at once, not when somebody acts"


@pytest.mark.parametrize("kind", KINDS)
def test_a_credential_of_another_key_is_not_here(approval_page, ask, party, kind):
    first = approval_page.key("security-key", kind=kind)
    registered = ask.response("create", party.creation_options())
    party.accept_registration(registered)
    second = approval_page.key("security-key", kind=kind)
    outcome = ask("get", party.request_options([registered["id"]], timeout=1000))
    assert outcome["error"] == "NotAllowedError"
    assert (len(first.prompts), len(second.prompts)) == (1, 1)
    first.hold()
    party.accept_assertion(ask.response("get", party.request_options([registered["id"]])))
    assert second.credentials == []
    first.put_away()
    assert ask("get", party.request_options([registered["id"]]))["error"] == "NotAllowedError"
    assert approval_page.asked[-1].key is None
    assert approval_page.asked[-1].why == "no key is in the person's hand"
    assert approval_page.keys == [first, second]


@pytest.mark.parametrize("kind", KINDS)
def test_counters_and_backup_flags_can_be_set(approval_page, ask, party, kind):
    key = approval_page.key("security-key", kind=kind, backup_eligible=True)
    registered = ask.response("create", party.creation_options())
    party.accept_registration(registered)
    held = base64url_decode(registered["id"])
    key.set_credential(held, sign_count=41, backup_state=True)
    asserted = ask.response("get", party.request_options([registered["id"]]))
    party.accept_assertion(asserted)
    assert _count(asserted) == 42
    assert _flags(asserted) & 0x18 == 0x18
    assert key.credentials[0].sign_count == 42
    with pytest.raises(KeyError):
        key.set_credential(b"nobody's", sign_count=1)


def test_override_bits_are_chromium_s(approval_page, ask, party):
    key = approval_page.key("touch-id", kind="cdp")
    registered = ask.response("create", party.creation_options())
    party.accept_registration(registered)
    key.override(bogus_signature=True)
    bogus = ask.response("get", party.request_options([registered["id"]]))
    with pytest.raises(InvalidAuthenticationResponse):
        party.verify_assertion(bogus)
    key.override(bogus_signature=False, bad_uv=True)
    assert not _flags(ask.response("get", party.request_options([registered["id"]]))) & 0x04
    key.override(bad_uv=False, bad_up=True)
    assert not _flags(ask.response("get", party.request_options([registered["id"]]))) & 0x01
    key.override(bad_up=False)
    party.accept_assertion(ask.response("get", party.request_options([registered["id"]])))
    with pytest.raises(BrowserError, match=r"faults \(signature-bit\) are done by kind='bridge'"):
        key.faulty("signature-bit")
    with pytest.raises(BrowserError, match=r"behind kind='bridge' only"):
        _ = key.authenticator


def test_faults_are_the_bridge_s(approval_page, ask, party):
    key = approval_page.key("touch-id", kind="bridge")
    registered = ask.response("create", party.creation_options())
    party.accept_registration(registered)
    with key.faulty("signature-bit"):
        broken = ask.response("get", party.request_options([registered["id"]]))
    with pytest.raises(InvalidAuthenticationResponse):
        party.verify_assertion(broken)
    party.accept_assertion(ask.response("get", party.request_options([registered["id"]])))
    with pytest.raises(BrowserError, match=r"override bits are Chromium's: use kind='cdp'"):
        key.override(bogus_signature=True)


def test_a_fault_that_does_not_fit_is_the_test_s_mistake_and_is_told(approval_page, ask, party):
    key = approval_page.key("touch-id", kind="bridge")
    with key.faulty("expired-x5c"):
        assert ask("get", party.request_options())["error"] == "UnknownError"
    with pytest.raises(BrowserError, match=r"FaultError: expired-x5c"):
        approval_page.check()


def test_related_origins_are_the_bridge_s_to_know(approval_page, ask, party, site):
    key = approval_page.key("touch-id", kind="bridge")
    approval_page.goto(f"{site.host('shop.example.localhost')}/")
    party.rp_id = "other.localhost"
    assert ask("create", party.creation_options())["error"] == "SecurityError"
    key.related_origins["other.localhost"] = [site.host("shop.example.localhost")]
    party.origin = site.host("shop.example.localhost")
    party.accept_registration(ask.response("create", party.creation_options()))


@pytest.mark.parametrize("kind", ["usb", "CDP", ""])
def test_unknown_kinds_are_named(approval_page, kind):
    with pytest.raises(BrowserError, match=rf"kind: got '{kind}', expected one of cdp, bridge"):
        approval_page.key(kind=kind)


@pytest.mark.parametrize(("name", "platform"), [("touch-id", True), ("security-key", False)])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_see_whether_there_is_a_platform_authenticator(
    approval_page, ask, name, platform, kind
):
    question = """async () => {
      const told = await PublicKeyCredential.getClientCapabilities();
      return [
        await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable(),
        told.userVerifyingPlatformAuthenticator,
        await PublicKeyCredential.isConditionalMediationAvailable(),
        told.conditionalGet,
      ];
    }"""
    assert ask.frame.evaluate(question) == [False, False, False, False]
    approval_page.key(name, kind=kind)
    assert ask.frame.evaluate(question) == [platform, platform, False, False]


@pytest.mark.parametrize("kind", KINDS)
def test_conditional_mediation_is_refused_clearly(approval_page, ask, party, kind):
    key = approval_page.key("touch-id", kind=kind)
    outcome = ask("get", party.request_options(), mediation="conditional")
    assert outcome["error"] == "TypeError"
    assert "mediation 'conditional' is not supported" in outcome["message"]
    assert key.prompts == []
