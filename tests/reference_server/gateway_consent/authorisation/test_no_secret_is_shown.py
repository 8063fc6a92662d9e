"""Whatever happens to a credential, no log, no error, no `repr` and no page has it."""

from __future__ import annotations

import logging

import pytest

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation import AuthorisationNeeded
from pytest_mcp_approval.reference_server.gateway_consent.log import secrets_in

PLACES = ("mail", "notes", "search", "office", "social")


def let_in(desk, place):
    """Every page that a person saw on the gateway's side."""
    url = desk.needed(place)
    if place == "mail":
        return [desk.allow(url)]
    wrong = desk.type_in(url, "planted-value with spaces")
    assert wrong.status == 400
    return [wrong, desk.visitor.get(url), desk.type_in(url, *desk.known(place))]


@pytest.mark.parametrize("place", PLACES)
def test_no_log_no_repr_no_page(desk, place, caplog):
    caplog.set_level(logging.DEBUG)
    pages = let_in(desk, place)
    assert desk.call(place) == 200
    secrets = set(secrets_in(desk.record(place))) - {"sendEmail", "Bearer"}
    desk.clock.advance(2 * 3600)
    assert desk.call(place) == 200
    secrets |= set(secrets_in(desk.record(place))) - {"sendEmail", "Bearer"}
    assert len(secrets) >= (1 if place in ("notes", "search", "social") else 3)
    exported = repr(desk.authoriser.credentials.export())
    assert "(kept)" in exported
    desk.authoriser.rejected(desk.app(place), "Cursor")
    shown = [
        caplog.text,
        exported,
        *(page.text + str(page.headers) for page in pages),
        repr(desk.authoriser.tickets.__dict__),
    ]
    for secret in secrets:
        assert not any(secret in text for text in shown)
    assert not any("planted-value" in text for text in shown)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_sent_does_not_show_itself(desk, place):
    let_in(desk, place)
    sending = desk.authorise(place)
    values = [*sending.headers.values(), *sending.query.values()]
    assert values
    assert not any(value in repr(sending) for value in values)
    assert all(name in repr(sending) for name in [*sending.headers, *sending.query])


def test_errors_have_no_secret(desk):
    let_in(desk, "office")
    known = desk.record("office")
    desk.change("office", tokenEndpoint="http://localhost:1/token")
    desk.clock.advance(3 * 3600)
    with pytest.raises(http_client.SendingError) as failed:
        desk.authorise("office")
    error: BaseException | None = failed.value
    while error is not None:
        assert not any(secret in repr(error) for secret in secrets_in(known))
        error = error.__cause__


def test_the_address_of_a_page_is_not_in_the_error_s_words(desk):
    with pytest.raises(AuthorisationNeeded) as needed:
        desk.authorise("notes")
    assert needed.value.url not in str(needed.value)
