"""Faults over CTAP: they reach what a relying party verifies, and nothing else."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidSignature
from fido2.attestation import InvalidData, PackedAttestation
from fido2.attestation import InvalidSignature as InvalidAttestation
from fido2.ctap1 import Ctap1
from fido2.utils import sha256

from virtual_authenticator import FaultError, fault

HASH = bytes(range(32))
APPLICATION = sha256(b"example.org")


@pytest.fixture
def fresh(new_key, platform_of):
    return platform_of(new_key())


def identifier(made):
    return made.auth_data.credential_data.credential_id


def test_a_broken_signature(fresh):
    made = fresh.make()
    key = made.auth_data.credential_data.public_key
    with fresh.authenticator.faulty("signature-bit"):
        broken = fresh.get(allow=[identifier(made)])
    with pytest.raises(InvalidSignature):
        broken.verify(HASH, key)
    fresh.get(allow=[identifier(made)]).verify(HASH, key)


def test_a_broken_attestation(fresh):
    with fresh.authenticator.faulty("signature-bit"):
        broken = fresh.make()
    whole = fresh.make()
    with pytest.raises((InvalidAttestation, InvalidData)):
        PackedAttestation().verify(broken.att_stmt, broken.auth_data, HASH)
    PackedAttestation().verify(whole.att_stmt, whole.auth_data, HASH)


def test_a_flag(fresh):
    with fresh.authenticator.faulty(fault({"fault": "flip-flag", "flag": "UP"})):
        made = fresh.make()
        got = fresh.get(allow=[identifier(made)])
    assert not made.auth_data.is_user_present()
    assert not got.auth_data.is_user_present()
    got.verify(HASH, made.auth_data.credential_data.public_key)  # signed over, so still valid


def test_another_algorithm(fresh):
    with fresh.authenticator.faulty("other-algorithm"):
        made = fresh.make()
    assert made.auth_data.credential_data.public_key[3] != -7


def test_each_answer_of_an_enumeration_has_the_fault(fresh):
    for user in (b"alice", b"bob"):
        fresh.make(user=user, options={"rk": True})
    with fresh.authenticator.faulty("wrong-rp-id-hash"):
        got = fresh.ctap.get_assertions("example.org", HASH)
    assert len(got) == 2
    assert all(one.auth_data.rp_id_hash != APPLICATION for one in got)


@pytest.mark.parametrize("name", ["wrong-challenge", "wrong-origin", "wrong-credential-id"])
def test_a_clients_fault_is_an_error_of_the_test(fresh, name):
    with fresh.authenticator.faulty(name), pytest.raises(FaultError, match="client"):
        fresh.make()


def test_a_fault_of_the_other_ceremony_is_an_error_of_the_test(fresh):
    made = fresh.make()
    with fresh.authenticator.faulty("broken-x5c"), pytest.raises(FaultError, match="create"):
        fresh.get(allow=[identifier(made)])


def test_a_silent_look_has_no_fault(fresh):
    """Platforms look before they ask; a fault for the ceremony itself must not stop that."""
    made = fresh.make()
    with fresh.authenticator.faulty("broken-x5c"):
        got = fresh.get(allow=[identifier(made)], options={"up": False})
    got.verify(HASH, made.auth_data.credential_data.public_key)


def test_a_refused_request_spends_no_fault(fresh, refuses):
    with fresh.authenticator.faulty("signature-bit"), refuses("INVALID_OPTION"):
        fresh.make(options={"up": False})


@pytest.mark.parametrize("name", ["signature-bit", "other-key", "wrong-rp-id-hash"])
def test_u2f_registrations(new_key, name):
    key = new_key("u2f-key")
    with key.faulty(name):
        broken = Ctap1(key.ctap).register(HASH, APPLICATION)
    with pytest.raises((InvalidSignature, InvalidAttestation)):
        broken.verify(APPLICATION, HASH)


@pytest.mark.parametrize("name", ["flip-flag", "trailing", "other-algorithm"])
def test_u2f_registrations_show_no_more(new_key, name):
    key = new_key("u2f-key")
    with key.faulty(name), pytest.raises(FaultError, match="U2F"):
        Ctap1(key.ctap).register(HASH, APPLICATION)


def test_u2f_assertions(new_key):
    key = new_key("u2f-key")
    registered = Ctap1(key.ctap).register(HASH, APPLICATION)
    with key.faulty("signature-bit"):
        broken = Ctap1(key.ctap).authenticate(HASH, APPLICATION, registered.key_handle)
    with pytest.raises(InvalidSignature):
        broken.verify(APPLICATION, HASH, registered.public_key)
