"""LargeBlobs, largeBlobKey and credBlob, by python-fido2's LargeBlobs and Fido2Client."""

from __future__ import annotations

import os

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client
from fido2.ctap2 import LargeBlobs
from fido2.ctap2.extensions import CredBlobExtension, LargeBlobExtension
from fido2.server import Fido2Server
from fido2.utils import sha256, websafe_decode
from fido2.webauthn import (
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from virtual_authenticator import Authenticator

PIN = "2468"
WRITE, CONFIGURE = 0x10, 0x20
EMPTY = bytes.fromhex("8076be8b528d0075f7aae98d6fa57a6d3c")
"""The initial value that section 6.10 prints."""
FRAGMENT = 1536 - 64


def blobs(platform, permissions=WRITE):
    return LargeBlobs(platform.ctap, platform.protocol, platform.token(permissions, None))


def array(length):
    """A serialized array of just this length; to the key it is bytes and their hash."""
    data = os.urandom(length - 16)
    return data + sha256(data)[:16]


def write(platform, offset, fragment, *, token=None, **rest):
    message = b"\xff" * 32 + b"\x0c\x00" + offset.to_bytes(4, "little") + sha256(fragment)
    signed = platform.signed(token or platform.token(WRITE, None), message)
    return platform.ctap.large_blobs(offset, set=fragment, **{**signed, **rest})


def stored(platform):
    found = b""
    while fragment := platform.ctap.large_blobs(len(found), get=FRAGMENT)[1]:
        found += fragment
    return found


def identifier(made):
    return made.auth_data.credential_data.credential_id


# ---- the array


def test_a_new_key_has_an_empty_array(platform):
    assert platform.ctap.large_blobs(0, get=100) == {1: EMPTY}
    assert LargeBlobs(platform.ctap).read_blob_array() == []
    assert platform.ctap.info.max_large_blob == 4096


def test_blobs_come_and_go(platform):
    mine, other = os.urandom(32), os.urandom(32)
    blobs(platform).put_blob(mine, b"mine" * 500)
    blobs(platform).put_blob(other, b"other")

    reader = LargeBlobs(platform.ctap)  # reading takes no token
    assert reader.get_blob(mine) == b"mine" * 500
    assert reader.get_blob(other) == b"other"
    blobs(platform).delete_blob(mine)
    assert reader.get_blob(mine) is None
    assert reader.get_blob(other) == b"other"


@pytest.mark.parametrize("length", [17, FRAGMENT, FRAGMENT + 1, 2 * FRAGMENT, 4096])
def test_fragments(platform, length):
    whole, token = array(length), platform.token(WRITE, None)
    for offset in range(0, length, FRAGMENT):
        assert stored_or_before(platform, whole) is (offset == 0)
        first = {"length": length} if offset == 0 else {}
        write(platform, offset, whole[offset : offset + FRAGMENT], token=token, **first)
    assert stored(platform) == whole


def stored_or_before(platform, whole):
    """True before anything was written; looks without asking, which would end the writing."""
    return platform.authenticator.ctap.processor.session.blob_write is None


def test_what_is_not_whole_changes_nothing(platform, refuses):
    whole, token = array(2000), platform.token(WRITE, None)
    write(platform, 0, whole[:1000], token=token, length=2000)
    assert stored(platform) == EMPTY  # and the reading ends the writing
    with refuses("INVALID_SEQ"):
        write(platform, 1000, whole[1000:], token=token)

    write(platform, 0, whole[:1000], token=token, length=2000)
    platform.ctap.get_info()  # as any other command does
    with refuses("INVALID_SEQ"):
        write(platform, 1000, whole[1000:], token=token)

    write(platform, 0, whole[:1000], token=token, length=2000)
    with refuses("INTEGRITY_FAILURE"):
        write(platform, 1000, bytes(1000), token=token)
    assert stored(platform) == EMPTY


@pytest.mark.parametrize(
    ("offset", "length", "size", "status"),
    [
        (0, None, 20, "INVALID_PARAMETER"),
        (0, 16, 16, "INVALID_PARAMETER"),
        (0, 4097, 20, "LARGE_BLOB_STORAGE_FULL"),
        (0, 20, 21, "INVALID_PARAMETER"),
        (0, 2000, FRAGMENT + 1, "INVALID_LENGTH"),
        (1, None, 20, "INVALID_SEQ"),
        (1, 20, 20, "INVALID_PARAMETER"),
    ],
)
def test_writes_that_are_wrong(platform, refuses, offset, length, size, status):
    with refuses(status):
        write(platform, offset, bytes(size), length=length)
    assert stored(platform) == EMPTY


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"offset": 0}, "INVALID_PARAMETER"),
        ({"offset": 0, "get": 1, "set": b"x"}, "INVALID_PARAMETER"),
        ({"offset": 0, "get": FRAGMENT + 1}, "INVALID_LENGTH"),
        ({"offset": 0, "get": 1, "length": 17}, "INVALID_PARAMETER"),
        ({"offset": 0, "get": 1, "pin_uv_protocol": 2}, "INVALID_PARAMETER"),
        ({"offset": 18, "get": 1}, "INVALID_PARAMETER"),
        ({"offset": None, "get": 1}, "INVALID_PARAMETER"),
        ({"offset": 0, "get": b"1"}, "CBOR_UNEXPECTED_TYPE"),
    ],
)
def test_reads_that_are_wrong(platform, refuses, asked, status):
    with refuses(status):
        platform.ctap.large_blobs(**asked)
    assert platform.ctap.large_blobs(17, get=1) == {1: b""}


