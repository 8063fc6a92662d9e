"""The words of SEP-2672, against values computed here by other means."""

import hashlib
import json

import pytest

from pytest_mcp_approval.families.sep2672 import vocabulary as words

SIXTEEN = [
    "missing_evidence",
    "unsupported_method",
    "challenge_unknown",
    "challenge_consumed",
    "challenge_expired",
    "challenge_wrong_tool",
    "unknown_credential",
    "authenticator_class_mismatch",
    "signature_verification_failed",
    "signature_counter_regression",
    "argument_hash_mismatch",
    "tool_not_approved_required",
    "no_eligible_credential",
    "credential_already_enrolled",
    "no_pending_enrollment",
    "verification_failed",
]


def test_the_reasons_are_the_sixteen_of_section_4_10():
    assert [reason.value for reason in words.Reason] == SIXTEEN


def test_the_names_are_those_of_the_document():
    assert words.META_KEY == "io.modelcontextprotocol/verified-approval"
    assert words.CAPABILITY_KEY == "verifiedApproval"
    assert words.ERROR_CODE == -32001
    assert words.METHODS == (
        "approval/enroll/begin",
        "approval/enroll/finish",
        "approval/challenge/create",
    )


# ---- RFC 8785


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("{}", "{}"),
        (' { "b" : 1 , "a" : [ ] } ', '{"a":[],"b":1}'),
        ('{"n":1.0}', '{"n":1}'),
        ('{"n":1e0}', '{"n":1}'),
        ('{"n":-0}', '{"n":0}'),
        ('{"n":-0.0}', '{"n":0}'),
        ('{"n":1e21}', '{"n":1e+21}'),
        ('{"n":1e20}', '{"n":100000000000000000000}'),
        ('{"n":0.000001}', '{"n":0.000001}'),
        ('{"n":0.0000001}', '{"n":1e-7}'),
        ('{"n":333333333.33333329}', '{"n":333333333.3333333}'),
        ('{"n":5e-324}', '{"n":5e-324}'),
        ('{"n":9007199254740991}', '{"n":9007199254740991}'),
        ('{"t":"\\u0061\\/\\u000f\\n"}', '{"t":"a/\\u000f\\n"}'),
        ('{"t":"\\u20ac"}', '{"t":"\u20ac"}'),
        # By UTF-16 code units: U+1F600 (d83d...) stands before U+FB33.
        ('{"\ufb33":1,"\U0001f600":2}', '{"\U0001f600":2,"\ufb33":1}'),
        # The sorting sample of RFC 8785, section 3.2.3, in part.
        ('{"\u20ac":1,"\\r":2,"1":3,"\u00f6":4}', '{"\\r":2,"1":3,"\u00f6":4,"\u20ac":1}'),
        ('{"a":null,"b":true,"c":false}', '{"a":null,"b":true,"c":false}'),
    ],
)
def test_arguments_are_written_as_rfc_8785_writes_them(text, canonical):
    assert words.canonical_arguments(json.loads(text)) == canonical.encode()


def test_text_is_not_normalised():
    assert words.canonical_arguments("\u00e9") != words.canonical_arguments("e\u0301")


@pytest.mark.parametrize(
    "value",
    [
        {"n": 2**53},
        {"n": -(2**53)},
        {"n": float("nan")},
        {"n": float("inf")},
        {"t": "\ud800"},
        {"\ud800": 1},
        {1: 1},
        {"x": b"bytes"},
    ],
    ids=ascii,
)
def test_what_cannot_be_written_is_an_error_of_its_own(value):
    with pytest.raises(words.NotCanonicalError, match="expected I-JSON"):
        words.canonical_arguments(value)


# ---- section 4.6


