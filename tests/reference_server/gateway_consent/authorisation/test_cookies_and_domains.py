"""Cookies as people paste them, and the hosts that they may go to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mcp_approval.reference_server.gateway_consent.authorisation import cookies, domains
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import NotAcceptedError

NAMES = st.text("abcXYZ019_-.!#$", min_size=1, max_size=12)
VALUES = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters=";"), max_size=20
)
LABELS = st.text("abcxyz", min_size=1, max_size=9)
HOSTS = st.lists(LABELS, min_size=2, max_size=4).map(".".join)


# ---- cookies


@settings(deadline=None)
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_what_is_kept_is_read_as_the_same(found):
    assert cookies.parse(cookies.text_of(found)) == found


@settings(deadline=None)
@given(st.text(max_size=60))
def test_whatever_is_pasted_cannot_leave_its_header(text):
    try:
        kept = cookies.text_of(cookies.parse(text))
    except NotAcceptedError:
        return
    assert kept.isascii()
    assert kept.isprintable()
    assert cookies.parse(kept) == cookies.parse(text)


@settings(deadline=None)
@given(st.dictionaries(NAMES, VALUES.map("~secret~{}".format), min_size=1, max_size=3))
def test_no_error_shows_a_value(found):
    with pytest.raises(NotAcceptedError) as refused:
        cookies.parse(cookies.text_of(found) + "; broken\x00=planted-value")
    assert "planted-value" not in str(refused.value)
    assert not any(value in str(refused.value) for value in found.values())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a=1; b=2", {"a": "1", "b": "2"}),
        ("Cookie: a=1;b=2;", {"a": "1", "b": "2"}),
        ("  a = 1 ;; b=x=y=", {"a": "1", "b": "x=y="}),
        ('a="quoted"', {"a": '"quoted"'}),
        ("a=", {"a": ""}),
    ],
)
def test_pasted_lines(text, found):
    assert cookies.parse(text) == found


@pytest.mark.parametrize(
    "text",
    ["", ";", "a", "=1", "a b=1", "a=1; a=2", "a=1\nb=2", "a=é", "a=\x00", "é=1", "a=1,2 3"],
)
def test_what_is_no_cookie(text):
    with pytest.raises(NotAcceptedError):
        cookies.parse(text)


def test_too_much_is_too_much():
    with pytest.raises(NotAcceptedError, match="characters"):
        cookies.parse("a=" + "x" * 20_000)


# ---- domains


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", ".example.com"),
        ("www.example.com", ".example.com"),
        ("a.b.example.com", ".example.com"),
        ("WWW.Example.COM", ".example.com"),
        ("example.com", "example.com"),
        ("localhost", "localhost"),
        ("localhost", ".localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
    ],
)
def test_hosts_of_the_domain(host, domain):
    assert domains.belongs(host, domain)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("evilexample.com", ".example.com"),
        ("example.com.evil.org", ".example.com"),
        ("www.example.com", "example.com"),
        ("example.com", ".www.example.com"),
        ("example.com", ".com"),
        ("com", ".com"),
        ("example.com", "."),
        ("example.com", ""),
        ("", ""),
        ("", "."),
        ("example.com.", ".example.com"),
        ("example.com", ".example.com."),
        ("example.com", "..example.com"),
        (".example.com", ".example.com"),
        ("a..example.com", ".example.com"),
        ("evil.org\\.example.com", ".example.com"),
        ("evil.org/.example.com", ".example.com"),
        ("evil.org%2f.example.com", ".example.com"),
        ("evil.org#.example.com", ".example.com"),
        ("xn--example.com", ".example.com"),
        ("exаmple.com", ".example.com"),  # noqa: RUF001 - a Cyrillic letter, on purpose
        ("127.0.0.1", "localhost"),
        ("127.0.0.1", ".0.0.1"),
        ("10.127.0.0.1", ".127.0.0.1"),
        ("1.127.1", ".127.1"),
        ("a.localhost", ".localhost"),
        ("localhost.evil.org", "localhost"),
        ("*.example.com", ".example.com"),
    ],
)
def test_hosts_of_somebody_else(host, domain):
    assert not domains.belongs(host, domain)


@settings(deadline=None)
@given(HOSTS, LABELS)
def test_below_and_not_beside(domain, label):
    assert domains.belongs(domain, f".{domain}")
    assert domains.belongs(f"{label}.{domain}", f".{domain}")
    assert not domains.belongs(f"{label}.{domain}", domain)
    assert not domains.belongs(f"{label}{domain}", f".{domain}")
    assert not domains.belongs(f"{label}.{domain}.longer-than-any-label", f".{domain}")


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_gets_an_answer(host, domain):
    if domains.belongs(host, domain):
        assert host.lower() == domain.lower() or host.lower().endswith(domain.lower().lstrip("."))
    assert domains.origin_of(f"http://{host}/") is None or host


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://localhost/x", ("http", "localhost", 80)),
        ("https://App.example:8443", ("https", "app.example", 8443)),
        ("http://[::1]:80/", ("http", "::1", 80)),
        ("http://user@localhost/", None),
        ("http://localhost\\@evil.org/", None),
        ("http://localhost:x/", None),
        ("http://localhost:99999/", None),
        ("http://[::1/", None),
        ("//localhost/", None),
        ("ftp://localhost/", None),
        ("http://exa mple.com/", None),
        ("", None),
    ],
)
def test_origins(url, origin):
    assert domains.origin_of(url) == origin
