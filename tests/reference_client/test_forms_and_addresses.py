"""What is typed into a form, and what a person is told about an address."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.reference_client.addresses import can_be_opened, warnings_about
from pytest_mcp_approval.reference_client.forms import WrongValue, read_value
from pytest_mcp_approval.reference_client.screen import visible

TITLED = {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}
SEVERAL = {"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 1, "maxItems": 2}


@pytest.mark.parametrize(
    ("member", "typed", "value"),
    [
        ({"type": "string"}, "a b", "a b"),
        ({"type": "string", "minLength": 1, "maxLength": 3}, "abc", "abc"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "abc", "abc"),
        ({"type": "string", "format": "uri"}, "https://example.org", "https://example.org"),
        ({"type": "string", "format": "date-time"}, "2030-01-02T03:04:05Z", "2030-01-02T03:04:05Z"),
        ({"type": "integer", "minimum": 1}, "3", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "boolean"}, "YES", True),
        ({"type": "boolean"}, "no", False),
        (TITLED, "b", "b"),
        (SEVERAL, "x, z", ["x", "z"]),
    ],
)
def test_what_fits_the_schema_is_taken(member, typed, value):
    got = read_value(member, typed)
    assert (got, type(got)) == (value, type(value))


@pytest.mark.parametrize(
    ("member", "typed"),
    [
        ({"type": "string", "maxLength": 3}, "abcd"),
        ({"type": "string", "pattern": "^[a-z]+$"}, "A"),
        ({"type": "string", "format": "email"}, "a@b"),
        ({"type": "string", "format": "uri"}, "example"),
        ({"type": "string", "format": "date"}, "2030-02-30"),
        ({"type": "string", "format": "date-time"}, "2030-01-02T03:04:05"),
        ({"type": "integer"}, "1.5"),
        ({"type": "integer", "minimum": 1}, "0"),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "inf"),
        ({"type": "boolean"}, "1"),
        (TITLED, "A"),
        (SEVERAL, ""),
        (SEVERAL, "x,y,z"),
        (SEVERAL, "w"),
    ],
)
def test_what_breaks_the_schema_is_not(member, typed):
    with pytest.raises(WrongValue, match="expected"):
        read_value(member, typed)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://bank.example@elsewhere.example/", "the host is elsewhere.example"),
        ("https://xn--pple-43d.example/", "other alphabets"),
        ("https://\u0430pple.example/", "other alphabets"),
        ("http://bank.example/", "not encrypted"),
        ("javascript:alert(1)", "no web address"),
        ("file:///etc/hosts", "no web address"),
        ("https://[", "no web address"),
    ],
)
def test_an_address_that_may_mislead_comes_with_a_warning(url, word):
    assert word in " ".join(warnings_about(url))


@pytest.mark.parametrize("url", ["https://bank.example/a?b=c", "http://localhost:3000/x"])
def test_a_plain_address_comes_without(url):
    assert warnings_about(url) == []
    assert can_be_opened(url)


def test_a_server_cannot_repaint_the_screen():
    assert visible("a\x1b[2Jb\rc\x9bd\ne\tf é") == "a\\x1b[2Jb\\rc\\x9bd\ne\tf é"
