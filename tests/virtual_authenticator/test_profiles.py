"""Every named profile behaves as what it stands for; wrong shapes are refused in words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import AlwaysZero, Authenticator, Profile, Scripted, profile, profiles
from virtual_authenticator.encoding import base64url_decode

SYNCED = [name for name, one in profiles().items() if one.backup_eligible is True]
FLAG = AuthenticatorData.FLAG


def data_of(response: dict[str, Any]) -> AuthenticatorData:
    return AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))


@pytest.mark.parametrize("attestation", ["none", "direct"])
@pytest.mark.parametrize("name", profiles())
def test_every_profile_registers_and_asserts(name: str, attestation: str) -> None:
    device, party = Authenticator(name), RelyingParty()
    if attestation == "direct":
        party.trust(device)
    shape = device.profile
    registration = party.register(device, attestation=attestation)
    data = data_of(registration)
    assert data.credential_data is not None
    assert data.credential_data.aaguid == shape.aaguid
    assert len(data.credential_data.credential_id) == shape.credential_id_length
    assert data.is_user_verified() == shape.verifies
    assert registration["response"]["transports"] == list(shape.transports)
    for _ in range(2):
        assertion = data_of(party.sign_in(device, [registration["id"]]))
        assert assertion.is_user_verified() == shape.verifies
        assert not assertion.flags & (FLAG.AT | FLAG.ED)


@pytest.mark.parametrize("name", profiles())
def test_every_profile_asserts_without_a_list_if_it_made_a_discoverable_credential(
    name: str,
) -> None:
    device, party = Authenticator(name), RelyingParty()
    registration = party.register(device, authenticatorSelection={"residentKey": "preferred"})
    held = device.credential(base64url_decode(registration["id"]))
    assert held.discoverable == (device.profile.discoverable != "never")
    if held.discoverable:
        assert party.sign_in(device)["id"] == registration["id"]


@pytest.mark.parametrize("name", SYNCED)
def test_synced_profiles_count_nothing_and_say_that_they_are_backed_up(name: str) -> None:
    device, party = Authenticator(name), RelyingParty()
    registration = party.register(device)
    for response in (registration, party.sign_in(device), party.sign_in(device)):
        data = data_of(response)
        assert data.counter == 0
        assert data.flags & FLAG.BE
        assert data.flags & FLAG.BS


@pytest.mark.parametrize("name", [name for name in profiles() if name not in SYNCED])
def test_other_profiles_are_bound_to_their_device(name: str) -> None:
    data = data_of(RelyingParty().register(Authenticator(name)))
    assert not data.flags & (FLAG.BE | FLAG.BS)


def test_there_are_synced_profiles_and_others() -> None:
    assert {"icloud-keychain", "google-password-manager"} <= set(SYNCED) < set(profiles())


@pytest.mark.parametrize("name", profiles())
def test_every_value_of_a_profile_has_its_source(name: str) -> None:
    shape = profile(name)
    explained = {"aaguid", "transports", "algorithms", "attestation", "counter", "backup_eligible"}
    assert explained <= set(shape.sources)
    assert all(shape.sources.values())
    assert list(shape.transports) == sorted(shape.transports)


@pytest.mark.parametrize("name", profiles())
def test_profiles_survive_json(name: str) -> None:
    shape = profile(name)
    assert Profile.from_json(json.loads(json.dumps(shape.to_json()))) == shape


def test_a_changed_profile_survives_json_too() -> None:
    written: dict[str, Any] = {
        "aaguid": "00112233-4455-6677-8899-aabbccddeeff",
        "counter": {"kind": "scripted", "values": [3, 1]},
        "backup_eligible": [False, True],
        "backup_state": [True, False],
        "transports": ["usb", "nfc"],
    }
    shape = Profile(**written)
    assert shape.counter == Scripted([3, 1])
    assert Profile.from_json(json.loads(json.dumps(shape.to_json()))) == shape


def test_keywords_change_a_profile_and_leave_the_named_one_alone() -> None:
    device = Authenticator("security-key", transports=["ble"], counter=AlwaysZero())
    assert device.profile.transports == ("ble",)
    assert profile("security-key").transports == ("usb",)
    assert Authenticator(device.profile, name="mine").profile.name == "mine"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"colour": "red"}, "got 'colour', expected a member"),
        ({"attestation": "tmp"}, "attestation: got 'tmp', expected one of none, packed-self"),
        ({"attachment": None}, "attachment: got None, expected one of"),
        ({"ctap": "2.2"}, "ctap: got '2.2', expected one of"),
        ({"user_verification": "face"}, "user_verification: got 'face', expected one of"),
        ({"discoverable": True}, "discoverable: got True, expected one of"),
        ({"algorithms": []}, "algorithms: got"),
        ({"algorithms": ["HS256"]}, "algorithms: got ['HS256'], expected some of ES256"),
        ({"transports": "usb"}, "transports: got 'usb', expected a list"),
        ({"transports": [1]}, "transports: got [1], expected a list"),
        ({"aaguid": b"short"}, "aaguid: got 5 bytes, expected 16"),
        ({"aaguid": "not a uuid"}, "aaguid: got 'not a uuid', expected a UUID"),
        ({"counter": {"kind": "up"}}, "counter kind: got 'up', expected one of"),
        ({"counter": {"kind": "zero", "x": 1}}, "counter 'zero': got {'x': 1}, expected"),
        ({"attestation": "fido-u2f", "algorithms": ["EdDSA"]}, "fido-u2f"),
        ({"backup_state": []}, "backup_state: got"),
        ({"backup_eligible": "yes"}, "backup_eligible: got 'yes', expected"),
        ({"credential_id_length": 0}, "credential_id_length: got 0, expected"),
        ({"credential_id_length": 70_000}, "credential_id_length: got 70000, expected"),
        ({"capacity": -1}, "capacity: got -1, expected"),
    ],
)
def test_a_wrong_shape_is_refused_with_what_was_got_and_expected(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Authenticator("security-key", **changes)


def test_an_unknown_profile_is_refused_with_the_known_names() -> None:
    with pytest.raises(ValueError, match=r"got 'yubikey', expected one of security-key, .*hybrid"):
        Authenticator("yubikey")
