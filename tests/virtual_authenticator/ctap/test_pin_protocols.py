"""The authenticator's side of the PIN/UV auth protocols, against python-fido2's side of them."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.ctap2.pin import PinProtocolV1, PinProtocolV2

from virtual_authenticator.ctap.pin_protocols import PROTOCOLS
from virtual_authenticator.entropy import Entropy

BOTH = pytest.mark.parametrize("theirs", [PinProtocolV1(), PinProtocolV2()], ids=["one", "two"])


def ours_for(theirs, seed="protocols"):
    return PROTOCOLS[theirs.VERSION](Entropy(seed))


@BOTH
def test_both_sides_agree_on_a_secret(theirs):
    ours = ours_for(theirs)
    key, secret = theirs.encapsulate(ours.public_key())

    assert ours.decapsulate(dict(key)) == secret


@BOTH
def test_both_sides_read_each_other(theirs):
    ours = ours_for(theirs)
    _, secret = theirs.encapsulate(ours.public_key())
    text = bytes(range(64))

    assert ours.decrypt(secret, theirs.encrypt(secret, text)) == text
    assert theirs.decrypt(secret, ours.encrypt(secret, text)) == text


@BOTH
def test_signatures(theirs):
    ours = ours_for(theirs)
    secret = bytes(range(64 if theirs.VERSION == 2 else 32))
    signature = theirs.authenticate(secret, b"message")

    assert ours.verify(secret, b"message", signature)
    assert not ours.verify(secret, b"massage", signature)
    assert not ours.verify(secret, b"message", signature[:-1])
    assert not ours.verify(secret, b"message", b"")


@BOTH
def test_a_new_key_makes_a_new_secret(theirs):
    ours = ours_for(theirs)
    key, secret = theirs.encapsulate(ours.public_key())
    ours.regenerate()

    assert ours.decapsulate(dict(key)) != secret


@BOTH
def test_a_seed_fixes_the_key_agreement(theirs):
    assert ours_for(theirs).public_key() == ours_for(theirs).public_key()
    assert ours_for(theirs).public_key() != ours_for(theirs, "another").public_key()


def good_key():
    numbers = ec.derive_private_key(7, ec.SECP256R1()).public_key().public_numbers()
    return {
        1: 2,
        3: -25,
        -1: 1,
        -2: numbers.x.to_bytes(32, "big"),
        -3: numbers.y.to_bytes(32, "big"),
    }


@pytest.mark.parametrize(
    "change",
    [
        {1: 1},
        {1: True},
        {3: -7},
        {-1: 2},
        {-2: bytes(32)},
        {-2: bytes(31)},
        {-3: "text"},
        {-3: None},
    ],
    ids=str,
)
def test_a_key_that_is_none_is_refused(change):
    ours = PROTOCOLS[2](Entropy("keys"))

    assert len(ours.decapsulate(good_key())) == 64
    with pytest.raises(ValueError, match=r"kind of key|coordinates|on the curve|point"):
        ours.decapsulate({**good_key(), **change})


@pytest.mark.parametrize(("version", "length"), [(1, 15), (2, 15), (2, 33)])
def test_broken_blocks_are_refused(version, length):
    with pytest.raises(ValueError, match="bytes"):
        PROTOCOLS[version](Entropy("blocks")).decrypt(bytes(64)[: 32 * version], bytes(length))
