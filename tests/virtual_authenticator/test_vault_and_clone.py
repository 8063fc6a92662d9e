"""Synced passkeys that spread at once or late, and stolen copies."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData
from webauthn.helpers.exceptions import InvalidAuthenticationResponse

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import (
    Authenticator,
    ManualClock,
    NotAllowedError,
    PerCredential,
    SyncedAuthenticator,
    Vault,
)
from virtual_authenticator.encoding import base64url_decode, base64url_encode


def count(response: dict[str, Any]) -> int:
    return AuthenticatorData(base64url_decode(response["response"]["authenticatorData"])).counter


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


def test_what_one_device_registers_the_other_can_use_at_once() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(), vault.device("google-password-manager")
    held = party.register(phone)
    assert party.sign_in(laptop)["id"] == held["id"]
    assert party.sign_in(phone)["id"] == held["id"]
    assert [one.id for one in laptop.credentials] == [base64url_decode(held["id"])]


def test_a_device_that_comes_later_has_all_that_was_there() -> None:
    vault, party = Vault(), RelyingParty()
    held = party.register(vault.device())
    for lags in (False, True):
        assert party.sign_in(vault.device(lags=lags))["id"] == held["id"]


def test_a_lagging_device_knows_only_what_it_has_synced() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(), vault.device(lags=True)
    held = party.register(phone)
    with pytest.raises(NotAllowedError):
        laptop.get(party.request_options(), party.origin)
    laptop.sync()
    assert party.sign_in(laptop)["id"] == held["id"]


def test_what_a_lagging_device_registers_spreads_when_it_syncs() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(), vault.device(lags=True)
    held = party.register(laptop)
    with pytest.raises(NotAllowedError):
        phone.get(party.request_options(), party.origin)
    laptop.sync()
    assert party.sign_in(phone)["id"] == held["id"]


@pytest.mark.parametrize("deleting", ["phone", "laptop"])
def test_a_deletion_spreads(deleting: str) -> None:
    vault, party = Vault(), RelyingParty()
    devices = {"phone": vault.device(lags=True), "laptop": vault.device(lags=True)}
    held = party.register(devices["phone"])
    for _ in range(2):
        for device in devices.values():
            device.sync()
    deleted_on = devices.pop(deleting)
    (other,) = devices.values()
    deleted_on.remove_credential(base64url_decode(held["id"]))
    other.sync()
    party.sign_in(other)  # the vault has not heard yet
    deleted_on.sync()
    party.sign_in(other)  # nor has the other device
    other.sync()
    assert not other.credentials
    with pytest.raises(NotAllowedError):
        other.get(party.request_options([held["id"]]), party.origin)


def test_a_deletion_wins_over_a_later_use() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(lags=True), vault.device(lags=True)
    held = party.register(phone)
    phone.sync()
    laptop.sync()
    phone.remove_credential(base64url_decode(held["id"]))
    phone.sync()
    for _ in range(3):
        party.sign_in(laptop)
    laptop.sync()
    phone.sync()
    for device in (phone, laptop, vault.device()):
        assert not device.credentials
        with pytest.raises(NotAllowedError):
            device.get(party.request_options(), party.origin)


def test_a_replaced_account_spreads_as_one_credential() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(lags=True), vault.device(lags=True)
    party.register(phone)
    second = party.register(laptop)  # the same account, before either has synced
    for device in (phone, laptop, phone):
        device.sync()
    for device in (phone, laptop):
        assert [base64url_encode(one.id) for one in device.credentials] == [second["id"]]


def test_counters_diverge_and_the_newer_copy_wins() -> None:
    vault, party = Vault(), RelyingParty()
    phone = vault.device(lags=True, counter=PerCredential())
    laptop = vault.device(lags=True, counter=PerCredential())
    party.register(phone)
    phone.sync()
    laptop.sync()
    assert [count(party.sign_in(phone)) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(InvalidAuthenticationResponse, match="sign count of 1 "):
        party.sign_in(laptop)
    laptop.sync()  # the vault has no news yet, and takes the laptop's
    phone.sync()  # the phone's copy has seen more uses
    laptop.sync()
    assert count(party.sign_in(laptop)) == 4


def test_copies_in_a_vault_are_no_shared_objects() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(lags=True), vault.device(lags=True)
    party.register(phone)
    phone.sync()
    laptop.sync()
    laptop.credentials[0].user_name = "renamed"
    assert phone.credentials[0].user_name != "renamed"


def test_two_vaults_share_nothing() -> None:
    party = RelyingParty()
    party.register(Vault().device())
    assert not Vault().device().credentials


def test_syncing_twice_changes_nothing() -> None:
    vault, party = Vault(), RelyingParty()
    phone, laptop = vault.device(), vault.device(lags=True)
    for number in range(3):
        party.register(phone, user=user(number))
    laptop.sync()
    before = [one.to_json() for one in laptop.credentials]
    laptop.sync()
    phone.sync()
    assert [one.to_json() for one in laptop.credentials] == before
    assert len(phone.credentials) == 3


# ---- clones


def test_a_clone_is_seen_by_its_counter() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device)["id"]
    party.sign_in(device, [held])
    stolen = device.clone()
    party.sign_in(stolen, [held])  # the thief is first, and is let in
    with pytest.raises(InvalidAuthenticationResponse, match="sign count"):
        party.sign_in(device, [held])


def test_a_clone_of_a_device_without_counters_is_not_seen() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    stolen = device.clone()
    for one in (stolen, device, stolen):
        party.sign_in(one)


@pytest.mark.parametrize("seed", [None, 1], ids=["unseeded", "seeded"])
def test_a_clone_lives_its_own_life(seed: int | None) -> None:
    device, party = Authenticator("security-key", seed=seed), RelyingParty()
    party.register(device, user=user(0))
    stolen, second = device.clone(), device.clone()
    ids = {party.register(one, user=user(1))["id"] for one in (device, stolen, second)}
    assert len(ids) == 3
    assert [len(one.credentials) for one in (device, stolen, second)] == [2, 2, 2]
    device.remove_credential(device.credentials[0].id)
    assert len(stolen.credentials) == 2
    device.person.will("decline")
    party.register(stolen, user=user(2))
    assert len(device.person.planned) == 1


def test_a_clone_s_log_starts_empty() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    party.register(device)
    assert not len(device.clone().log)


@pytest.mark.parametrize("before", [True, False], ids=["attested before", "never attested"])
@pytest.mark.parametrize("seed", [None, 1], ids=["unseeded", "seeded"])
def test_a_clone_attests_with_the_same_key(seed: int | None, before: bool) -> None:
    device, party = Authenticator("security-key", seed=seed), RelyingParty()
    if before:
        party.register(device, attestation="direct")
    stolen = device.clone()
    party.trust(device)
    party.register(stolen, attestation="direct")
    assert stolen.core.identity.certificates == device.core.identity.certificates


# ---- a vault's device, saved, cloned, copied, pickled


def pickled(given: Any) -> Any:
    return pickle.loads(pickle.dumps(given))


def test_a_clone_of_a_vault_s_device_is_one_too_but_learns_only_by_syncing() -> None:
    vault, party = Vault(), RelyingParty()
    phone = vault.device()
    held = party.register(phone)["id"]
    stolen = phone.clone()
    assert isinstance(stolen, SyncedAuthenticator)
    assert party.sign_in(stolen)["id"] == held
    party.register(phone, user=user(1))
    assert len(stolen.credentials) == 1
    stolen.sync()
    assert len(stolen.credentials) == 2
    stolen.remove_credential(base64url_decode(held))
    assert len(phone.credentials) == 2
    stolen.sync()
    assert len(phone.credentials) == 1


@pytest.mark.parametrize("lags", [False, True])
def test_a_loaded_device_is_one_of_the_vault_given(lags: bool, tmp_path: Path) -> None:
    vault, party = Vault(), RelyingParty()
    device = vault.device(lags=lags)
    party.register(device)
    device.save(tmp_path / "device.json")
    party.register(vault.device(), user=user(1))
    loaded = Authenticator.load(tmp_path / "device.json", vault=vault)
    assert isinstance(loaded, SyncedAuthenticator)
    assert loaded.vault is vault
    assert len(loaded.credentials) == (1 if lags else 2)
    loaded.sync()
    assert len(loaded.credentials) == 2


def test_a_deletion_is_not_undone_by_loading(tmp_path: Path) -> None:
    vault, party = Vault(), RelyingParty()
    phone = vault.device()
    held = party.register(phone)["id"]
    phone.save(tmp_path / "phone.json")
    phone.remove_credential(base64url_decode(held))
    assert not Authenticator.load(tmp_path / "phone.json", vault=vault).credentials
    # With a vault of its own, all is as it was when it was saved.
    alone = Authenticator.load(tmp_path / "phone.json")
    assert isinstance(alone, SyncedAuthenticator)
    assert party.sign_in(alone)["id"] == held
    assert alone.vault.device().credentials


def test_a_device_without_a_vault_joins_none(tmp_path: Path) -> None:
    Authenticator().save(tmp_path / "key.json")
    with pytest.raises(ValueError, match="vault: got one, expected none"):
        Authenticator.load(tmp_path / "key.json", vault=Vault())


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))],
    ids=["copy", "pickle"],
)
def test_devices_that_travel_together_still_share_their_vault(again: Any) -> None:
    vault, party = Vault(), RelyingParty()
    party.register(vault.device())
    phone, laptop = again([vault.device(), vault.device(lags=True)])
    assert phone.vault is laptop.vault is not vault
    party.register(phone, user=user(1))
    laptop.sync()
    assert [len(one.credentials) for one in (phone, laptop)] == [2, 2]
    assert len(vault.store) == 1


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, pickled],
    ids=["copy", "deepcopy", "pickle"],
)
@pytest.mark.parametrize(
    "shape", ["security-key", "icloud-keychain", "android-platform", "u2f-key"]
)
def test_a_copy_goes_on_as_the_original_would(again: Any, shape: str) -> None:
    clock, party = ManualClock(), RelyingParty()
    key = Authenticator(shape, seed="twin", clock=clock)
    party.trust(key)
    held = party.register(key, attestation="direct")["id"]
    key.related_origins["example.org"] = ["https://example.com"]
    twin = again(key)
    assert type(twin) is Authenticator
    assert [str(entry) for entry in twin.log] == [str(entry) for entry in key.log]
    assert twin.related_origins == key.related_origins
    assert twin.clock.now() == clock.now()
    options = party.request_options([held])
    assert twin.get(options, party.origin) == key.get(options, party.origin)
    new = party.creation_options(user=user(1))
    assert twin.create(new, party.origin)["id"] == key.create(new, party.origin)["id"]
    twin.remove_credential(base64url_decode(held))
    assert key.credential(base64url_decode(held)).rp_id == party.rp_id


@pytest.mark.parametrize("again", [copy.copy, pickled])
def test_parts_can_be_copied_too(again: Any) -> None:
    device, party = Authenticator("windows-hello"), RelyingParty()
    party.register(device, attestation="direct")
    credential = device.credentials[0]
    assert again(credential).to_json() == credential.to_json()
    identity = device.core.identity
    assert again(identity).to_json() == identity.to_json()
    assert again(device.attestation_authority).root == device.attestation_authority.root
    assert again(device.profile) == device.profile
