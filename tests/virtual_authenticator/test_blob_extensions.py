"""largeBlob and credBlob as a page sees them (WebAuthn Level 3, section 10.1.5; CTAP 2.1, sections
6.10, 12.2 and 12.3)."""

from __future__ import annotations

import zlib
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fido2 import cbor
from fido2.webauthn import AuthenticatorData

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import (
    Authenticator,
    InvalidOptionsError,
    NotAllowedError,
    NotSupportedError,
    Vault,
)
from virtual_authenticator.encoding import base64url_decode, base64url_encode

REQUIRED: dict[str, Any] = {
    "extensions": {"largeBlob": {"support": "required"}},
    "authenticatorSelection": {"residentKey": "required"},
}
BLOB = b"a certificate, say " * 20


def security_key(**changes: Any) -> Authenticator:
    return Authenticator("security-key", extensions=["largeBlobKey", "credBlob"], **changes)


def provider() -> Authenticator:
    return Authenticator("icloud-keychain", extensions=["largeBlob"])


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


def write(party: RelyingParty, device: Authenticator, held: str, blob: bytes) -> Any:
    inputs = {"largeBlob": {"write": base64url_encode(blob)}}
    response = party.sign_in(device, [held], extensions=inputs)
    return response["clientExtensionResults"]["largeBlob"]


def read(party: RelyingParty, device: Authenticator, held: str) -> Any:
    response = party.sign_in(device, [held], extensions={"largeBlob": {"read": True}})
    return response["clientExtensionResults"]["largeBlob"]


# ---- largeBlob


@pytest.mark.parametrize("make", [security_key, provider])
def test_what_was_written_is_read_and_replaced(make: Any) -> None:
    device, party = make(), RelyingParty()
    registration = party.register(device, **REQUIRED)
    assert registration["clientExtensionResults"] == {"largeBlob": {"supported": True}}
    held = registration["id"]
    assert read(party, device, held) == {}
    for blob in (BLOB, b"", b"another"):
        assert write(party, device, held, blob) == {"written": True}
        assert read(party, device, held) == {"blob": base64url_encode(blob)}


def test_each_credential_has_its_own() -> None:
    device, party = security_key(), RelyingParty()
    held = [party.register(device, user=user(one), **REQUIRED)["id"] for one in range(3)]
    for one in held[:2]:
        assert write(party, device, one, one.encode()) == {"written": True}
    assert write(party, device, held[0], b"new") == {"written": True}
    found = [read(party, device, one).get("blob") for one in held]
    assert found == [base64url_encode(b"new"), base64url_encode(held[1].encode()), None]


def test_blobs_survive_saving_cloning_and_syncing() -> None:
    device, party = security_key(counter={"kind": "zero"}), RelyingParty()
    held = party.register(device, **REQUIRED)["id"]
    write(party, device, held, BLOB)
    for twin in (device.clone(), Authenticator.from_json(device.to_json())):
        assert read(party, twin, held) == {"blob": base64url_encode(BLOB)}
        write(party, twin, held, b"theirs")
    assert read(party, device, held) == {"blob": base64url_encode(BLOB)}

    vault, party = Vault(), RelyingParty()
    phone = vault.device(extensions=["largeBlob"])
    laptop = vault.device(extensions=["largeBlob"], lags=True)
    held = party.register(phone, **REQUIRED)["id"]
    write(party, phone, held, BLOB)
    laptop.sync()
    assert read(party, laptop, held) == {"blob": base64url_encode(BLOB)}


@pytest.mark.parametrize(
    ("device", "changes"),
    [
        (Authenticator("security-key", extensions=[]), {}),
        (security_key(ctap="2.0"), {}),
        (security_key(), {"authenticatorSelection": {"residentKey": "discouraged"}}),
    ],
    ids=["no extension", "CTAP 2.0", "not discoverable"],
)
def test_required_support_is_refused_where_it_cannot_be(
    device: Authenticator, changes: dict[str, Any]
) -> None:
    party = RelyingParty()
    options = party.creation_options(**{**REQUIRED, **changes})
    with pytest.raises(NotAllowedError, match="cannot store a large blob"):
        device.create(options, party.origin)
    assert not device.credentials
    device.create(options, party.origin, ignoring=["large-blob"])
    preferred = {**REQUIRED, **changes, "extensions": {"largeBlob": {"support": "preferred"}}}
    registration = party.register(device, **preferred)
    assert registration["clientExtensionResults"] == {"largeBlob": {"supported": False}}
    assert write(party, device, registration["id"], BLOB) == {"written": False}
    assert read(party, device, registration["id"]) == {}


def test_a_blob_that_does_not_fit_leaves_the_others_as_they_were() -> None:
    device, party = security_key(), RelyingParty()
    held = party.register(device, **REQUIRED)["id"]
    write(party, device, held, BLOB)
    noise = b"".join(bytes([n % 251, n * n % 256, n * 31 % 253]) for n in range(3000))
    assert write(party, device, held, noise) == {"written": False}
    assert read(party, device, held) == {"blob": base64url_encode(BLOB)}


