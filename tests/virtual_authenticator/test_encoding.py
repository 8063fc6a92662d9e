"""Base64url as WebAuthn writes it, and values in messages."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_authenticator.encoding import (
    base64url_canonical,
    base64url_decode,
    base64url_encode,
    decode_canonical,
    shorten,
)

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_bytes_go_round(data: bytes) -> None:
    text = base64url_encode(data)
    assert text == base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    assert base64url_decode(text) == data
    assert decode_canonical(text) == data


@settings(deadline=None)
@given(st.text(ALPHABET, max_size=40))
def test_text_of_the_alphabet_is_decoded_or_has_an_impossible_length(text: str) -> None:
    if len(text) % 4 == 1:
        assert decode_canonical(text) is None
        with pytest.raises(ValueError, match="length"):
            base64url_decode(text)
        return
    canonical = base64url_encode(base64url_decode(text))
    assert base64url_canonical(text) == canonical
    assert (decode_canonical(text) is not None) == (text == canonical)


@settings(deadline=None)
@given(st.text(max_size=20))
def test_other_text_is_refused(text: str) -> None:
    if set(text) <= set(ALPHABET):
        return
    assert decode_canonical(text) is None
    with pytest.raises(ValueError, match="expected base64url without padding"):
        base64url_decode(text)


@pytest.mark.parametrize("text", ["AA==", "AA=", "A+", "A/", "AA AA", "AAAA\n", "ÄÄ", "\ud800AAA"])
def test_what_others_write_is_refused(text: str) -> None:
    """Padding, the other alphabet, blanks, and what is no ASCII."""
    assert decode_canonical(text) is None
    with pytest.raises(ValueError, match="expected base64url without padding"):
        base64url_decode(text)


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, b"x" * 10**6, list(range(10**5)), 10**5000, {"a": "b"}],
    ids=lambda value: type(value).__name__,
)
def test_values_in_messages_are_bounded(value: object) -> None:
    assert 0 < len(shorten(value)) < 120


def test_endless_nesting_can_be_shown() -> None:
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    assert len(shorten(nested)) < 120
