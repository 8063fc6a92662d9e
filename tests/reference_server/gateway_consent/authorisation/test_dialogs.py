"""Dialogs: what a person types in, what is kept of it, and whose forms are taken."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation import (
    AuthorisationNeeded,
    NotSentError,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import KIND
from tests.reference_server.gateway_consent.authorisation.desk import MILLISECONDS
from tests.reference_server.gateway_consent.visitor import Visitor

HOUR = 3600
TYPED = ("notes", "search", "office", "social")


# ---- the honest way


@pytest.mark.parametrize("place", TYPED)
def test_asked_for_once_it_serves_all_calls(desk, place):
    url = desk.needed(place)
    page = desk.type_in(url, *desk.known(place))
    assert page.status == 200
    assert "has access" in page.text
    assert [desk.call(place) for _ in range(2)] == [200, 200]
    assert desk.visitor.get(url).status == 404
    desk.needed(place, "another client")


RECORDS = {
    "notes": {"type", "value", "createdAt"},
    "search": {"type", "value", "createdAt"},
    "social": {"type", "value", "createdAt"},
    "office": {"type", "appId", "appSecret", "accessToken", "expiresAt", "createdAt"},
}


@pytest.mark.parametrize("place", TYPED)
def test_the_records_are_the_document_s(desk, place):
    desk.type_in(desk.needed(place), *desk.known(place))
    record = desk.record(place)
    assert record.keys() == RECORDS[place]
    assert record["type"] == desk.app(place).auth.type.value
    assert record["createdAt"] == MILLISECONDS
    assert desk.vault.keys(KIND) == [("Cursor", f"com.example.{place}")]


def test_keys_go_where_the_descriptor_says(desk):
    for place in ("notes", "search"):
        desk.type_in(desk.needed(place), *desk.known(place))
    (header,), (query,) = desk.known("notes"), desk.known("search")
    assert desk.authorise("notes").headers == {"Authorization": f"Bearer {header}"}
    assert not desk.authorise("notes").query
    assert desk.authorise("search").query == {"api_key": query}
    assert not desk.authorise("search").headers
    desk.change("notes", name="X-Key", prefix=None)
    assert desk.authorise("notes").headers == {"X-Key": header}


@pytest.mark.parametrize(
    "settings", [{"name": "X: 1\r\nY"}, {"name": None}, {"location": "body"}, {"name": ""}]
)
def test_a_descriptor_that_cannot_be_followed_sends_nothing(desk, settings):
    desk.type_in(desk.needed("notes"), *desk.known("notes"))
    desk.change("notes", **settings)
    with pytest.raises(NotSentError):
        desk.authorise("notes")


def test_who_asks_often_gets_one_page(desk):
    assert desk.needed("notes") == desk.needed("notes")
    assert desk.needed("notes", "another") != desk.needed("notes")
    first = desk.needed("notes")
    desk.clock.advance(600)
    assert desk.visitor.get(first).status == 404
    assert desk.needed("notes") != first


# ---- the page


@pytest.mark.parametrize("place", TYPED)
def test_the_page_says_what_is_asked_for_whom(desk, place):
    page = desk.visitor.get(desk.needed(place))
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "form-action 'self'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"
    for text in (desk.app(place).name, "Cursor", "OK</button>", "Cancel</button>", "Help</a>"):
        assert text in page.text
    field = page.form.inputs["value"]
    assert field["type"] == ("text" if place == "office" else "password")
    assert field["autocomplete"] == "off"
    assert not field.get("value")


def test_the_cookie_dialog_names_the_required_cookies(desk):
    assert "web_session, web_signature" in desk.visitor.get(desk.needed("social")).text


def test_what_an_app_says_is_shown_as_text(desk):
    bad = "<script>alert(1)</script>"
    desk.change(
        "notes", instructions={"short": bad, "helpUrl": "javascript:alert(1)"}, obtainUrl=None
    )
    app = desk.app("notes")
    desk.located[app.id] = replace(app, name=bad)
    page = desk.visitor.get(desk.needed("notes", bad))
    assert "<script" not in page.text
    assert "javascript:" not in page.text
    assert "&lt;script&gt;" in page.text


# ---- what is not taken

WRONG = {
    "nothing": ("notes", ""),
    "spaces": ("notes", "   "),
    "a space inside": ("notes", "key with spaces"),
    "a line more": ("notes", "key\r\nX-Injected: 1"),
    "odd letters": ("notes", "kéy-kéy"),
    "too long": ("notes", "k" * 9000),
    "no cookies": ("social", "just some text"),
    "one cookie": ("social", "web_session=planted-value"),
    "an empty cookie": ("social", "web_session=planted-value; web_signature="),
    "one twice": ("social", "web_session=planted-value; web_session=b; web_signature=c"),
    "a line in a cookie": ("social", "web_session=planted-value\r\nX: 1; web_signature=c"),
}


@pytest.mark.parametrize(("place", "value"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_right_is_not_kept(desk, place, value):
    url = desk.needed(place)
    page = desk.type_in(url, value)
    assert page.status == 400
    assert desk.record(place) is None
    assert "planted-value" not in page.text
    assert not value.strip() or value.strip() not in page.text
    page = desk.visitor.send(page, value=desk.known(place)[0], choice="ok")
    assert page.status == 200


def test_missing_cookies_are_named(desk):
    page = desk.type_in(desk.needed("social"), "web_session=planted-value; other=1")
    assert "missing: web_signature." in page.text
    page = desk.type_in(desk.needed("social"), "web_signature=; web_session=")
    assert "missing: web_session, web_signature." in page.text


def test_what_was_pasted_around_a_key_is_left_out(desk):
    desk.type_in(desk.needed("notes"), f"  {desk.known('notes')[0]}\n")
    assert desk.call("notes") == 200


def test_cancel_keeps_nothing_and_closes_the_page(desk):
    url = desk.needed("notes")
    page = desk.visitor.send(desk.visitor.get(url), value="typed-already", choice="cancel")
    assert page.status == 200
    assert desk.record("notes") is None
    assert desk.visitor.get(url).status == 404
    assert desk.needed("notes") != url


# ---- whose forms are taken


def form_of(desk, url):
    page = desk.visitor.get(url)
    return page, {**page.form.members, "value": "planted-value", "choice": "ok"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://attacker.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"},
    ],
    ids=str,
)
def test_a_form_of_another_page_is_refused(desk, headers):
    page, members = form_of(desk, desk.needed("notes"))
    assert desk.visitor.post(page.url, members, **headers).status == 400
    assert desk.record("notes") is None


def test_a_form_counts_once_and_for_its_own_page(desk):
    page, members = form_of(desk, desk.needed("notes"))
    assert desk.visitor.post(page.url, {**members, "csrf": "guessed"}).status == 400
    assert desk.visitor.post(page.url, {**members, "value": ""}).status == 400
    assert "sent before" in desk.visitor.post(page.url, members).text
    _, of_other = form_of(desk, desk.needed("search"))
    assert desk.visitor.post(page.url, of_other).status == 400
    assert desk.record("notes") is None


def test_another_browser_s_form_is_refused(desk):
    page, members = form_of(desk, desk.needed("notes"))
    assert Visitor().post(page.url, members).status == 400
    assert desk.record("notes") is None
    assert desk.visitor.post(page.url, members).status == 200


def test_an_address_cannot_be_guessed(desk):
    url = desk.needed("notes")
    assert len(url.rpartition("/")[2]) >= 43
    assert desk.visitor.get(url[:-1]).status == 404
    assert desk.visitor.post(url[:-1], {"value": "x", "choice": "ok"}).status == 404


def test_oauth_has_no_form(desk):
    assert desk.visitor.post(desk.needed("mail"), {"value": "x", "choice": "ok"}).status == 404


# ---- app credentials


def test_two_steps_one_after_the_other(desk):
    app_id, app_secret = desk.known("office")
    first = desk.visitor.get(desk.needed("office"))
    assert "App ID" in first.text
    assert "App Secret" not in first.text
    moved = desk.visitor.send(first, value=app_id, choice="ok")
    assert moved.status == 303
    second = desk.visitor.get(moved.location)
    assert "App Secret" in second.text
    assert second.form.inputs["value"]["type"] == "password"
    assert app_id not in second.text
    assert desk.record("office") is None
    assert desk.visitor.send(second, value=app_secret, choice="ok").status == 200


@pytest.mark.parametrize("wrong", [0, 1])
def test_credentials_that_the_app_does_not_know_are_not_kept(desk, wrong):
    values = list(desk.known("office"))
    values[wrong] = "planted-value"
    url = desk.needed("office")
    page = desk.type_in(url, *values)
    assert page.status == 400
    assert "does not know" in page.text
    assert "planted-value" not in page.text
    assert desk.record("office") is None
    assert "App ID" in page.text
    assert desk.type_in(url, *desk.known("office")).status == 200


def test_an_app_that_is_away_is_said_to_be(desk):
    desk.change("office", tokenEndpoint="http://localhost:1/token")
    page = desk.type_in(desk.needed("office"), *desk.known("office"))
    assert page.status == 400
    assert "could not be asked" in page.text
    assert desk.record("office") is None


def test_the_token_is_renewed_five_minutes_before_its_end(desk):
    desk.type_in(desk.needed("office"), *desk.known("office"))
    first = desk.record("office")
    assert first["expiresAt"] == MILLISECONDS + 2 * HOUR * 1000
    desk.clock.advance(2 * HOUR - 301)
    assert desk.call("office") == 200
    assert desk.record("office") == first
    desk.clock.advance(1)
    assert desk.call("office") == 200
    second = desk.record("office")
    assert second["accessToken"] != first["accessToken"]
    assert second["expiresAt"] == first["expiresAt"] + (2 * HOUR - 300) * 1000
    assert second["createdAt"] == first["createdAt"]
    assert second.keys() == first.keys()
    desk.clock.advance(30 * 24 * HOUR)
    assert desk.call("office") == 200


def test_parallel_calls_exchange_once(desk):
    desk.type_in(desk.needed("office"), *desk.known("office"))
    desk.clock.advance(3 * HOUR)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: desk.call("office"), range(8), timeout=20)) == {200}
    assert desk.site.exchanges == 2


def test_while_the_app_is_away_a_good_token_is_used(desk):
    desk.type_in(desk.needed("office"), *desk.known("office"))
    desk.change("office", tokenEndpoint="http://localhost:1/token")
    desk.clock.advance(2 * HOUR - 10)
    assert desk.call("office") == 200
    desk.clock.advance(10)
    with pytest.raises(http_client.SendingError):
        desk.authorise("office")
    assert desk.record("office") is not None


def test_what_the_app_forgot_is_asked_for_again(desk):
    desk.type_in(desk.needed("office"), *desk.known("office"))
    desk.vault.save(
        KIND,
        {**desk.record("office"), "appSecret": "revoked-since"},
        "Cursor",
        "com.example.office",
    )
    desk.clock.advance(2 * HOUR)
    desk.needed("office")
    assert desk.record("office") is None


def test_a_rejected_token_is_renewed_and_then_given_up(desk):
    desk.type_in(desk.needed("office"), *desk.known("office"))
    desk.authoriser.rejected(desk.app("office"), "Cursor")
    assert desk.call("office") == 200
    assert desk.site.exchanges == 2
    desk.authoriser.rejected(desk.app("office"), "Cursor")
    desk.needed("office")


@pytest.mark.parametrize("place", ["notes", "search", "social"])
def test_what_the_app_rejects_is_asked_for_again(desk, place):
    desk.type_in(desk.needed(place), *desk.known(place))
    desk.type_in(desk.needed(place, "another"), *desk.known(place))
    desk.authoriser.rejected(desk.app(place), "Cursor")
    desk.needed(place)
    assert desk.call(place, "another") == 200


# ---- where a credential goes


@pytest.mark.parametrize("place", ["mail", *TYPED])
@pytest.mark.parametrize(
    "url",
    [
        "http://app.example/tools/x",
        "http://127.0.0.1.attacker.example/x",
        "ftp://localhost/x",
        "http://localhost:1/x",
        "https://attacker.example/x",
        "http://localhost@attacker.example/x",
        "no address",
        "",
    ],
)
def test_nothing_leaves_for_another_origin(desk, place, url):
    """Before anybody is asked, and whatever is kept."""
    with pytest.raises(http_client.SendingError) as refused:
        desk.authoriser.authorise(desk.app(place), "Cursor", [], url)
    assert not isinstance(refused.value, AuthorisationNeeded)


@pytest.mark.parametrize("place", ["mail", *TYPED])
def test_nothing_leaves_over_plain_http(desk, place):
    """Not even to the app's own address; over https it would."""
    app = desk.app(place)
    for scheme in ("http", "https"):
        moved = replace(app, base_url=f"{scheme}://app.example/{place}")
        expected = AuthorisationNeeded if scheme == "https" else http_client.SendingError
        if place == "social":
            desk.change("social", domain="app.example")
            moved = replace(desk.app("social"), base_url=moved.base_url)
        with pytest.raises(expected):
            desk.authoriser.authorise(moved, "Cursor", [], f"{moved.base_url}/tools/x")


def test_cookies_stay_with_their_domain(desk):
    desk.type_in(desk.needed("social"), *desk.known("social"))
    assert [desk.authorise("social").headers["Cookie"]] == desk.known("social")
    app = desk.app("social")
    elsewhere = replace(app, base_url=app.base_url.replace("localhost", "127.0.0.1"))
    url = f"{elsewhere.base_url}/tools/readTimeline"
    sending = desk.authoriser.authorise(elsewhere, "Cursor", [], url)
    assert repr(sending) == "Sending(nothing)"


def test_an_app_without_authorisation_gets_nothing(desk):
    app = replace(desk.app("notes"), auth=None)
    sending = desk.authoriser.authorise(app, "Cursor", [], "http://anywhere.example")
    assert repr(sending) == "Sending(nothing)"
