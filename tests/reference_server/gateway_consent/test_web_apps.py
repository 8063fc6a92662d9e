"""From the first call of a web app's tool to its answer: consent, then the app's own question."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Refusal
from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import KIND
from pytest_mcp_approval.support.fetch import Fetched
from tests.reference_server.gateway_consent.house import House
from tests.reference_server.gateway_consent.visitor import Visitor, typed

CALLS: dict[str, dict[str, Any]] = {
    "com.example.mail:sendEmail": {"to": ["a@example.org"], "subject": "Hi", "body": "Hello"},
    "com.example.notes:addNote": {"text": "Hello"},
    "com.example.search:search": {"query": "hello"},
    "com.example.office:createDocument": {"title": "Hello"},
    "com.example.social:publishPost": {"text": "Hello"},
}


class Street(House):
    """A house, and a person who goes from page to page with one browser."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.visitor = Visitor()

    def authorise(self, url: str, name: str) -> None:
        page = self.visitor.get(url)
        if page.status == 302:
            asked = self.visitor.get(page.location)
            sent = self.visitor.send(asked, decision="allow")
            assert self.visitor.get(sent.location).status == 200
            return
        place = name.partition(":")[0].rpartition(".")[2]
        for value in typed(self.extension.demonstration, place):
            page = self.visitor.send(page, value=value, choice="ok")
            if page.status == 303:
                page = self.visitor.get(page.location)
        assert page.status == 200

    def open(self, name: str, client: str = "A") -> None:
        """Whatever has to be done until the tool may be called."""
        self.decide(name, Choice.TOOL, client)
        asked = self.call(name, client, **CALLS[name])
        assert asked["code"] == Refusal.AUTHORIZATION_REQUIRED
        self.authorise(asked["authUrl"], name)


@pytest.fixture
def street() -> Iterator[Street]:
    made = Street()
    yield made
    made.close()


@pytest.mark.parametrize("name", CALLS)
def test_a_tool_is_run_once_everybody_has_agreed(street: Street, name: str) -> None:
    street.open(name)
    assert len(street.effects) == 0
    assert len(street.extension.demonstration.effects) == 0
    assert street.code(name, **CALLS[name]) is None
    assert [one["tool"] for one in street.effects] == [name]
    assert len(street.extension.demonstration.effects) == 1
    # Another caller has neither the consent nor the credential.
    street.decide(name, Choice.TOOL, "B")
    assert street.code(name, "B", **CALLS[name]) == Refusal.AUTHORIZATION_REQUIRED
    # A restart changes nothing of it.
    street.restart()
    assert street.code(name, **CALLS[name]) is None


def test_an_app_learns_nothing_before_consent(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    send = http_client.send

    def watched(method: str, url: str, *more: Any) -> Fetched:
        sent.append(url)
        return send(method, url, *more)

    monkeypatch.setattr(http_client, "send", watched)
    for name, arguments in CALLS.items():
        assert street.code(name, **arguments) == Refusal.CONSENT_REQUIRED
    assert sent == []
    name = "com.example.search:search"
    street.open(name)
    assert street.code(name, **CALLS[name]) is None
    assert [url.partition("?")[0] for url in sent] == [
        f"{street.extension.demonstration.url}/search/tools/search"
    ]


def test_a_denied_tool_is_not_authorised_either(street: Street) -> None:
    name = "com.example.notes:addNote"
    street.decide(name, Choice.DENY)
    assert street.code(name, **CALLS[name]) == Refusal.CONSENT_DENIED


def test_a_credential_that_the_app_forgot_is_asked_for_again(street: Street) -> None:
    name = "com.example.mail:sendEmail"
    street.open(name)
    assert street.code(name, **CALLS[name]) is None
    street.extension.demonstration.reset()
    assert street.code(name, **CALLS[name]) == Refusal.AUTHORIZATION_REQUIRED


def test_a_consent_for_one_call_opens_one_call_behind_authorisation(street: Street) -> None:
    name = "com.example.search:search"
    street.decide(name, Choice.TOOL, remember=False)
    asked = street.call(name, **CALLS[name])
    street.authorise(asked["authUrl"], name)
    assert street.code(name, **CALLS[name]) is None
    assert street.code(name, **CALLS[name]) == Refusal.CONSENT_REQUIRED


def forms(secret: str) -> set[bytes]:
    """A secret as it is, and as files and logs write it."""
    raw = secret.encode()
    texts = (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], raw.hex())
    # Base64 of it behind any number of other bytes, without the ends that those decide.
    shifted = (base64.b64encode(b"x" * shift + raw)[4:-4] for shift in range(3))
    return {*(text.encode() for text in texts), *shifted}


def test_no_credential_is_in_a_file_in_the_log_or_in_an_answer(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    street = Street(storage="file")
    answers: list[str] = []
    try:
        with caplog.at_level(logging.DEBUG):
            for name, arguments in CALLS.items():
                street.open(name, "A caller in clear")
                answers.append(json.dumps(street.call(name, "A caller in clear", **arguments)))
        folder = Path(street.call("gateway_status")["folder"])
        files = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        vault = street.extension.vault
        kept = [vault.load(KIND, *key) for key in vault.keys(KIND)]
        locks = street.extension.demonstration.locks.values()
        secrets = {secret for lock in locks for secret in lock.known.values()}
        for record in kept:
            assert record is not None
            members = ("value", "accessToken", "refreshToken", "appSecret")
            secrets |= {record[member] for member in members if member in record}
        assert len(kept) == len(CALLS)
    finally:
        street.close()
    assert len(secrets) >= 8
    said = capfd.readouterr()
    written = b"\n".join(
        [files, *(text.encode() for text in (caplog.text, said.out, said.err, *answers))]
    )
    found = [secret for secret in secrets for form in forms(secret) if form in written]
    assert found == []
    assert b"A caller in clear" not in files
    assert b"com.example" not in files
