"""SEP-2672 section 4.4.2: shapes that are no registration, in every member of enroll/finish.

Reading: bad params are some error; -32602 and -32001 are both fine, -32603 or an HTTP 5xx is a
warning, a crash or a hang a failure; and the server goes on serving.
"""

import copy
import json
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    expect_an_answer,
    expect_not_enrolled,
    expect_some_error,
    expect_still_enrols,
)
from pytest_mcp_approval.wire import Outcome, RawJson
from virtual_authenticator import cbor

pytestmark = may_poison

ABSENT = object()


def encoded(data):
    return words.base64url_encode(data)


def changed(response, path, value):
    """The response with another value at the path, or with none."""
    copied = copy.deepcopy(response)
    inside = copied
    *way, last = path.split(".")
    for name in way:
        inside = inside[name]
    if value is ABSENT:
        del inside[last]
    else:
        inside[last] = value
    return copied


# ---- params

PARAMS: dict[str, Any] = {
    "absent": None,
    "null": RawJson("null"),
    "list": RawJson("[]"),
    "text": RawJson('"response"'),
    "empty-object": {},
    "response-null": {"response": None},
    "response-true": {"response": True},
    "response-number": {"response": 7},
    "response-text": {"response": "text"},
    "response-list": {"response": []},
    "response-empty-object": {"response": {}},
    "response-under-another-name": {"credential": {}},
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("params", PARAMS.values(), ids=PARAMS)
def test_params_without_a_response(ceremony, params):
    """An enrolment is pending, and finish comes with nothing that could be a response."""
    ceremony.enrol()
    answer(ceremony)
    sent = f"{words.ENROLL_FINISH} with params {getattr(params, 'text', params)}"
    reply = ceremony.session.call(words.ENROLL_FINISH, params)
    expect_some_error(ceremony, reply, sent=sent)
    expect_still_enrols(ceremony, sent=sent)


# ---- members without which there is no registration

WRONG_TYPES = {
    "absent": ABSENT,
    "null": None,
    "number": 7,
    "true": True,
    "list": [],
    "object": {},
}
NO_BYTES = {
    **WRONG_TYPES,
    "empty": "",
    "no-base64": "*** no base64 ***",
    "long": "A" * 100_000,
}
CLIENT_DATA = {
    "no-json": encoded(b"no json"),
    "json-null": encoded(b"null"),
    "json-list": encoded(b"[]"),
    "json-text": encoded(b'"webauthn.create"'),
    "json-empty": encoded(b"{}"),
    "members-of-wrong-types": encoded(b'{"type":[],"challenge":{},"origin":7,"crossOrigin":"no"}'),
    "deep": encoded(b"[" * 5000 + b"]" * 5000),
    "no-utf-8": encoded(b'{"type":"webauthn.create\xff"}'),
    "half-a-surrogate-pair": encoded(b'{"type":"webauthn.create","challenge":"\\ud800"}'),
    "large-number": encoded(b'{"type":1' + b"0" * 5000 + b"}"),
}
ATTESTATION = {
    "no-cbor": encoded(b"\xff\xff\xff"),
    "cbor-number": encoded(cbor.encode(7)),
    "cbor-text": encoded(cbor.encode("none")),
    "cbor-list": encoded(cbor.encode(["none", {}, b""])),
    "cbor-empty-map": encoded(cbor.encode({})),
    "members-of-wrong-types": encoded(cbor.encode({"fmt": 7, "attStmt": [], "authData": "text"})),
    "authdata-empty": encoded(cbor.encode({"fmt": "none", "attStmt": {}, "authData": b""})),
    "authdata-zeros": encoded(cbor.encode({"fmt": "none", "attStmt": {}, "authData": bytes(200)})),
    "packed-without-signature": encoded(
        cbor.encode({"fmt": "packed", "attStmt": {}, "authData": bytes(200)})
    ),
    "deep": encoded(b"\x81" * 5000 + b"\x00"),
    "bytes-without-end": encoded(b"\x5b" + b"\xff" * 8),
    "map-without-end": encoded(b"\xbb" + b"\xff" * 8),
    "tags": encoded(b"\xc2" * 1000 + b"\x40"),
}
NEEDED = {
    f"{path}-{name}": (path, value)
    for path, shapes in {
        "response": {**WRONG_TYPES, "text": "text"},
        "response.clientDataJSON": {**NO_BYTES, **CLIENT_DATA},
        "response.attestationObject": {**NO_BYTES, **ATTESTATION},
    }.items()
    for name, value in shapes.items()
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize(("path", "value"), NEEDED.values(), ids=NEEDED)
def test_a_member_that_is_needed_is_malformed(ceremony, path, value):
    """Without client data and attestation object there is nothing to verify: never a success."""
    ceremony.enrol()
    _, response = answer(ceremony)
    sent = f"{words.ENROLL_FINISH}, params.response.{path} {shown(value)}"
    reply = ceremony.approval.finish(changed(response, path, value))
    expect_some_error(ceremony, reply, sent=sent)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
    expect_still_enrols(ceremony, sent=sent)


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("cut", [1, 20, 150])
def test_a_cut_attestation_object_is_refused(ceremony, cut):
    """The CBOR ends before its last value does."""
    ceremony.enrol()
    _, response = answer(ceremony)
    whole = words.base64url_decode(response["response"]["attestationObject"])
    sent = f"{words.ENROLL_FINISH}, attestationObject without its last {cut} bytes"
    reply = ceremony.approval.finish(
        changed(response, "response.attestationObject", encoded(whole[:-cut]))
    )
    expect_some_error(ceremony, reply, sent=sent)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
    expect_still_enrols(ceremony, sent=sent)


# ---- members that a server can do without

NAMES = {
    f"{path}-{name}": (path, value)
    for path in ("id", "rawId", "type")
    for name, value in {**NO_BYTES, "another": "cGFzc3dvcmQ"}.items()
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize(("path", "value"), NAMES.values(), ids=NAMES)
def test_a_name_of_the_credential_is_malformed(ceremony, path, value):
    """id, rawId and type repeat what is attested, so a server could do without them.

    Reading: WebAuthn's JSON has them always; enrolling without is a warning.
    """
    ceremony.enrol()
    _, response = answer(ceremony)
    sent = f"{words.ENROLL_FINISH}, params.response.{path} {shown(value)}"
    reply = ceremony.approval.finish(changed(response, path, value))
    if reply.outcome is Outcome.RESULT:
        ceremony.warn(f"{sent}: accepted")
    expect_an_answer(ceremony, reply, sent=sent)
    expect_still_enrols(ceremony, sent=sent)


HINTS = {
    f"{path}-{name}": (path, value)
    for path, shapes in {
        "response.transports": {
            **WRONG_TYPES,
            "text": "usb",
            "numbers": [1, 2],
            "nested": [["usb"]],
            "unknown": ["carrier-pigeon"],
            "repeated": ["usb", "usb"],
            "many": ["usb"] * 1000,
        },
        "authenticatorAttachment": {**WRONG_TYPES, "unknown": "carrier-pigeon"},
        "clientExtensionResults": {**WRONG_TYPES, "text": "text"},
        "response.publicKey": WRONG_TYPES,
        "response.publicKeyAlgorithm": {**WRONG_TYPES, "text": "ES256"},
        "response.authenticatorData": NO_BYTES,
    }.items()
    for name, value in shapes.items()
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize(("path", "value"), HINTS.values(), ids=HINTS)
def test_a_hint_is_malformed(ceremony, path, value):
    """What is not attested may be believed, ignored or refused, but breaks nothing."""
    ceremony.enrol()
    _, response = answer(ceremony)
    sent = f"{words.ENROLL_FINISH}, params.response.{path} {shown(value)}"
    reply = ceremony.approval.finish(changed(response, path, value))
    expect_an_answer(ceremony, reply, sent=sent)
    expect_still_enrols(ceremony, sent=sent)


def shown(value):
    return "absent" if value is ABSENT else f"{json.dumps(value):.40}"
