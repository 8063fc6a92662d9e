"""The extension largeBlob: a blob that travels with an assertion."""

from __future__ import annotations

import zlib

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Authenticator, cbor
from virtual_authenticator.ctap import Status
from virtual_authenticator.encoding import base64url_encode

HASH = bytes(range(32))
BLOB = b"what a relying party stores " * 9


def deflated(data):
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


class Key:
    """A key of CTAP 2.3 with the extension, which python-fido2 does not have yet: bytes in, bytes
    out."""

    def __init__(self, *extensions):
        self.authenticator = Authenticator("security-key-2.3", extensions=extensions)

    def ask(self, command, **members):
        numbered = {int(name[1:]): value for name, value in members.items()}
        answer = self.authenticator.ctap.processor.process(bytes([command]) + cbor.encode(numbered))
        return Status(answer[0]), cbor.decode(answer[1:]) if len(answer) > 1 else {}

    def info(self):
        return cbor.decode(self.authenticator.ctap.processor.process(b"\x04")[1:])

    def make(self, **extensions):
        status, answer = self.ask(
            1,
            _1=HASH,
            _2={"id": "example.org"},
            _3={"id": b"alice"},
            _4=[{"alg": -7, "type": "public-key"}],
            _6=extensions,
        )
        return status, answer.get(6)

    def get(self, options=None, **extensions):
        held = self.authenticator.credentials[-1].id
        status, answer = self.ask(
            2,
            _1="example.org",
            _2=HASH,
            _3=[{"id": held, "type": "public-key"}],
            _4=extensions,
            _5=options or {},
        )
        return status, answer.get(8)


@pytest.fixture
def key():
    made = Key("largeBlob", "largeBlobKey")
    made.make(largeBlob={"support": "required"})
    return made


def test_a_device_has_one_way_to_keep_blobs(key):
    assert key.info()[2] == ["largeBlob"]
    assert "largeBlobs" not in key.info()[4]
    assert 0x0B not in key.info()
    other = Key("largeBlobKey")
    assert other.info()[2] == ["largeBlobKey"]
    assert other.make(largeBlob={"support": "required"}) == (Status.SUCCESS, None)


@pytest.mark.parametrize("support", ["required", "preferred"])
def test_every_credential_can_have_one(key, support):
    supported = {"largeBlob": {"supported": True}}
    assert key.make(largeBlob={"support": support}) == (Status.SUCCESS, supported)
    assert key.make() == (Status.SUCCESS, None)


def test_what_was_written_is_read(key):
    assert key.get(largeBlob={"read": True}) == (Status.SUCCESS, None)
    written = key.get(largeBlob={"write": deflated(BLOB), "originalSize": len(BLOB)})
    assert written == (Status.SUCCESS, {"largeBlob": {"written": True}})
    status, outputs = key.get(largeBlob={"read": True})
    assert status is Status.SUCCESS
    assert outputs["largeBlob"]["originalSize"] == len(BLOB)
    assert zlib.decompress(outputs["largeBlob"]["blob"], wbits=-15) == BLOB
    assert key.get(largeBlob={"read": False}) == key.get() == (Status.SUCCESS, None)


def test_the_page_reads_it_too(key):
    key.get(largeBlob={"write": deflated(BLOB), "originalSize": len(BLOB)})
    held = key.authenticator.credentials[-1].id
    options = RelyingParty().request_options([held], extensions={"largeBlob": {"read": True}})
    response = key.authenticator.get(options, "https://example.org")
    assert response["clientExtensionResults"]["largeBlob"]["blob"] == base64url_encode(BLOB)


@pytest.mark.parametrize("packed", [b"\xff\xff", deflated(BLOB + b"!")])
def test_what_is_no_blob_of_that_size_is_not_written(key, packed):
    answer = key.get(largeBlob={"write": packed, "originalSize": len(BLOB)})
    assert answer == (Status.SUCCESS, {"largeBlob": {"written": False}})
    assert key.authenticator.credentials[-1].large_blob is None


@pytest.mark.parametrize(
    ("given", "options", "status"),
    [
        ({}, {}, "INVALID_OPTION"),
        ({"read": True, "write": b"", "originalSize": 0}, {}, "INVALID_OPTION"),
        ({"write": b""}, {}, "MISSING_PARAMETER"),
        ({"read": 1}, {}, "CBOR_UNEXPECTED_TYPE"),
        (True, {}, "CBOR_UNEXPECTED_TYPE"),
        ({"write": deflated(b""), "originalSize": 0}, {"up": False}, "UNSUPPORTED_OPTION"),
    ],
)
def test_requests_that_are_wrong(key, given, options, status):
    assert key.get(options, largeBlob=given) == (Status[status], None)


@pytest.mark.parametrize(
    ("given", "status"),
    [({}, "MISSING_PARAMETER"), ({"support": "x"}, "INVALID_OPTION"), (1, "CBOR_UNEXPECTED_TYPE")],
)
def test_registrations_that_are_wrong(key, given, status):
    assert key.make(largeBlob=given) == (Status[status], None)
