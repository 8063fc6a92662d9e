"""What an authorisation server has given out, and its rules where only a race would show them."""

from __future__ import annotations

import datetime
import threading

import pytest

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import grants
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.grants import (
    Allowed,
    Grant,
    Ledger,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
    OAuthError,
)
from pytest_mcp_approval.reference_server.server.clock import SettableClock

LATER = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def grant():
    allowed = Allowed("client", ("read",), ("look",))
    return Grant(allowed, LATER, "http://localhost/callback", "a-challenge")


def test_of_many_at_once_one_uses_it_up(grant):
    together, won = threading.Barrier(8), []

    def spend():
        together.wait(20)
        won.append(grant.spend())

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(won) == 7 * [False] + [True]
    assert grant.used


def test_who_comes_second_after_all_checks_ends_the_line(grant):
    server = AuthorisationServer(SettableClock(LATER), str, {}, {})
    server.spend(grant)
    assert not grant.allowed.revoked
    with pytest.raises(OAuthError):
        server.spend(grant)
    assert grant.allowed.revoked


def test_secrets_are_kept_as_digests(grant):
    ledger = Ledger()
    ledger.add("planted-code", grant)
    assert ledger.find("planted-code") is grant
    assert "planted" not in repr(vars(ledger))
    assert "a-challenge" not in repr(vars(ledger))
    assert ledger.take("planted-code") is grant
    assert ledger.find("planted-code") is None
    ledger.add("planted-code", grant)
    ledger.clear()
    assert ledger.take("planted-code") is None


def test_a_ledger_is_bounded(monkeypatch):
    monkeypatch.setattr(grants, "_MOST", 3)
    ledger = Ledger()
    for number in range(5):
        ledger.add(f"token-{number}", number)
    assert [ledger.find(f"token-{number}") for number in range(5)] == [None, None, 2, 3, 4]