def test_writing_needs_the_permission(platform, new_key, platform_of, refuses):
    with refuses("PUAT_REQUIRED"):
        LargeBlobs(platform.ctap).write_blob_array([])
    with refuses("PIN_AUTH_INVALID"):
        blobs(platform, CONFIGURE).write_blob_array([])
    with refuses("PIN_AUTH_INVALID"):
        write(platform, 0, EMPTY, token=bytes(32), length=17)
    with refuses("MISSING_PARAMETER"):
        write(platform, 0, EMPTY, length=17, pin_uv_protocol=None)

    nobodys = platform_of(new_key())  # no PIN: nobody to ask
    LargeBlobs(nobodys.ctap).put_blob(bytes(32), b"x")
    assert LargeBlobs(nobodys.ctap).get_blob(bytes(32)) == b"x"


def test_the_permission_outlives_the_touch(platform):
    """Section 6.5.2.1: a token that was spent on an assertion may still write its blob."""
    made = platform.make()
    token = platform.token(2 | WRITE)
    platform.get(allow=[identifier(made)], token=token)
    LargeBlobs(platform.ctap, platform.protocol, token).put_blob(bytes(32), b"after")
    assert LargeBlobs(platform.ctap).get_blob(bytes(32)) == b"after"


def test_the_array_is_kept_and_a_reset_empties_it(platform):
    blobs(platform).put_blob(bytes(32), b"kept")
    key = platform.authenticator
    key.ctap.power_cycle()
    restored = Authenticator.from_json(key.to_json())

    assert stored(platform) != EMPTY
    assert restored.core.large_blobs == key.clone().core.large_blobs == key.core.large_blobs
    platform.ctap.reset()
    assert stored(platform) == EMPTY


# ---- largeBlobKey


def test_each_credential_has_a_key_of_its_own(platform):
    asks = {"largeBlobKey": True}
    made = [
        platform.make(user=user, options={"rk": True}, extensions=asks, token=platform.token())
        for user in (b"alice", b"bob")
    ]
    plain = platform.make(user=b"carol", options={"rk": True}, token=platform.token())
    keys = [one.large_blob_key for one in made]
    again = platform.get(allow=[identifier(made[0])], extensions=asks)

    assert len(set(keys)) == 2
    assert {len(key) for key in keys} == {32}
    assert made[0].auth_data.extensions is None  # it is not for relying parties to see
    assert again.large_blob_key == keys[0]
    assert platform.get(allow=[identifier(made[0])]).large_blob_key is None
    assert platform.get(allow=[identifier(plain)], extensions=asks).large_blob_key is None
    every = platform.ctap.get_assertions(
        "example.org", bytes(32), extensions=asks, **platform.signed(platform.token(), bytes(32))
    )
    assert [one.large_blob_key for one in every] == [None, keys[1], keys[0]]


