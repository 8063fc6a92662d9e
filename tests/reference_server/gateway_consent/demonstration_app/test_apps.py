"""Keys, app credentials and cookies on the app's side, and what the journal says of them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import (
    DemonstrationApp,
    KnownSecrets,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.journal import (
    MOST_ENTRIES,
    Journal,
    Received,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import read_apps
from tests.reference_server.gateway_consent.visitor import DEADLINE, Visitor
from tests.reference_server.running import ROOT


@pytest.fixture
def visitor():
    return Visitor()


def key(app, place):
    return app.secrets.of(place)["apiKey"]


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
    known = dict(app.secrets.of("office"))
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
    known = app.secrets.of("social")["cookies"]
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
def test_what_is_not_there_is_not_found_and_in_the_journal(app, visitor, path):
    assert visitor.get(app.url + path).status == 404
    assert app.journal.to_json()[-1]["path"] == path


@pytest.mark.parametrize("body", [b"[]", b"5", b"{", b"\xff", b"[" * 100_000])
def test_arguments_are_an_object(app, visitor, body):
    url = f"{app.url}/notes/public/addNote"
    assert visitor.request("POST", url, body).status == 400
    assert app.effects.to_json() == []


def test_another_name_is_not_served(app, visitor):
    page = visitor.get(f"{app.url}/secrets", Host="attacker.example")
    assert page.status == 421
    assert key(app, "notes") not in page.text


# ---- the journal


def entry(visitor, app):
    return visitor.get(f"{app.url}/journal").json[-1]


def test_the_journal_says_where_a_credential_was(app, visitor):
    right = key(app, "notes")
    url = f"{app.url}/notes/tools/addNote"
    visitor.post_json(url, {}, Authorization=f"Bearer {right}")
    found = entry(visitor, app)
    assert (found["app"], found["tool"], found["status"]) == ("notes", "addNote", 200)
    assert found["credentials"] == [
        {
            "place": "header",
            "name": "authorization",
            "is": "notes apiKey",
            "sha256": hashlib.sha256(right.encode()).hexdigest(),
            "prefix": "Bearer",
        }
    ]
    visitor.post_json(f"{url}?k={right}", {"text": right}, X_Other=right, Cookie=f"a={right}")
    found = entry(visitor, app)
    assert {(one["place"], one["name"]) for one in found["credentials"]} == {
        ("query", "k"),
        ("header", "x-other"),
        ("cookie", "a"),
        ("body", ""),
    }
    assert right not in json.dumps(app.journal.to_json())


def test_the_journal_knows_tokens_in_the_wrong_place(app, client, visitor):
    token = client.redeem(client.code()).json["accessToken"]
    visitor.post_json(f"{app.url}/mail/tools/sendEmail?access_token={token}", {})
    found = entry(visitor, app)
    assert found["status"] == 401
    assert [(one["place"], one["is"]) for one in found["credentials"]] == [("query", "mail token")]
    assert token not in json.dumps(app.journal.to_json())


def test_the_journal_has_the_parameters_of_an_authorisation(app, client, visitor):
    client.ask()
    assert entry(visitor, app)["parameters"] == client.request()


def test_the_journal_tells_host_names_apart(app, visitor):
    page = visitor.post_json(f"{app.url}/social/moved/readTimeline", {})
    assert page.status == 307
    assert page.location == f"{app.other_url}/social/public/readTimeline"
    assert visitor.post_json(page.location, {}, Cookie="web_session=1").status == 200
    first, second = app.journal.to_json()
    assert first["host"].startswith("localhost:")
    assert second["host"].startswith("127.0.0.1:")
    assert [one["place"] for one in second["credentials"]] == ["cookie"]


def test_the_journal_is_bounded():
    journal = Journal()
    for _ in range(MOST_ENTRIES + 5):
        journal.write(Received("GET", "h" * 10_000, "/", [], [], {}, ""), lambda _: None)
    entries = journal.to_json()
    assert len(entries) == MOST_ENTRIES
    assert entries[-1]["number"] == len(journal) == MOST_ENTRIES + 5
    assert len(entries[0]["host"]) < 10_000


def test_a_reset_forgets_what_was_given(app, client):
    given = client.redeem(client.code()).json
    app.reset()
    assert client.call(given["accessToken"]) == 401
    assert len(app.journal) == 1
    assert app.effects.to_json() == []


# ---- secrets


def test_a_person_finds_what_to_type_in(app, visitor):
    for place, page in (("notes", "keys"), ("office", "console"), ("social", "login")):
        text = visitor.get(f"{app.url}/{place}/{page}").text
        assert all(secret in text for secret, what in app.secrets.values().items() if place in what)
    assert visitor.get(f"{app.url}/secrets").json == app.secrets.to_json()


def test_secrets_can_be_kept_and_are_not_shown():
    first = DemonstrationApp()
    again = DemonstrationApp(secrets=KnownSecrets.from_json(first.secrets.to_json()))
    assert again.secrets.to_json() == first.secrets.to_json()
    assert DemonstrationApp().secrets.to_json() != first.secrets.to_json()
    assert not any(secret in repr(first.secrets) for secret in first.secrets.values())


# ---- on its own


def test_it_runs_alone_and_prints_descriptors_that_point_to_it():
    command = [
        sys.executable,
        "-m",
        "pytest_mcp_approval.reference_server.gateway_consent.demonstration_app",
        "--redirect-uri=http://localhost:3000/callback",
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        text=True,
    ) as running:
        watchdog = threading.Timer(60, running.kill)
        watchdog.start()
        try:
            assert running.stdout is not None
            lines = []
            while not (line := running.stdout.readline()).startswith("ready: "):
                assert line, running.stderr and running.stderr.read()
                lines.append(line)
            url = line.split()[1]
            apps = read_apps(json.loads("".join(lines)))
            assert apps["com.example.mail"].base_url == f"{url}/mail"
            assert "{demonstration}" not in "".join(lines)
            assert Visitor().get(f"{url}/secrets").json.keys() >= {"notes", "office"}
            running.send_signal(signal.SIGTERM)
            assert running.wait(DEADLINE) == 0
        finally:
            watchdog.cancel()
            running.kill()


def test_a_clock_file_that_cannot_be_read_starts_nothing(tmp_path, capsys):
    from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.__main__ import main

    (tmp_path / "clock").write_text("soon")
    assert main([f"--clock-file={tmp_path}/clock"]) == 2
    assert "expected seconds" in capsys.readouterr().err
