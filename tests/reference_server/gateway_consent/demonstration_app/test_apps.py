"""Keys, app credentials and cookies on the app's side."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import DemonstrationApp
from tests.reference_server.gateway_consent.visitor import Visitor


@pytest.fixture
def visitor():
    return Visitor()


def key(app, place):
    return app.locks[place].known["apiKey"]


# ---- API keys


def test_a_key_in_the_header_with_its_prefix(app, visitor):
    url = f"{app.url}/notes/tools/addNote"
    right = key(app, "notes")
    for wrong in (right, f"Token {right}", f"bearer {right}", f"Bearer {right}x", "Bearer", "é"):
        assert visitor.post_json(url, {}, Authorization=wrong.encode()).status == 401
    assert visitor.post_json(url, {}).status == 401
    assert visitor.post_json(f"{url}?Authorization=Bearer+{right}", {}).status == 401
    assert app.effects.to_json() == []
    assert visitor.post_json(url, {"text": "x"}, Authorization=f"Bearer {right}").status == 200
    assert [one["tool"] for one in app.effects] == ["com.example.notes:addNote"]


def test_a_key_in_the_query(app, visitor):
    url = f"{app.url}/search/tools/search"
    right = key(app, "search")
    assert visitor.post_json(url, {}, Authorization=f"Bearer {right}").status == 401
    assert visitor.post_json(f"{url}?api_key=wrong", {}).status == 401
    assert visitor.post_json(f"{url}?API_KEY={right}", {}).status == 401
    assert visitor.post_json(f"{url}?api_key={right}", {}).status == 200


def test_the_key_of_one_app_does_not_open_another(app, visitor):
    wrong = key(app, "search")
    page = visitor.post_json(f"{app.url}/notes/tools/addNote", {}, Authorization=f"Bearer {wrong}")
    assert page.status == 401


# ---- app credentials


def test_app_credentials_become_a_token_for_two_hours(app, visitor, clock):
    known = dict(app.locks["office"].known)
    end_point, tool = f"{app.url}/office/auth/token", f"{app.url}/office/tools/createDocument"
    for wrong in ({}, [], None, 5, {**known, "appId": "x"}, {**known, "appSecret": None}):
        assert visitor.post_json(end_point, wrong).status == 401
    page = visitor.post_json(end_point, known)
    assert page.headers["cache-control"] == "no-store"
    assert page.json.keys() == {"tenantAccessToken", "expire"}
    assert page.json["expire"] == 7200
    token = page.json["tenantAccessToken"]
    clock.advance(7199)
    assert visitor.post_json(tool, {}, Authorization=f"Bearer {token}").status == 200
    clock.advance(1)
    assert visitor.post_json(tool, {}, Authorization=f"Bearer {token}").status == 401
    secret = known["appSecret"]
    assert visitor.post_json(tool, {}, Authorization=f"Bearer {secret}").status == 401


# ---- cookies


def test_all_cookies_or_none(app, visitor):
    url = f"{app.url}/social/tools/readTimeline"
    known = app.locks["social"].known
    assert known.keys() == {"web_session", "web_signature"}
    whole = "; ".join(f"{name}={value}" for name, value in known.items())
    for wrong in ("", f"web_session={known['web_session']}", whole[:-1], whole.upper()):
        assert visitor.post_json(url, {}, Cookie=wrong).status == 401
    assert visitor.post_json(url, {}, Cookie=whole).status == 200


# ---- what is not there


@pytest.mark.parametrize(
    "path",
    ["/", "/mail", "/nowhere/tools/x", "/notes/tools/unknown", "/notes/authorize", "/mail/keys"],
)
def test_what_is_not_there_is_not_found(app, visitor, path):
    assert visitor.get(app.url + path).status == (405 if "/tools/" in path else 404)
    assert visitor.post_json(app.url + path, {}).status in (404, 405)
    assert app.effects.to_json() == []


@pytest.mark.parametrize("body", [b"[]", b"5", b"{", b"\xff", b"[" * 100_000])
def test_arguments_are_an_object(app, visitor, body):
    url = f"{app.url}/notes/tools/addNote"
    headers = {"Authorization": f"Bearer {key(app, 'notes')}"}
    assert visitor.request("POST", url, body, headers).status == 400
    assert app.effects.to_json() == []


def test_another_name_is_not_served(app, visitor):
    page = visitor.get(f"{app.url}/notes/keys", Host="attacker.example")
    assert page.status == 421
    assert key(app, "notes") not in page.text


# ---- resetting


def test_a_reset_forgets_what_was_given(app, client):
    given = client.redeem(client.code()).json
    app.reset()
    assert client.call(given["accessToken"]) == 401
    assert app.effects.to_json() == []


# ---- secrets


def test_a_person_finds_what_to_type_in(app, visitor):
    for place, page in (("notes", "keys"), ("office", "console"), ("social", "login")):
        text = visitor.get(f"{app.url}/{place}/{page}").text
        assert app.locks[place].known
        assert all(secret in text for secret in app.locks[place].known.values())


def test_no_two_apps_have_the_same_secrets(app):
    assert DemonstrationApp().locks["notes"].known != app.locks["notes"].known
