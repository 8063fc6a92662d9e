"""Saved states, seeds, and what authenticators and threads do not share."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import (
    Authenticator,
    ManualClock,
    PerCredential,
    RandomStep,
    Scripted,
    SystemClock,
    profiles,
)
from virtual_authenticator.algorithms import BY_NAME
from virtual_authenticator.encoding import base64url_decode, base64url_encode

CHALLENGE = base64url_encode(bytes(32))
USER = {"id": "AQID", "name": "a", "displayName": "A"}


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


def through_json(device: Authenticator) -> Authenticator:
    return Authenticator.from_json(json.loads(json.dumps(device.to_json())))


def life(device: Authenticator, **changes: Any) -> list[dict[str, Any]]:
    """A registration and two assertions with fixed inputs."""
    party = RelyingParty()
    registration = device.create(
        party.creation_options(challenge=CHALLENGE, user=USER, **changes), party.origin
    )
    options = party.request_options([registration["id"]], challenge=CHALLENGE)
    return [registration, device.get(options, party.origin), device.get(options, party.origin)]


# ---- save and load


@pytest.mark.parametrize("name", profiles())
def test_a_saved_authenticator_goes_on_where_it_was(name: str) -> None:
    device, party = Authenticator(name, seed=name), RelyingParty()
    held = party.register(device, extensions={"prf": {}, "credProps": True})["id"]
    party.sign_in(device, [held])
    twin = through_json(device)
    assert twin.to_json() == device.to_json()
    assert twin.profile == device.profile
    for _ in range(2):
        options = party.request_options([held], extensions={"prf": {"eval": {"first": "AAAA"}}})
        assert device.get(options, party.origin) == twin.get(options, party.origin)
    options = party.creation_options(user=user(7), attestation="direct")
    assert device.create(options, party.origin) == twin.create(options, party.origin)


@pytest.mark.parametrize(
    "policy", [PerCredential(3, 2), Scripted([9, 4, 4]), RandomStep()], ids=str
)
def test_counters_go_on_after_loading(policy: Any) -> None:
    device, party = Authenticator(counter=policy, seed=1), RelyingParty()
    held = party.register(device)["id"]
    twin = through_json(device)
    for _ in range(4):
        options = party.request_options([held])
        assert device.get(options, party.origin) == twin.get(options, party.origin)


def test_an_unseeded_authenticator_keeps_keys_and_attestation() -> None:
    device, party = Authenticator("security-key"), RelyingParty()
    held = party.register(device)["id"]
    twin = through_json(device)
    party.trust(device)
    party.sign_in(twin, [held])
    party.register(twin, attestation="direct", user=user(1))
    assert twin.attestation_authority.root == device.attestation_authority.root


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_keys_of_every_algorithm_are_kept(algorithm: str) -> None:
    device, party = Authenticator(algorithms=[algorithm]), RelyingParty()
    held = party.register(device)["id"]
    party.sign_in(through_json(device), [held])


def test_the_order_of_credentials_is_kept() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    ids = [party.register(device, user=user(number))["id"] for number in range(3)]
    device.remove_credential(base64url_decode(ids[1]))
    twin = through_json(device)
    assert [one.encoded_id for one in twin.credentials] == [ids[0], ids[2]]
    assert party.sign_in(twin)["id"] == ids[2]


def test_loading_takes_a_clock() -> None:
    clock = ManualClock(1000.0)
    device = Authenticator("icloud-keychain", clock=clock)
    RelyingParty().register(device)
    twin = Authenticator.from_json(device.to_json(), clock=ManualClock(5.0))
    assert twin.credentials[0].created == 1000.0
    assert twin.clock.now() == 5.0
    assert isinstance(Authenticator.from_json(device.to_json()).clock, SystemClock)


@pytest.mark.parametrize("form", [str, Path])
def test_a_file_holds_the_state_and_only_its_owner_reads_it(tmp_path: Path, form: Any) -> None:
    device, party = Authenticator("security-key", seed=1), RelyingParty()
    held = party.register(device)["id"]
    path = tmp_path / "device.json"
    device.save(form(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert Authenticator.load(form(path)).to_json() == device.to_json()
    party.sign_in(Authenticator.load(path), [held])


def test_a_file_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "device.json"
    path.write_text("old")
    path.chmod(0o644)
    Authenticator("icloud-keychain").save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    Authenticator.load(path)


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    state = Authenticator("icloud-keychain").to_json()
    if version is None:
        del state["version"]
    else:
        state["version"] = version
    with pytest.raises(ValueError, match=f"state version: got {version!r}, expected 1"):
        Authenticator.from_json(state)


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "5", '"text"', "null", "{}"])
def test_a_file_that_holds_no_state_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "device.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"got .*, expected"):
        Authenticator.load(path)


# ---- seeds


@pytest.mark.parametrize("algorithm", sorted(set(ALGORITHMS) - {"PS256"}))  # its keys are RS256's
def test_the_same_seed_gives_the_same_keys_ids_and_signatures(algorithm: str) -> None:
    lives = [
        life(Authenticator(algorithms=[algorithm], seed="a seed"), attestation="direct")
        for _ in range(2)
    ]
    if not BY_NAME[algorithm].repeats:  # ML-DSA signs with fresh randomness
        for _, *assertions in lives:
            for assertion in assertions:
                assert assertion["response"].pop("signature")
    assert lives[0] == lives[1]


@pytest.mark.parametrize("seed", ["text", b"bytes", 5, 0, "", b""])
def test_seeds_of_every_type_are_seeds(seed: Any) -> None:
    assert life(Authenticator(seed=seed)) == life(Authenticator(seed=seed))


def test_different_seeds_differ() -> None:
    seeds: list[Any] = [1, 2, "1", b"1", "2", "", b""]
    registrations = [life(Authenticator(seed=seed))[0] for seed in seeds]
    assert len({one["id"] for one in registrations}) == len(seeds)
    assert len({one["response"]["publicKey"] for one in registrations}) == len(seeds)


def test_without_a_seed_everything_differs() -> None:
    first, second = (life(Authenticator()) for _ in range(2))
    assert first[0]["id"] != second[0]["id"]
    assert first[0]["response"]["publicKey"] != second[0]["response"]["publicKey"]


def test_without_a_seed_ecdsa_signatures_of_one_message_differ() -> None:
    _, first, second = life(Authenticator("icloud-keychain"))
    assert first["response"]["authenticatorData"] == second["response"]["authenticatorData"]
    assert first["response"]["signature"] != second["response"]["signature"]


def test_what_is_registered_before_does_not_change_the_attestation_key() -> None:
    busy, idle = Authenticator(seed=1), Authenticator(seed=1)
    life(busy)
    assert busy.attestation_authority.root == idle.attestation_authority.root


# ---- nothing is shared


def test_two_authenticators_share_nothing() -> None:
    first, second = Authenticator("security-key"), Authenticator("security-key")
    party = RelyingParty()
    first.person.will("decline")
    first.related_origins["example.org"] = ["https://example.de"]
    party.register(second)
    assert not first.credentials
    assert not len(first.log)
    assert not second.person.planned
    assert not second.related_origins
    assert first.attestation_authority.root != second.attestation_authority.root
    assert first.core.lock is not second.core.lock


def test_credentials_can_be_moved_by_hand() -> None:
    first, second = Authenticator("icloud-keychain"), Authenticator("icloud-keychain")
    party = RelyingParty()
    party.register(first)
    second.add_credential(first.credentials[0].copy())
    party.sign_in(second)
    with pytest.raises(KeyError, match="no credential 6e6f6e65"):
        second.remove_credential(b"none")


# ---- threads


def test_many_threads_share_one_authenticator() -> None:
    device = Authenticator("security-key", pin="1234")
    party = RelyingParty()
    held = party.register(device)["id"]
    start = threading.Barrier(8)

    def work(_: int) -> list[dict[str, Any]]:
        mine = RelyingParty()
        mine.stored = party.stored
        start.wait(timeout=30)
        responses = []
        for _ in range(25):
            response = device.get(mine.request_options([held]), mine.origin)
            mine.verify_assertion_with_fido2(response)
            responses.append(response)
        return responses

    with ThreadPoolExecutor(8) as pool:
        responses = [one for made in pool.map(work, range(8)) for one in made]
    counts = sorted(
        AuthenticatorData(base64url_decode(one["response"]["authenticatorData"])).counter
        for one in responses
    )
    assert counts == list(range(2, 202))  # the registration showed 1
    assert len(device.log) == 201


def test_many_threads_register_on_one_authenticator() -> None:
    device = Authenticator("icloud-keychain", seed=1)
    start = threading.Barrier(8)

    def work(thread: int) -> list[str]:
        party = RelyingParty()
        start.wait(timeout=30)
        ids = []
        for number in range(10):
            ids.append(party.register(device, user=user(thread * 10 + number))["id"])
            party.sign_in(device, [ids[-1]])
        return ids

    with ThreadPoolExecutor(8) as pool:
        ids = [one for made in pool.map(work, range(8)) for one in made]
    assert len(set(ids)) == 80
    assert {one.encoded_id for one in device.credentials} == set(ids)


# ---- import


def test_importing_the_package_is_light() -> None:
    code = (
        "import sys, virtual_authenticator\n"
        "heavy = {'fido2', 'tomllib', 'asyncio', 'pytest', 'hypothesis', 'webauthn', 'mcp',"
        " 'cryptography.x509'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"
