"""The suite's own apps, on loopback, which see what a gateway really sends to an app.

One listener plays an app for each way in. It knows every secret, because it made them, and notes
every request as it came. Standard library only; shares no code with the reference gateway. Knows no
verdicts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from ...support.json_reading import JsonError, read_json
from .app_descriptors import AppDescriptors
from .vocabulary import (
    ACCESS_TOKEN_SECONDS,
    APP_TOKEN_SECONDS,
    PROFILE_NAMES,
    RFC_NAMES,
)

_LARGEST = 1024 * 1024
_SECONDS = 10.0


Answer = tuple[int, dict[str, str], Any]
"""Status, headers and JSON."""


@dataclass(frozen=True)
class AppRequest:
    """One request, as it came."""

    method: str
    app: str
    """The first part of the path, which names the app."""
    path: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    query: tuple[tuple[str, str], ...] = field(repr=False)
    body: str = field(repr=False)
    at: datetime
    stale: bool = False
    """Whether it carried an expired token."""

    def header(self, name: str) -> str:
        return next((value for own, value in self.headers if own.lower() == name.lower()), "")

    @property
    def bearer(self) -> str:
        return self.header("authorization").removeprefix("Bearer ")

    @property
    def form(self) -> dict[str, str]:
        """Its parameters, under the names of this profile."""
        pairs = self.query if self.method == "GET" else tuple(parse_qsl(self.body))
        return {PROFILE_NAMES.get(name, name): value for name, value in pairs}

    def places_of(self, secret: str) -> list[str]:
        """Which of its parts contain a secret."""
        found = [f"header {name}" for name, value in self.headers if secret in value]
        found += [f"query {name}" for name, value in self.query if secret in value]
        return found + (["body"] if secret in self.body else [])


LEFT_OUT: Any = object()
"""For a member of an answer: not there at all."""
RENAMED: Any = object()
"""For a member of an answer: there, under another name."""


class AppDouble(AppDescriptors):
    """Listens from its creation on. With `twins` it has apps of every way in for which there is
    otherwise one of some way: at a redirect, beyond loopback, of a domain that is near."""

    def __init__(self, *, twins: bool = False) -> None:
        self._twins = twins
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        """The gateway's time, by which tokens expire."""
        self._lock = threading.RLock()
        self._seen: list[AppRequest] = []
        self._tokens: dict[str, tuple[str, datetime]] = {}
        """The app and the expiry of each."""
        self._refresh: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        """The challenge of each."""
        self._secrets: dict[str, str] = {}
        self.holds = False
        """Whether a browser that comes to authorise stays there, instead of being sent back."""
        self.fails = False
        """Whether its tools break down, whoever calls them."""
        self.knows_nobody = False
        """Whether it rejects every credential, as if all were revoked."""
        self.token_end_fails = False
        """Whether its token end points break down."""
        self.lasts: int | None = None
        """For how many seconds its tokens last; None: as long as the document recommends."""
        self.keeps_refresh_tokens = False
        """Whether a refresh token serves again and again."""
        self.told: dict[str, Any] = {}
        """What the token end points tell instead, by the name of the member."""
        self.key = self.plant("API key", f"key_{secrets.token_urlsafe(24)}")
        self.app_id = f"cli_{secrets.token_hex(8)}"
        self.app_secret = self.plant("app secret", secrets.token_urlsafe(24))
        self.cookies = {
            name: self.plant(f"cookie {name}", secrets.token_hex(20))
            for name in ("web_session", "web_signature")
        }
        handler = type("_Handler", (_Handler,), {"double": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="app double", daemon=True
        )
        self._thread.start()

    # ---- life

    def url(self, host: str = "localhost") -> str:
        return f"http://{host}:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(_SECONDS)
        self._server.server_close()

    # ---- what it knows

    def plant(self, what: str, secret: str) -> str:
        with self._lock:
            self._secrets[secret] = what
        return secret

    def secrets(self) -> dict[str, str]:
        """What each secret is, by the secret: those typed in, and the tokens issued."""
        with self._lock:
            return dict(self._secrets)

    def seen(self, app: str = "", path: str = "") -> list[AppRequest]:
        """The requests so far: of one app, with paths that begin like this."""
        with self._lock:
            return [
                one
                for one in self._seen
                if (not app or one.app == app) and one.path.startswith(path)
            ]

    @property
    def cookie_text(self) -> str:
        """As a person pastes it."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    # ---- what it answers

    def answer(self, seen: AppRequest) -> Answer:
        """Answer one request, and note it."""
        with self._lock:
            app, end = self._tokens.get(seen.bearer, ("", seen.at))
            noted = replace(seen, stale=app == seen.app and seen.at >= end)
            self._seen.append(noted)
            return self._answer(noted, seen.path.removeprefix(f"/{seen.app}"))

    def _answer(self, seen: AppRequest, place: str) -> Answer:
        tool = place.rpartition("/")[2]
        if place.startswith("/authorize"):
            if self.holds:
                return 200, {}, {"held": True}
            return 302, {"Location": self.way_back(seen.form)}, {}
        if place in ("/oauth/token", "/auth/token") and self.token_end_fails:
            return 500, {}, {"error": "the app broke down"}
        if place == "/oauth/token":
            return self._token(seen)
        if place == "/auth/token":
            return self._app_token(seen)
        if place.startswith("/moved/"):
            return 307, {"Location": f"{self.url('127.0.0.1')}/{seen.app}/arrived/{tool}"}, {}
        if place.startswith("/tools/") and (self.knows_nobody or not self._known(seen)):
            return 401, {"WWW-Authenticate": "Bearer"}, {"error": "invalid_token"}
        if self.fails:
            return 500, {}, {"error": "the app broke down"}
        return 200, {}, {"done": tool}

    def _known(self, seen: AppRequest) -> bool:
        """Whether the request has its app's credential, not expired."""
        if seen.app == "key-plain":
            return seen.header("x-suite-key") == self.key
        if seen.app == "key-query":
            return ("suite_key", self.key) in seen.query
        if seen.app.startswith("key"):
            return seen.header("authorization") == f"Bearer {self.key}"
        if seen.app.startswith("cookie"):
            sent = {pair.strip() for pair in seen.header("cookie").split(";")}
            return sent.issuperset(self.cookie_text.split("; "))
        return not seen.stale and seen.app == self._tokens.get(seen.bearer, ("",))[0]

    def _give(self, app: str, what: str, seconds: int, at: datetime) -> str:
        token = self.plant(f"{what} of {app}", f"t-{secrets.token_urlsafe(24)}")
        self._tokens[token] = (app, at + timedelta(seconds=seconds))
        return token

    def _app_token(self, seen: AppRequest) -> Answer:
        try:
            right = read_json(seen.body) == {"appId": self.app_id, "appSecret": self.app_secret}
        except JsonError:
            right = False
        if not right:
            return 401, {}, {"error": "invalid_client"}
        lasts = self.lasts or APP_TOKEN_SECONDS
        token = self._give(seen.app, "app token", lasts, seen.at)
        return 200, {}, self._telling({"tenantAccessToken": token, "expire": lasts})

    def _telling(self, members: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for name, value in members.items():
            told = self.told.get(name, value)
            if told is RENAMED:
                given[f"other_{name}"] = value
            elif told is not LEFT_OUT:
                given[name] = told
        return given

    def way_back(self, asked: Mapping[str, str], **changes: str | None) -> str:
        """Where the browser is sent when the person allows it; None leaves a parameter out."""
        code = self.plant("authorisation code", secrets.token_urlsafe(24))
        self._codes[code] = asked.get("codeChallenge", "")
        given = {"code": code, "state": asked.get("state", ""), **changes}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        back = asked.get("redirectUri", "")
        return f"{back}{'&' if '?' in back else '?'}{query}"

    def _token(self, seen: AppRequest) -> Answer:
        given = seen.form
        if self.knows_nobody:
            right = False
        elif given.get("grantType") == "refresh_token":
            token = given.get("refreshToken", "")
            right = self._refresh.get(token) == seen.app
            if not self.keeps_refresh_tokens:
                self._refresh.pop(token, None)
        else:
            challenge = self._codes.pop(given.get("code", ""), None)
            right = challenge == challenge_of(given.get("codeVerifier", ""))
        if not right:
            return 400, {}, {"error": "invalid_grant"}
        refresh = self.plant(f"refresh token of {seen.app}", secrets.token_urlsafe(24))
        self._refresh[refresh] = seen.app
        lasts = self.lasts or ACCESS_TOKEN_SECONDS
        members = self._telling(
            {
                "accessToken": self._give(seen.app, "access token", lasts, seen.at),
                "tokenType": "Bearer",
                "expiresIn": lasts,
                "refreshToken": refresh,
                "scope": "read write",
            }
        )
        if any(name in RFC_NAMES.values() for name, _ in parse_qsl(seen.body)):
            members = {RFC_NAMES.get(name, name): value for name, value in members.items()}
        return 200, {}, members


def challenge_of(verifier: str) -> str:
    """S256 of RFC 7636."""
    digest = hashlib.sha256(verifier.encode("utf-8", "replace")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


class _Handler(BaseHTTPRequestHandler):
    """Reads one whole request, and writes the double's answer."""

    double: AppDouble
    timeout = _SECONDS

    def _serve(self) -> None:
        length = self.headers.get("content-length", "0")
        size = min(int(length), _LARGEST) if length.isdigit() else 0
        body = self.rfile.read(size).decode("utf-8", "replace")
        parts = urlsplit(self.path)
        seen = AppRequest(
            self.command,
            parts.path.strip("/").partition("/")[0],
            parts.path,
            tuple(self.headers.items()),
            tuple(parse_qsl(parts.query, keep_blank_values=True)),
            body,
            self.double.now(),
        )
        status, headers, members = self.double.answer(seen)
        content = json.dumps(members).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = _serve  # noqa: N815  # as the library calls them

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: an address may contain credentials."""
