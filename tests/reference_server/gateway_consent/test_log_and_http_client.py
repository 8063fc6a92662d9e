"""Nothing secret is logged, and nothing is sent where it was not meant to go."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.log import (
    MASK,
    Redactor,
    logger,
    redactor,
    secrets_in,
)

SECRET = "s3cret/with spaces+and&signs"


# ---- the log


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer"),
        ("Authorization: Basic YWJjZGVmZ2hp", "Authorization: Basic"),
        ("Cookie: a=abcdefghi; b=abcdefghi", "Cookie:"),
        ("Set-Cookie: a=abcdefghi; Path=/", "Set-Cookie:"),
        ('{"accessToken": "abcdefghi", "tokenType": "Bearer"}', '"accessToken": "'),
        ("refresh_token=abcdefghi&x=1", "x=1"),
        ("{'appSecret': 'abcdefghi', 'appId': 'cli_1'}", "'appId': 'cli_1'"),
        ("GET /search?api_key=abcdefghi&q=words", "q=words"),
        ("GET /callback?code=abcdefghi&state=abcdefghi", "GET /callback?code="),
        ("codeVerifier=abcdefghi", "codeVerifier="),
        ("password: abcdefghi", "password: "),
    ],
)
def test_what_stands_where_credentials_stand_is_masked(text: str, kept: str) -> None:
    found = Redactor().redact(text)
    assert "abcdefghi" not in found
    assert "abc.def-ghi" not in found
    assert "YWJjZGVmZ2hp" not in found
    assert kept in found
    assert MASK in found


@pytest.mark.parametrize(
    "text", ["an app answered with the status 500", "a call waits for consent", "3 tokens", ""]
)
def test_ordinary_words_stay(text: str) -> None:
    assert Redactor().redact(text) == text


def test_a_known_secret_is_masked_in_every_form() -> None:
    own = Redactor()
    own.know([SECRET, "short"])
    for form in (SECRET, quote(SECRET, safe=""), quote(SECRET, safe="").replace("%20", "+")):
        assert own.redact(f"before {form} after") == f"before {MASK} after"
    assert own.redact("a short word") == "a short word"


def test_the_number_of_known_secrets_is_bounded() -> None:
    own = Redactor()
    own.know(f"secret number {number}" for number in range(3000))
    assert len(own._secrets) <= 2000
    assert own.redact("secret number 2999") == MASK


def test_every_handler_gets_the_masked_record(caplog: pytest.LogCaptureFixture) -> None:
    redactor.know([SECRET])
    with caplog.at_level(logging.INFO, logger.name):
        logger.info("sent %s to %s", SECRET, "the app")
        try:
            raise ValueError(f"broken by {SECRET}")
        except ValueError:
            logger.exception("failed with %s", SECRET)
    assert f"sent {MASK} to the app" in caplog.text
    assert "ValueError: broken by" in caplog.text
    assert SECRET not in caplog.text


def test_the_secrets_of_a_record() -> None:
    record = {"type": "cookie", "value": "v", "createdAt": 1, "more": [{"deep": "d"}]}
    assert secrets_in(record) == ["v", "d"]


# ---- sending


class App(BaseHTTPRequestHandler):
    """Answers as its path says."""

    seen: list[tuple[str, str]]

    def do_POST(self) -> None:
        type(self).seen.append((self.path, self.headers.get("Authorization", "")))
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            body = b""
        elif self.path == "/large":
            self.send_response(200)
            body = b"x" * (http_client.MAXIMUM_BYTES + 1)
        else:
            self.send_response(201)
        self.send_header("X-Answer", "yes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Not on the terminal."""


@pytest.fixture
def app() -> Iterator[str]:
    App.seen = []
    with ThreadingHTTPServer(("127.0.0.1", 0), App) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join(10)


def test_an_answer_is_handed_over_whatever_it_means(app: str) -> None:
    answer = http_client.send("POST", f"{app}/x?a=1", {"Authorization": "Bearer b"}, b"body")
    assert (answer.status, answer.body, answer.header("x-answer")) == (201, b"body", "yes")
    assert App.seen == [("/x?a=1", "Bearer b")]


def test_no_redirect_is_followed(app: str) -> None:
    answer = http_client.send("POST", f"{app}/redirect", {"Authorization": "Bearer b"}, b"")
    assert (answer.status, answer.header("location")) == (302, "/elsewhere")
    assert len(App.seen) == 1


def test_no_proxy_is_asked(app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert http_client.send("POST", f"{app}/x", {}, b"").status == 201


def test_too_large_an_answer_is_none(app: str) -> None:
    with pytest.raises(http_client.SendingError, match="too large an answer from localhost"):
        http_client.send("POST", f"{app}/large", {}, b"")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "http://198.51.100.1/x",
        "http://localhost.example.org/x",
        "http://127.0.0.1.example.org/x",
        "http://user@localhost:1/x",
        "ftp://localhost/x",
        "file:///etc/passwd",
        "//localhost/x",
        "http://[::1",
        "http://localhost:x/",
        "",
    ],
)
def test_plain_http_goes_to_this_machine_only(url: str) -> None:
    with pytest.raises(http_client.SendingError):
        http_client.send("POST", url, {"Authorization": SECRET}, b"")


def test_no_answer_is_told_without_the_request() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"http://127.0.0.1:{port}/x?api_key=abcdefghi"
    with pytest.raises(http_client.SendingError, match=r"no answer from 127\.0\.0\.1") as error:
        http_client.send("POST", url, {"X": "a\r\nb"}, b"")
    assert "abcdefghi" not in str(error.value)