def test_the_only_input_is_true_and_for_resident_keys(platform, refuses):
    with refuses("INVALID_OPTION"):
        platform.make(extensions={"largeBlobKey": True})
    with refuses("INVALID_OPTION"):
        platform.make(
            options={"rk": True}, extensions={"largeBlobKey": False}, token=platform.token()
        )
    made = platform.make()
    with refuses("INVALID_OPTION"):
        platform.get(allow=[identifier(made)], extensions={"largeBlobKey": False})


# ---- credBlob


@pytest.mark.parametrize(
    ("blob", "resident", "kept"),
    [(b"x" * 32, True, True), (b"", True, True), (b"x" * 33, True, False), (b"x", False, False)],
)
def test_credential_blobs(platform, blob, resident, kept):
    made = platform.make(
        options={"rk": resident}, extensions={"credBlob": blob}, token=platform.token()
    )
    got = platform.get(allow=[identifier(made)], extensions={"credBlob": True})

    assert made.auth_data.extensions == {"credBlob": kept}
    assert got.auth_data.extensions == {"credBlob": blob if kept else b""}
    assert platform.get(allow=[identifier(made)]).auth_data.extensions is None
    assert platform.ctap.info.max_cred_blob_length == 32
    key = platform.authenticator
    restored = Authenticator.from_json(key.to_json()).credentials[0]
    assert restored.credential_blob == key.credentials[0].credential_blob


# ---- a client that knows no CTAP


@pytest.fixture
def ceremonies(new_key, client_of):
    """python-fido2's client and server around a key: register, then sign in."""
    key = new_key(pin=PIN)
    _, holder = client_of(key)
    collector = DefaultClientDataCollector("https://example.org")
    client = Fido2Client(
        key.ctap, collector, holder, extensions=[LargeBlobExtension(), CredBlobExtension()]
    )
    server = Fido2Server(PublicKeyCredentialRpEntity(id="example.org", name="Example"))
    user = PublicKeyCredentialUserEntity(id=b"alice", name="alice", display_name="Alice")

    def register(extensions):
        asked, state = server.register_begin(
            user, resident_key_requirement=ResidentKeyRequirement.REQUIRED, extensions=extensions
        )
        made = client.make_credential(asked.public_key)
        return server.register_complete(state, made).credential_data, made

    def sign_in(credential, extensions):
        required = UserVerificationRequirement.REQUIRED
        asked, state = server.authenticate_begin([credential], required, extensions=extensions)
        got = client.get_assertion(asked.public_key).get_response(0)
        server.authenticate_complete(state, [credential], got)
        return got

    return register, sign_in


def test_a_client_stores_a_large_blob(ceremonies):
    register, sign_in = ceremonies
    credential, made = register({"largeBlob": {"support": "required"}})
    assert made.client_extension_results["largeBlob"] == {"supported": True}

    written = sign_in(credential, {"largeBlob": {"write": b"certificate"}})
    assert written.client_extension_results["largeBlob"] == {"written": True}
    read = sign_in(credential, {"largeBlob": {"read": True}})
    assert websafe_decode(read.client_extension_results["largeBlob"]["blob"]) == b"certificate"


def test_a_client_stores_a_credential_blob(ceremonies):
    register, sign_in = ceremonies
    credential, made = register({"credBlob": b"little"})
    got = sign_in(credential, {"getCredBlob": True})

    assert made.response.attestation_object.auth_data.extensions["credBlob"] is True
    assert got.response.authenticator_data.extensions == {"credBlob": b"little"}
