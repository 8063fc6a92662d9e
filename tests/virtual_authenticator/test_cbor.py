"""CBOR in the CTAP2 canonical form."""

from __future__ import annotations

from typing import Any

import pytest
from fido2 import cbor as fido2_cbor
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_authenticator import cbor

INTEGERS = st.integers(-(2**64), 2**64 - 1)
KEYS = st.one_of(INTEGERS, st.text(max_size=30), st.binary(max_size=30))
LEAVES = st.one_of(INTEGERS, st.text(), st.binary(), st.booleans())


def nested(depth: int) -> st.SearchStrategy[Any]:
    values = LEAVES
    for _ in range(depth):
        values = st.one_of(
            LEAVES, st.lists(values, max_size=4), st.dictionaries(KEYS, values, max_size=4)
        )
    return values


@settings(deadline=None)
@given(nested(cbor.MAX_DEPTH))
def test_what_is_encoded_is_decoded_again(value: Any) -> None:
    encoded = cbor.encode(value)
    decoded = cbor.decode(encoded)
    assert decoded == value
    assert cbor.encode(decoded) == encoded


@settings(deadline=None)
@given(nested(3))
def test_the_encoding_is_that_of_python_fido2(value: Any) -> None:
    assert cbor.encode(value) == fido2_cbor.encode(value)


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_what_is_decoded_was_canonical(data: bytes) -> None:
    """Any bytes are refused with CborError, or are what encoding their value gives."""
    try:
        value = cbor.decode(data)
    except cbor.CborError:
        return
    assert cbor.encode(value) == data


@settings(deadline=None)
@given(nested(3), st.data())
def test_cut_short_or_with_more_behind_it_is_refused(value: Any, data: st.DataObject) -> None:
    encoded = cbor.encode(value)
    with pytest.raises(cbor.CborError):
        cbor.decode(encoded[: data.draw(st.integers(0, len(encoded) - 1))])
    with pytest.raises(cbor.CborError, match="1 bytes after"):
        cbor.decode(encoded + b"\x00")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "ends where an item was expected"),
        ("1817", "shortest"),
        ("1900ff", "shortest"),
        ("1a0000ffff", "shortest"),
        ("1b00000000ffffffff", "shortest"),
        ("3800", "shortest"),
        ("580141", "shortest"),
        ("780161", "shortest"),
        ("980100", "shortest"),
        ("b8010000", "shortest"),
        ("19ff", "ends inside"),
        ("5f4100ff", "indefinite"),
        ("7f6161ff", "indefinite"),
        ("9f00ff", "indefinite"),
        ("bf0000ff", "indefinite"),
        ("1c", "reserved"),
        ("c000", "tags"),
        ("d81800", "tags"),
        ("f90000", "float"),
        ("fa00000000", "float"),
        ("fb0000000000000000", "float"),
        ("f7", "0xf7"),
        ("e0", "0xe0"),
        ("f8ff", "0xf8"),
        ("ff", "0xff"),
        ("a200000000", "sorted, or one stands twice"),
        ("a201000000", "sorted"),
        ("a2200000 00", "sorted"),
        ("a2616100 0000", "sorted"),
        ("a262616100 616200", "sorted"),
        ("a1800000", "cannot be a key"),
        ("a1a00000", "cannot be a key"),
        ("61ff", "UTF-8"),
        ("63eda080", "UTF-8"),
        ("4200", "beyond the data"),
        ("5bffffffffffffffff00", "beyond the data"),
        ("9bffffffffffffffff00", "cannot fit"),
        ("bbffffffffffffffff00", "cannot fit"),
        ("8181818181 00", "deeper than 4"),
        ("a100a100a100a100a1 0000", "deeper than 4"),
    ],
)
def test_what_is_not_canonical_is_refused(text: str, words: str) -> None:
    with pytest.raises(cbor.CborError, match=words):
        cbor.decode(bytes.fromhex(text))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "00"),
        (23, "17"),
        (24, "1818"),
        (255, "18ff"),
        (256, "190100"),
        (65535, "19ffff"),
        (65536, "1a00010000"),
        (2**32, "1b0000000100000000"),
        (-1, "20"),
        (-24, "37"),
        (-25, "3818"),
        (-(2**64), "3bffffffffffffffff"),
        (b"", "40"),
        ("ü", "62c3bc"),
        ([], "80"),
        ({}, "a0"),
        (True, "f5"),
        (False, "f4"),
        (None, "f6"),
        (
            {"b": 1, "aa": 2, -1: 3, 10: 4, b"z": 5, 100: 6},
            "a60a0418640620034 17a05616201626161 02",
        ),
    ],
)
def test_single_items_are_as_the_standard_writes_them(value: Any, text: str) -> None:
    encoded = bytes.fromhex(text.replace(" ", ""))
    assert cbor.encode(value) == encoded
    assert cbor.decode(encoded) == value


@pytest.mark.parametrize("value", [1.5, object(), {1.5: 1}, [set()], 2**64, -(2**64) - 1])
def test_what_ctap_has_no_form_for_cannot_be_encoded(value: Any) -> None:
    with pytest.raises(cbor.CborError):
        cbor.encode(value)


def test_deep_nesting_is_refused_before_it_exhausts_the_stack() -> None:
    with pytest.raises(cbor.CborError, match="deeper"):
        cbor.decode(b"\x81" * 100_000 + b"\x00")
