"""Options and credentials of browser automation, read and written."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import (
    Authenticator,
    NotAllowedError,
    PerCredential,
    Profile,
    cdp,
    profiles,
)
from virtual_authenticator.encoding import base64url_decode

CDP = {
    "protocol": "ctap2",
    "ctap2Version": "ctap2_1",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "hasPrf": True,
    "hasMinPinLength": True,
    "hasLargeBlob": True,
    "hasCredBlob": True,
    "automaticPresenceSimulation": True,
    "isUserVerified": True,
    "defaultBackupEligibility": True,
    "defaultBackupState": True,
}


def test_cdp_options_become_a_profile() -> None:
    shape = cdp.profile_from_options(CDP)
    assert shape.transports == ("internal",)
    assert shape.attachment == "platform"
    assert shape.ctap == "2.1"
    assert shape.verifies
    assert shape.discoverable == "on-request"
    assert shape.backup_eligible is True
    assert shape.backup_state is True
    expected = {"hmac-secret", "minPinLength", "largeBlobKey", "credBlob", "credProtect"}
    assert set(shape.extensions) == expected
    assert cdp.cdp_options(shape) == CDP
    assert cdp.losses(shape) == []


@pytest.mark.parametrize(
    ("options", "ctap"),
    [
        ({"protocol": "u2f", "transport": "usb"}, "u2f"),
        ({"protocol": "ctap2", "transport": "usb"}, "2.0"),
        ({"protocol": "ctap2", "ctap2Version": "ctap2_0", "transport": "usb"}, "2.0"),
        ({"protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "usb"}, "2.1"),
        ({"protocol": "ctap1/u2f", "transport": "usb"}, "u2f"),
        ({"protocol": "ctap2_1", "transport": "usb"}, "2.1"),
        ({"protocol": "ctap2", "ctap2Version": "ctap2_2", "transport": "cable"}, "2.3"),
    ],
)
def test_protocols_of_both_are_read(options: dict[str, Any], ctap: str) -> None:
    shape = cdp.profile_from_options(options)
    assert shape.ctap == ctap
    RelyingParty().register(Authenticator(shape), attestation="direct")


def test_the_defaults_are_those_of_the_protocol() -> None:
    shape = cdp.profile_from_options({"protocol": "ctap2", "transport": "usb"})
    assert not shape.verifies
    assert shape.discoverable == "never"
    assert shape.backup_eligible is False
    assert shape.backup_state is False
    assert shape.counter == PerCredential(start=1)


@pytest.mark.parametrize("transport", ["usb", "nfc", "ble", "smart-card", "hybrid", "internal"])
@pytest.mark.parametrize("write", [cdp.cdp_options, cdp.webdriver_options])
@pytest.mark.parametrize("ability", [True, False])
@pytest.mark.parametrize("version", ["ctap2_0", "ctap2_1"])
def test_what_was_read_is_written_the_same(
    transport: str, write: Any, ability: bool, version: str
) -> None:
    shape = cdp.profile_from_options(
        {
            "protocol": "ctap2",
            "ctap2Version": version,
            "transport": transport,
            "hasResidentKey": ability,
            "hasUserVerification": ability,
            "hasPrf": ability,
            "hasMinPinLength": ability,
            "hasLargeBlob": ability and version == "ctap2_1",
            "hasCredBlob": ability and version == "ctap2_1",
            "defaultBackupEligibility": ability,
        }
    )
    written = write(shape)
    assert json.loads(json.dumps(written)) == written
    again = cdp.profile_from_options(written)
    assert again.with_(extensions=sorted(again.extensions)) == shape.with_(
        extensions=sorted(shape.extensions)
    )
    assert cdp.losses(shape) == []


WORDS = {
    "aaguid": "AAGUID",
    "transports": "transports",
    "counter": "counter",
    "ctap": "CTAP",
    "user_verification": "a PIN",
    "algorithms": "algorithms",
    "attestation": "attestation",
    "always_verifies": "always verifies",
    "discoverable": "discoverable",
    "capacity": "capacity",
    "credential_id_length": "credential id",
    "backup_eligible": "backup",
    "backup_state": "backup",
    "extensions": "extensions",
    "min_pin_length_rp_ids": "minimum PIN length",
}


@pytest.mark.parametrize("name", profiles())
def test_every_difference_of_a_browser_s_device_is_told(name: str) -> None:
    shape = profiles()[name]
    made = cdp.profile_from_options(cdp.cdp_options(shape))
    told = " | ".join(cdp.losses(shape))
    for member, word in WORDS.items():
        mine, theirs = getattr(shape, member), getattr(made, member)
        if member == "extensions":
            mine, theirs = set(mine), set(theirs)
            if "prf" in mine:
                mine = mine - {"prf"} | {"hmac-secret"}  # the same to a page
        assert (mine != theirs) == (word in told), (member, mine, theirs, told)


@pytest.mark.parametrize(
    "changes", [{"backup_state": [False, True]}, {"backup_eligible": [True, False]}]
)
def test_flags_that_change_are_told(changes: dict[str, Any]) -> None:
    assert any("backup" in one for one in cdp.losses(Profile(**changes)))


@pytest.mark.parametrize(
    "changes", [{"certifications": {"FIDO": 1}}, {"pin_complexity_url": "https://vendor.example"}]
)
def test_what_only_get_info_says_is_told(changes: dict[str, Any]) -> None:
    assert any("GetInfo" in one for one in cdp.losses(Profile(**changes)))
    assert not any("GetInfo" in one for one in cdp.losses(Profile()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"transport": None}, "transport: got None, expected one of usb"),
        ({"transport": "carrier-pigeon"}, "transport: got 'carrier-pigeon', expected one of"),
        ({"transport": ["usb"]}, "transport: got ['usb'], expected one of"),
        ({"protocol": "ctap3"}, "protocol: got 'ctap3', expected one of"),
        ({"protocol": 5}, "protocol: got 5, expected one of"),
        ({"ctap2Version": "ctap2_9"}, "ctap2Version: got 'ctap2_9', expected one of"),
        ({"hasResidentKey": "true"}, "hasResidentKey: got 'true', expected true or false"),
        ({"hasPrf": 1}, "hasPrf: got 1, expected true or false"),
        ({"extensions": 5}, "extensions: got 5, expected a list"),
        ({"extensions": "prf"}, "extensions: got 'prf', expected a list"),
        ({"extensions": ["uvm"]}, "extensions: got 'uvm', expected names among prf"),
        ({"extensions": [["prf"]]}, "extensions: got ['prf'], expected names among prf"),
        ({"uvm": [[2, 4, 2]]}, "got 'uvm', expected names among protocol"),
        ({"ctap2Version": "ctap2_0"}, "largeBlobKey: got CTAP 2.0, expected 2.1 or later"),
        ({"hasResidentKey": False}, "hasLargeBlob: got no hasResidentKey, expected it too"),
    ],
)
def test_malformed_options_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        cdp.profile_from_options({**CDP, **changes})


# ---- credentials


@pytest.mark.parametrize("write", [cdp.credential_to_cdp, cdp.credential_to_webdriver])
@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"PS256"}))
def test_a_credential_moves_to_another_device_and_signs_there(write: Any, algorithm: str) -> None:
    first, party = Authenticator(algorithms=[algorithm], counter=PerCredential(5)), RelyingParty()
    held = party.register(first, authenticatorSelection={"residentKey": "required"})["id"]
    party.sign_in(first)
    written = json.loads(json.dumps(write(first.credentials[0])))
    second = Authenticator(counter=PerCredential())
    second.add_credential(cdp.credential_from_json(written))
    response = party.sign_in(second)
    assert response["id"] == held
    assert base64url_decode(response["response"]["userHandle"]) == party.user_id
    assert second.credentials[0].sign_count == 7
    assert write(cdp.credential_from_json(written)) == written


@pytest.mark.parametrize("write", [cdp.credential_to_cdp, cdp.credential_to_webdriver])
def test_a_key_whose_algorithm_the_json_cannot_say_is_refused(write: Any) -> None:
    device = Authenticator(algorithms=["PS256", "RS256"])
    party = RelyingParty()
    party.register(device, pubKeyCredParams=[{"type": "public-key", "alg": -37}])
    with pytest.raises(ValueError, match=r"got a key for PS256, expected .* RS256"):
        write(device.credentials[0])
    device.remove_credential(device.credentials[0].id)
    party.register(device, pubKeyCredParams=[{"type": "public-key", "alg": -257}])
    assert cdp.credential_from_json(write(device.credentials[0])).algorithm.name == "RS256"


def test_cdp_writes_base64_and_webdriver_base64url() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.user_id = b"\xfb\xff\xfe\xff"
    party.register(device)
    held = device.credentials[0]
    written = cdp.credential_to_cdp(held)
    assert written["userHandle"] == "+//+/w=="
    assert base64.b64decode(written["credentialId"], validate=True) == held.id
    assert written["isResidentCredential"] is True
    assert written["rpId"] == "example.org"
    assert written["signCount"] == 0
    assert written["backupEligibility"] is True
    assert written["backupState"] is True
    assert written["userName"] == "ada@example.org"
    assert written["userDisplayName"] == "Ada"
    assert cdp.credential_to_webdriver(held)["userHandle"] == "-__-_w"


@pytest.mark.parametrize("text", ["-__-_w", "-__-_w==", "+//+/w==", "+//+/w"])
def test_either_alphabet_is_read_with_or_without_padding(text: str) -> None:
    device = Authenticator("icloud-keychain")
    RelyingParty().register(device)
    written = {**cdp.credential_to_cdp(device.credentials[0]), "userHandle": text}
    assert cdp.credential_from_json(written).user_id == b"\xfb\xff\xfe\xff"


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"credentialId": None}, "credentialId"),
        ({"credentialId": "*"}, "credentialId"),
        ({"credentialId": "A"}, "credentialId"),
        ({"credentialId": ""}, "credentialId"),
        ({"privateKey": None}, "privateKey"),
        ({"privateKey": "AAAA"}, "privateKey"),
        ({"rpId": None}, "rpId"),
        ({"rpId": 5}, "rpId"),
        ({"userHandle": 5}, "userHandle"),
        ({"userHandle": "*"}, "userHandle"),
        ({"signCount": "5"}, "signCount"),
        ({"signCount": -1}, "signCount"),
        ({"signCount": 2**32}, "signCount"),
        ({"signCount": 1.5}, "signCount"),
        ({"signCount": True}, "signCount"),
        ({"isResidentCredential": "yes"}, "isResidentCredential"),
        ({"backupState": 1}, "backupState"),
        ({"backupEligibility": []}, "backupEligibility"),
        ({"userName": 5}, "userName"),
        ({"userDisplayName": []}, "userDisplayName"),
        ({"largeBlob": 5}, "largeBlob"),
    ],
)
def test_malformed_credentials_are_refused(changes: dict[str, Any], where: str) -> None:
    device = Authenticator("icloud-keychain")
    RelyingParty().register(device)
    written = {**cdp.credential_to_cdp(device.credentials[0]), **changes}
    with pytest.raises(ValueError, match=rf"^{where}: got .+") as caught:
        cdp.credential_from_json(written)
    assert len(str(caught.value)) < 400


def test_only_id_rp_id_and_key_are_needed() -> None:
    device = Authenticator("icloud-keychain")
    RelyingParty().register(device)
    whole = cdp.credential_to_cdp(device.credentials[0])
    small = {name: whole[name] for name in ("credentialId", "rpId", "privateKey")}
    held = cdp.credential_from_json(small)
    assert not held.discoverable
    assert held.user_id == b""
    assert held.sign_count == 0


# ---- nothing is dropped in silence


@pytest.mark.parametrize("name", ["hasPrf", "hasHmacSecret", "hasHmacSecretMc", "hasCredBlob"])
def test_every_option_changes_the_profile(name: str) -> None:
    base = {"protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "usb"}
    assert cdp.profile_from_options({**base, name: True}) != cdp.profile_from_options(base)


@pytest.mark.parametrize(
    ("options", "wanted", "error"),
    [
        ({"isUserVerified": True}, "required", None),
        ({}, "required", "could not be verified"),
        ({}, "discouraged", None),
        ({"isUserVerified": True, "isUserConsenting": False}, "discouraged", "declined"),
        ({"isUserVerified": True, "automaticPresenceSimulation": False}, "preferred", "nobody"),
    ],
)
def test_the_person_of_the_options_acts_as_they_say(
    options: dict[str, Any], wanted: str, error: str | None
) -> None:
    base = {"protocol": "ctap2", "transport": "usb", "hasUserVerification": True}
    device, party = cdp.authenticator_from_options({**base, **options}), RelyingParty()
    asked = party.creation_options(authenticatorSelection={"userVerification": wanted})
    if error is None:
        party.accept_registration(device.create(asked, party.origin))
        return
    with pytest.raises(NotAllowedError, match=error):
        device.create(asked, party.origin)


def test_a_member_that_no_credential_has_is_refused() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    written = cdp.credential_to_cdp(device.credentials[0])
    with pytest.raises(ValueError, match="got 'signcount', expected names among credentialId"):
        cdp.credential_from_json({**written, "signcount": 5})
    assert cdp.credential_from_json(written).id == device.credentials[0].id


def test_what_the_json_cannot_say_of_a_credential_is_told() -> None:
    device = Authenticator(
        "security-key", extensions=["credProtect", "hmac-secret", "credBlob", "largeBlobKey"]
    )
    party = RelyingParty()
    party.register(
        device,
        authenticatorSelection={"residentKey": "required"},
        extensions={
            "credentialProtectionPolicy": "userVerificationRequired",
            "prf": {},
            "credBlob": "AAAA",
            "largeBlob": {"support": "required"},
        },
    )
    lost = " | ".join(cdp.credential_losses(device.credentials[0]))
    for word in ("protection 3", "prf", "credBlob", "large blob", "relying party"):
        assert word in lost
    assert "large blob" not in " | ".join(cdp.credential_losses(device.credentials[0], device))
    plain = cdp.credential_from_json(cdp.credential_to_cdp(device.credentials[0]))
    assert cdp.credential_losses(plain) == []


@pytest.mark.parametrize("write", [cdp.credential_to_cdp, cdp.credential_to_webdriver])
def test_a_large_blob_moves_between_devices_that_keep_it_elsewhere(write: Any) -> None:
    key = Authenticator("security-key", extensions=["largeBlobKey"])
    provider = Authenticator("icloud-keychain", extensions=["largeBlob"])
    party = RelyingParty()
    held = party.register(
        key,
        authenticatorSelection={"residentKey": "required"},
        extensions={"largeBlob": {"support": "required"}},
    )["id"]
    party.sign_in(key, [held], extensions={"largeBlob": {"write": "AAEC"}})
    provider.add_credential(cdp.credential_from_json(write(key.credentials[0], key)))
    another = Authenticator("security-key", extensions=["largeBlobKey"])
    another.add_credential(cdp.credential_from_json(write(provider.credentials[0], provider)))
    assert another.credentials[0].large_blob is None
    for device in (provider, another):
        options = party.request_options([held], extensions={"largeBlob": {"read": True}})
        response = device.get(options, party.origin)
        assert response["clientExtensionResults"] == {"largeBlob": {"blob": "AAEC"}}


def test_the_properties_of_a_credential_can_be_set() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    held = party.register(device)["id"]
    cdp.set_credential_properties(device.credentials[0], {"backupState": False})
    assert device.credentials[0].backup_eligible
    data = base64url_decode(party.sign_in(device, [held])["response"]["authenticatorData"])
    assert data[32] & 0x18 == 0x08
    with pytest.raises(ValueError, match="backupState: got 1, expected true or false"):
        cdp.set_credential_properties(device.credentials[0], {"backupState": 1})
    with pytest.raises(ValueError, match="got 'rpId', expected names among"):
        cdp.set_credential_properties(device.credentials[0], {"rpId": "example.com"})