@pytest.mark.parametrize(
    ("inputs", "listed", "error"),
    [
        ({"support": "preferred"}, 1, NotSupportedError),
        ({"read": True, "write": "AA"}, 1, NotSupportedError),
        ({"write": "AA"}, 0, NotSupportedError),
        ({"write": "AA"}, 2, NotSupportedError),
        ({"read": "yes"}, 1, InvalidOptionsError),
        ({"write": "A=="}, 1, InvalidOptionsError),
        ({"write": [1]}, 1, InvalidOptionsError),
        ("AA", 1, InvalidOptionsError),
    ],
)
def test_inputs_that_make_no_sense_at_sign_in(inputs: Any, listed: int, error: Any) -> None:
    device, party = security_key(), RelyingParty()
    held = [party.register(device, user=user(one), **REQUIRED)["id"] for one in range(2)]
    before = [one.sign_count for one in device.credentials]
    options = party.request_options(held[:listed] or None, extensions={"largeBlob": inputs})
    with pytest.raises(error):
        device.get(options, party.origin)
    assert [one.sign_count for one in device.credentials] == before


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ({"read": True}, NotSupportedError),
        ({"write": "AA"}, NotSupportedError),
        ({"support": 7}, InvalidOptionsError),
        (None, InvalidOptionsError),
    ],
)
def test_inputs_that_make_no_sense_at_registration(inputs: Any, error: Any) -> None:
    device, party = security_key(), RelyingParty()
    options = party.creation_options(extensions={"largeBlob": inputs})
    with pytest.raises(error):
        device.create(options, party.origin)
    assert not device.credentials


def test_the_array_is_the_one_that_platforms_write() -> None:
    """Section 6.10.3, opened with other code than what wrote it; and an entry that another platform
    wrote is left alone."""
    device, party = security_key(), RelyingParty()
    held = party.register(device, **REQUIRED)["id"]
    foreign = cbor.encode([{1: b"?" * 20, 2: bytes(12), 3: 4}])
    device.core.large_blobs = foreign + sha256(foreign).digest()[:16]
    write(party, device, held, BLOB)
    array = device.core.large_blobs
    assert sha256(array[:-16]).digest()[:16] == array[-16:]
    entries: Any = cbor.decode(array[:-16])
    assert entries[0] == {1: b"?" * 20, 2: bytes(12), 3: 4}
    key = device.credentials[0].large_blob_key
    assert key is not None
    size = len(BLOB).to_bytes(8, "little")
    packed = AESGCM(key).decrypt(entries[1][2], entries[1][1], b"blob" + size)
    assert zlib.decompress(packed, wbits=-15) == BLOB
    assert entries[1][3] == len(BLOB)

    device.core.large_blobs = array[:-1] + bytes([array[-1] ^ 1])  # damaged: as good as empty
    assert read(party, device, held) == {}


# ---- credBlob


def register_blob(
    party: RelyingParty, device: Authenticator, blob: bytes, resident_key: str = "required"
) -> dict[str, Any]:
    return party.register(
        device,
        authenticatorSelection={"residentKey": resident_key},
        extensions={"credBlob": base64url_encode(blob)},
    )


def test_a_credential_keeps_a_few_bytes_and_signs_them() -> None:
    device, party = security_key(), RelyingParty()
    registration = register_blob(party, device, b"few")
    assert registration["clientExtensionResults"] == {"credBlob": True}
    assert extensions_of(registration) == {"credBlob": True}
    assertion = party.sign_in(device, [registration["id"]], extensions={"getCredBlob": True})
    assert assertion["clientExtensionResults"] == {"getCredBlob": base64url_encode(b"few")}
    assert extensions_of(assertion) == {"credBlob": b"few"}
    silent = party.sign_in(device, [registration["id"]], extensions={"getCredBlob": False})
    assert extensions_of(silent) is None


@pytest.mark.parametrize(
    ("blob", "resident_key"), [(bytes(33), "required"), (b"few", "discouraged")]
)
def test_too_many_bytes_and_those_of_no_discoverable_credential_are_not_kept(
    blob: bytes, resident_key: str
) -> None:
    device, party = security_key(), RelyingParty()
    registration = register_blob(party, device, blob, resident_key=resident_key)
    assert registration["clientExtensionResults"] == {"credBlob": False}
    assert extensions_of(registration) == {"credBlob": False}
    assertion = party.sign_in(device, [registration["id"]], extensions={"getCredBlob": True})
    assert assertion["clientExtensionResults"] == {"getCredBlob": ""}
    assert extensions_of(assertion) == {"credBlob": b""}


def test_a_device_without_the_extension_says_nothing() -> None:
    device, party = Authenticator("security-key", extensions=[]), RelyingParty()
    registration = party.register(device, extensions={"credBlob": "AA"})
    assert registration["clientExtensionResults"] == {}
    assertion = party.sign_in(device, [registration["id"]], extensions={"getCredBlob": True})
    assert assertion["clientExtensionResults"] == {}


def extensions_of(response: dict[str, Any]) -> Any:
    data = AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))
    return data.extensions
