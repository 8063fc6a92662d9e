"""The books of an authorisation server, and its rules where only a race would show them."""

from __future__ import annotations

import datetime
import threading
from types import SimpleNamespace

import pytest
from oauthlib.oauth2.rfc6749.errors import InvalidGrantError  # type: ignore[import-untyped]

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import grants
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    AccessToken,
    Allowed,
    Code,
    Grants,
    RefreshToken,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.validator import (
    Validator,
)
from pytest_mcp_approval.reference_server.server.clock import SettableClock

LATER = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
ALLOWED = Allowed("line", "client", ("read",), ("look",))


def held(kind):
    if kind is Code:
        return Code(ALLOWED, "http://localhost/callback", "a-challenge", LATER)
    return RefreshToken(ALLOWED, LATER)


@pytest.mark.parametrize("kind", [Code, RefreshToken])
def test_of_many_at_once_one_uses_it_up(kind):
    books, record, won = Grants(), held(kind), []
    together = threading.Barrier(8)

    def spend():
        together.wait(20)
        won.append(books.spend(record))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(won) == 7 * [False] + [True]


@pytest.mark.parametrize("kind", [Code, RefreshToken])
def test_who_comes_second_after_all_checks_ends_the_line(kind):
    books = Grants()
    rules = Validator(SettableClock(LATER), books, {}, [])
    request = SimpleNamespace(held=held(kind), redirect_uri=None, client_id=None, scopes=None)
    request.response_type = request.response_mode = request.grant_type = request.state = None
    rules.spend(request)
    assert not books.is_revoked(ALLOWED)
    with pytest.raises(InvalidGrantError):
        rules.spend(request)
    assert books.is_revoked(ALLOWED)


def test_secrets_are_kept_as_digests():
    books = Grants()
    books.add_code("planted-code", held(Code))
    books.add_refresh("planted-refresh", held(RefreshToken))
    books.add_access("planted-access", AccessToken(ALLOWED, LATER))
    assert books.code("planted-code")
    assert books.refresh("planted-refresh")
    assert books.access("planted-access")
    assert "planted" not in repr(vars(books))
    assert "a-challenge" not in repr(vars(books))
    books.clear()
    assert books.code("planted-code") is None


def test_the_books_are_bounded(monkeypatch):
    monkeypatch.setattr(grants, "_MOST", 3)
    books = Grants()
    for number in range(5):
        books.add_access(f"token-{number}", AccessToken(ALLOWED, LATER))
    assert [bool(books.access(f"token-{number}")) for number in range(5)] == 2 * [False] + 3 * [
        True
    ]
