"""The consent page: what it shows, whose decisions it accepts, and what it never lets through."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import CHOICE_NAMES, Choice
from pytest_mcp_approval.reference_server import SettableClock
from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration import DESCRIPTORS
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import read_apps
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault, VaultError
from pytest_mcp_approval.reference_server.server.listener import Listener
from pytest_mcp_approval.reference_server.server.pages import style_routes
from pytest_mcp_approval.reference_server.server.visible_text import visible
from tests.reference_server.gateway_consent.person import choose, request

MAIL = "com.example.mail"
NASTY = {
    "markup": "</dd></dl><script>alert(1)</script><img src=x onerror=alert(1)><form action=//x>",
    "quotes": "\"'><input name=choice value=all>",
    "bidi": "safe\u202egnihton seteled\u202c \u2066x",
    "invisible": "a\u200bb\u00adc\ufeffd\u3164e",
    "control": "a\x00b\x1b[31mc\x7f",
    "lines": "first\nsecond\r\nthird\u2028fourth",
    "entities": "&lt;b&gt; &amp; &#x202e;",
}


class Site:
    """The pages of a gateway, with one app of which every text can be chosen."""

    def __init__(self, text: str = "plain") -> None:
        hostile = {
            "id": f"id {text}",
            "name": f"name {text}",
            "type": "desktop",
            "tools": [
                {
                    "name": f"tool {text}",
                    "description": f"description {text}",
                    "parameters": {
                        f"parameter {text}": {"type": text, "description": f"meaning {text}"}
                    },
                    "returns": {
                        "type": "object",
                        "description": f"returned {text}",
                        "properties": {f"member {text}": {"type": "string"}},
                    },
                }
            ],
        }
        self.apps = read_apps([*DESCRIPTORS, hostile])
        self.vault = MemoryVault()
        self.decisions = Decisions(self.vault, SettableClock())
        self.pages = ConsentPages(self.decisions, lambda: self.apps)
        self.listener = Listener(lambda: [*style_routes(), *self.pages.routes()])

    def ask(self, caller: str = "A", app: str = MAIL, tool: str = "sendEmail") -> str:
        return self.listener.url + self.pages.path(self.decisions.ask(caller, app, tool))

    def granted(self) -> bool | None:
        return self.decisions.granted("A", MAIL, "sendEmail")


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.listener.stop()


def test_everything_that_the_document_wants_is_there(site: Site) -> None:
    page = request(site.ask("Some Client"))
    assert page.status == 200
    for text in (
        "Some Client",
        "Example Mail",
        MAIL,
        "sendEmail",
        "Sends an email in the user's name.",
        "to",
        "array of string, required",
        "Who gets it: email addresses",
        "subject",
        "body",
        "The message itself",
        "Remember this decision",
    ):
        assert text in page.words
    assert "Returns" not in page.words
    assert page.form.labels == {choice.value: name for choice, name in CHOICE_NAMES.items()}
    returning = request(site.ask(tool="readInbox")).words
    assert "Returns" in returning
    assert "Sender, subject and text of each email (object)" in returning


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_hostile_text_is_text_wherever_it_stands(text: str) -> None:
    site = Site(text)
    try:
        app, tool = f"id {text}", f"tool {text}"
        page = request(site.ask(f"caller {text}", app, tool))
        plain = request(site.ask())
    finally:
        site.listener.stop()
    assert page.status == 200
    # The page has the elements that it has for anybody, and some for lists and long texts.
    assert set(page.form.tags) <= {*plain.form.tags, "div"}
    assert page.form.tags.count("form") == 1
    assert page.form.labels == plain.form.labels
    assert list(page.form.hidden) == ["csrf"]
    for unseen in "\u202e\u2066\u202c\u200b\u00ad\ufeff\u3164\x00\x1b\x7f\r\u2028":
        assert unseen not in page.text
    start = visible(text[:4])
    for place in ("caller", "id", "name", "tool", "description", "parameter", "meaning",
                  "returned", "member"):  # fmt: skip
        assert f"{place} {start}" in page.words


def test_very_long_text_is_there_and_the_buttons_too(site: Site) -> None:
    page = request(site.ask("x" * 10_000))
    assert "x" * 10_000 in page.text
    assert "x" * 100 not in page.text[: page.text.index("</h1>")]
    assert len(page.form.labels) == 3
    assert "characters more" in request(site.ask("y" * 30_000)).words


def test_the_headers_are_strict(site: Site) -> None:
    url = site.ask()
    for answer in (request(url), choose(url, "nonsense"), request(f"{url}x")):
        policy = answer.headers["content-security-policy"]
        for part in ("default-src 'none'", "style-src 'self'", "form-action 'self'",
                     "frame-ancestors 'none'", "base-uri 'none'"):  # fmt: skip
            assert part in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script" not in answer.form.tags
    cookie = request(url).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={urlsplit(url).path}" in cookie
    style = request(f"{site.listener.url}/style.css")
    assert (style.status, style.headers["content-type"]) == (200, "text/css; charset=utf-8")


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize("choice", list(Choice))
def test_a_decision_is_taken_once(site: Site, choice: Choice, remember: bool) -> None:
    url = site.ask()
    page = request(url)
    done = choose(url, choice, remember=remember, page=page)
    assert done.status == 200
    assert site.granted() is (choice is not Choice.DENY)
    assert bool(site.decisions.export()) is remember
    for again in (request(url), choose(url, Choice.ALL, remember=True, page=page)):
        assert again.status == 404
    assert site.granted() is (choice is not Choice.DENY)
    assert not site.decisions.granted("A", MAIL, "readInbox") or choice is Choice.ALL


FAULTS: dict[str, dict[str, Any]] = {
    "no token": {"members": {"csrf": "<none>"}},
    "another token": {"members": {"csrf": "x" * 43}},
    "an empty token": {"members": {"csrf": ""}},
    "no cookie": {"headers": {"Cookie": "<none>"}},
    "another cookie": {"headers": {"Cookie": "gateway_consent=x"}},
    "another origin": {"headers": {"Origin": "http://evil.example"}},
    "another port": {"headers": {"Origin": "http://localhost:1"}},
    "no origin of a page": {"headers": {"Origin": "null"}},
    "another site": {"headers": {"Sec-Fetch-Site": "cross-site"}},
    "a neighbouring site": {"headers": {"Sec-Fetch-Site": "same-site"}},
    "JSON": {"headers": {"Content-Type": "application/json"}},
    "plain text": {"headers": {"Content-Type": "text/plain"}},
    "no choice": {"members": {"choice": "<none>"}},
    "another choice": {"members": {"choice": "Authorize Tool"}},
    "half a pair": {"members": {"more": "\ufffd"}, "headers": {"Content-Type": "multipart/form"}},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_form_that_is_not_of_this_page_decides_nothing(site: Site, fault: Any) -> None:
    url = site.ask()
    page = request(url)
    assert choose(url, Choice.TOOL, remember=True, page=page, **fault).status == 400
    assert site.granted() is None
    assert choose(url, Choice.TOOL, remember=True, page=page).status == 200
    assert site.granted() is True


def test_the_token_of_one_page_is_not_for_another(site: Site) -> None:
    first, second = site.ask(), site.ask("B")
    other = request(second)
    mine = request(first)
    token = {"csrf": other.form.hidden["csrf"]}
    assert choose(first, Choice.TOOL, page=mine, members=token).status == 400
    cookie = {"Cookie": f"gateway_consent={other.cookies['gateway_consent']}"}
    assert choose(first, Choice.TOOL, page=mine, headers=cookie).status == 400
    assert site.granted() is None


def raw(site: Site, head: str, body: bytes = b"") -> int:
    """The status of an answer to exact bytes."""
    port = urlsplit(site.listener.url).port
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(head.encode() + b"\r\nConnection: close\r\n\r\n" + body)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split(b" ", 2)[1])


def test_only_loopback_names_are_served(site: Site) -> None:
    path, port = urlsplit(site.ask()).path, urlsplit(site.listener.url).port
    for host in ("evil.example", f"evil.example:{port}", "localhost", f"localhost.evil:{port}"):
        assert raw(site, f"GET {path} HTTP/1.1\r\nHost: {host}") == 421
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        assert raw(site, f"GET {path} HTTP/1.1\r\nHost: {host}") == 200


def test_bodies_have_a_length_and_a_bound(site: Site) -> None:
    path, port = urlsplit(site.ask()).path, urlsplit(site.listener.url).port
    post = f"POST {path} HTTP/1.1\r\nHost: localhost:{port}"
    assert raw(site, f"{post}\r\nContent-Length: 99999999") == 413
    assert raw(site, f"{post}\r\nTransfer-Encoding: chunked", b"0\r\n\r\n") == 411
    assert raw(site, f"{post}\r\nContent-Length: 0") == 400


@pytest.mark.parametrize("body", ["choice=tool&choice=deny", "%ff=%ff", "&" * 50, "=", "é"])
def test_a_body_that_cannot_be_read_decides_nothing(site: Site, body: str) -> None:
    url = site.ask()
    sent = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = request(url, "POST", sent, body.encode())
    assert answer.status == 400
    assert site.granted() is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_no_other_method_is_served(site: Site, method: str) -> None:
    answer = request(site.ask(), method)
    assert answer.status == 405
    assert not answer.headers["access-control-allow-origin"]


def test_a_form_without_any_button_pressed_asks_again(site: Site) -> None:
    url = site.ask()
    again = choose(url, "", remember=True)
    assert again.status == 200
    assert len(again.form.labels) == 3
    assert site.granted() is None
    assert choose(url, Choice.TOOL, page=again).status == 200


def test_looking_at_a_page_decides_nothing(site: Site) -> None:
    url = site.ask()
    assert request(f"{url}?choice=tool&remember=yes").status == 200
    assert request(url, "HEAD").status == 200
    assert site.granted() is None


def test_a_decision_that_cannot_be_kept_is_told(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise VaultError("vault: cannot be written: No space left on device")

    monkeypatch.setattr(site.vault, "save", fail)
    answer = choose(site.ask(), Choice.TOOL, remember=True)
    assert answer.status == 500
    assert "space" not in answer.words
    assert site.granted() is None


def test_a_stopped_listener_starts_again_elsewhere(site: Site) -> None:
    first = site.listener.url
    site.listener.stop()
    site.listener.stop()
    with pytest.raises(OSError):  # noqa: PT011 - refused or reset, as the system likes
        request(f"{first}/style.css")
    assert request(f"{site.listener.url}/style.css").status == 200