@pytest.mark.parametrize(
    ("tool", "arguments", "server_id", "hashed"),
    [
        ("t", {}, "s", b"t\x00{}\x00s"),
        (
            "place_trade",
            {"b": 1.0, "a": "\u00e9"},
            "id",
            b'place_trade\x00{"a":"\xc3\xa9","b":1}\x00id',
        ),
        ("\u00fc", None, "\u20ac", b"\xc3\xbc\x00null\x00\xe2\x82\xac"),
    ],
)
def test_the_action_hash_is_that_of_the_three_parts(tool, arguments, server_id, hashed):
    assert words.action_hash(tool, arguments, server_id) == hashlib.sha256(hashed).digest()


@pytest.mark.parametrize(("tool", "server_id"), [("a\x00b", "s"), ("t", "a\x00b")])
def test_a_part_with_the_separator_in_it_is_refused(tool, server_id):
    with pytest.raises(ValueError, match="got a zero byte"):
        words.action_hash(tool, {}, server_id)


def test_a_wire_challenge_is_nonce_then_hash():
    nonce, action_hash = bytes(range(32)), bytes(range(32, 64))
    assert words.wire_challenge(nonce, action_hash) == bytes(range(64))
    assert words.split_wire_challenge(bytes(range(64))) == (nonce, action_hash)


@pytest.mark.parametrize(("nonce", "action_hash"), [(31, 32), (33, 32), (32, 31), (32, 33)])
def test_both_halves_have_32_bytes(nonce, action_hash):
    with pytest.raises(ValueError, match="expected 32"):
        words.wire_challenge(bytes(nonce), bytes(action_hash))
    with pytest.raises(ValueError, match="expected 64"):
        words.split_wire_challenge(bytes(nonce + action_hash))


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xfb\xff", bytes(range(64))])
def test_base64url_goes_there_and_back(data):
    assert words.base64url_decode(words.base64url_encode(data)) == data
    assert not set(words.base64url_encode(data)) & set("+/=")


@pytest.mark.parametrize("text", ["A", "AA==", "+/8", "AB", "A A", "\u00e9", None, 5, b"AA"])
def test_other_spellings_of_bytes_are_refused(text):
    with pytest.raises(ValueError, match="base64url: got"):
        words.base64url_decode(text)


# ---- section 4.2


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (None, None),
        ({}, None),
        ({"other": 1}, None),
        ({words.META_KEY: {"required": "verified"}}, ("cross-platform", False)),
        (
            {words.META_KEY: {"required": "verified", "authenticatorClass": "platform"}},
            ("platform", True),
        ),
        (
            {words.META_KEY: {"required": "verified", "authenticatorClass": "cross-platform"}},
            ("cross-platform", True),
        ),
        ({words.META_KEY: {"required": "verified", "later": [1]}}, ("cross-platform", False)),
    ],
)
def test_an_annotation_is_read(meta, expected):
    annotation = words.annotation_of({"name": "t", "_meta": meta})
    found = annotation and (annotation.authenticator_class, annotation.class_is_given)
    assert found == expected


@pytest.mark.parametrize(
    "meta",
    [
        [],
        {words.META_KEY: None},
        {words.META_KEY: "verified"},
        {words.META_KEY: {}},
        {words.META_KEY: {"required": True}},
        {words.META_KEY: {"required": "Verified"}},
        {words.META_KEY: {"required": "verified", "authenticatorClass": "any"}},
        {words.META_KEY: {"required": "verified", "authenticatorClass": None}},
        {words.META_KEY: {"required": "verified", "authenticatorClass": ["platform"]}},
    ],
    ids=str,
)
def test_a_malformed_annotation_is_an_error(meta):
    with pytest.raises(words.AnnotationError, match=r"got .*, expected"):
        words.annotation_of({"name": "t", "_meta": meta})


@pytest.mark.parametrize("given", [True, False])
def test_an_annotation_is_written_as_it_was_read(given):
    annotation = words.Annotation(words.AuthenticatorClass.CROSS_PLATFORM, class_is_given=given)
    assert words.annotation_of({"_meta": {words.META_KEY: annotation.to_json()}}) == annotation
    assert ("authenticatorClass" in annotation.to_json()) is given
