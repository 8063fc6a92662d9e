"""Apps of the suite's own, on loopback: what a gateway really sends to an app is seen first-hand.

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

from ...support.json_reading import read_json
from .vocabulary import ACCESS_TOKEN_SECONDS, APP_TOKEN_SECONDS, RFC_NAMES, tool_name

_LARGEST = 1024 * 1024
_SECONDS = 10.0


@dataclass(frozen=True)
class AppRequest:
    """One request, as it came."""

    method: str
    host: str
    app: str
    """The first part of the path, which says whose request it is."""
    path: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    query: tuple[tuple[str, str], ...] = field(repr=False)
    body: str = field(repr=False)
    at: datetime
    stale: bool = False
    """Whether it brought a token whose time was over."""

    def header(self, name: str) -> str:
        wanted = name.lower()
        return next((value for own, value in self.headers if own.lower() == wanted), "")

    @property
    def form(self) -> dict[str, str]:
        """Its parameters, under the names of this profile."""
        pairs = self.query if self.method == "GET" else tuple(parse_qsl(self.body))
        return {_camel(name): value for name, value in pairs}

    def places_of(self, secret: str) -> list[str]:
        """Where in it a secret stands."""
        found = [f"header {name}" for name, value in self.headers if secret in value]
        found += [f"query {name}" for name, value in self.query if secret in value]
        return found + (["body"] if secret in self.body else [])


@dataclass
class GivenToken:
    """A token that was given out."""

    app: str
    expires_at: datetime


class AppDouble:
    """Starts to listen when it is made."""

    def __init__(self) -> None:
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        """The gateway's time, by which tokens end."""
        self._lock = threading.Lock()
        self._seen: list[AppRequest] = []
        self._tokens: dict[str, GivenToken] = {}
        self._refresh: dict[str, str] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self._secrets: dict[str, str] = {}
        self.holds = False
        """Whether a browser that comes to authorise stays there, instead of being sent back."""
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
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="app double",
            daemon=True,
        )
        self._thread.start()

    # ---- life

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def url(self, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(_SECONDS)
        self._server.server_close()

    # ---- what it knows

    def plant(self, what: str, secret: str) -> str:
        self._secrets[secret] = what
        return secret

    def secrets(self) -> dict[str, str]:
        """What each secret is, by the secret: those typed in, and the tokens given out."""
        with self._lock:
            return dict(self._secrets)

    def seen(self, app: str = "", path: str = "") -> list[AppRequest]:
        """The requests so far: of one app, of paths that begin so."""
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

    # ---- descriptors

    def descriptors(self) -> list[dict[str, Any]]:
        """The apps, as a gateway is told of them."""
        return [
            self._app("key-header", _key("header", "Authorization", "Bearer")),
            self._app("key-plain", _key("header", "X-Suite-Key")),
            self._app("key-query", _key("query", "suite_key")),
            self._app("office", self._office()),
            self._app("cookie", self._cookie()),
            self._app("oauth", self._oauth("oauth")),
            self._app("other-oauth", self._oauth("other-oauth")),
            # The same credentials, for apps that are not where they should be.
            self._app("cookie-elsewhere", self._cookie(), host="127.0.0.1"),
            self._app("cookie-moved", self._cookie(), path="/moved"),
            self._app("key-moved", _key("header", "Authorization", "Bearer"), path="/moved"),
            # Reaches this machine, by an address that is none of loopback's.
            self._app("key-far", _key("header", "Authorization", "Bearer"), host="0.0.0.0"),
        ]

    def apps(self) -> list[str]:
        """The names of the apps, as a path begins with them."""
        return [one["id"].removeprefix("suite.") for one in self.descriptors()]

    def tool(self, app: str, tool: str = "read") -> str:
        """The name of a tool in tools/list."""
        return tool_name(f"suite.{app}", tool)

    def _app(
        self, app: str, auth: dict[str, Any], *, host: str = "localhost", path: str = "/tools"
    ) -> dict[str, Any]:
        return {
            "id": f"suite.{app}",
            "name": f"Suite {app}",
            "type": "web",
            "platforms": ["web"],
            "baseUrl": f"{self.url(host)}/{app}",
            "auth": auth,
            "tools": [
                {
                    "name": name,
                    "description": f"Does nothing but to be called ({name}).",
                    "parameters": {},
                    "execution": {"method": "POST", "path": f"{path}/{name}"},
                }
                for name in ("read", "write", "wipe")
            ],
        }

    def _office(self) -> dict[str, Any]:
        settings = {
            "tokenEndpoint": f"{self.url()}/office/auth/token",
            "tokenType": "tenantAccessToken",
            "expiresIn": APP_TOKEN_SECONDS,
            "instructions": {"short": "None", "helpUrl": self.url()},
        }
        return {"type": "appCredential", "appCredential": settings}

    def _cookie(self) -> dict[str, Any]:
        settings = {
            "loginUrl": f"{self.url()}/cookie/login",
            "requiredCookies": list(self.cookies),
            "domain": "localhost",
            "instructions": "None",
        }
        return {"type": "cookie", "cookie": settings}

    def _oauth(self, app: str) -> dict[str, Any]:
        settings = {
            "authorizationEndpoint": f"{self.url()}/{app}/authorize",
            "tokenEndpoint": f"{self.url()}/{app}/oauth/token",
            "clientId": "suite-gateway",
            "scope": "read write",
        }
        return {"type": "oauth2", "oauth2": settings}

    # ---- what it answers

    def answer(self, seen: AppRequest) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON for one request, which is noted."""
        place = seen.path.removeprefix(f"/{seen.app}")
        with self._lock:
            status, headers, body, stale = self._answer(seen, place)
            self._seen.append(replace(seen, stale=stale))
        return status, headers, body

    def _answer(self, seen: AppRequest, place: str) -> tuple[int, dict[str, str], Any, bool]:
        if place.startswith("/authorize"):
            return (*self._authorize(seen), False)
        if place == "/oauth/token":
            return (*self._token(seen), False)
        if place == "/auth/token":
            return (*self._app_token(seen), False)
        if place.startswith("/moved/"):
            tool = place.rpartition("/")[2]
            where = f"{self.url('127.0.0.1')}/{seen.app}/arrived/{tool}"
            return 307, {"Location": where}, {}, False
        known, stale = self._known(seen)
        if place.startswith("/tools/") and not known:
            return 401, {"WWW-Authenticate": "Bearer"}, {"error": "invalid_token"}, stale
        return 200, {}, {"done": place.rpartition("/")[2]}, stale

    def _known(self, seen: AppRequest) -> tuple[bool, bool]:
        """Whether the request has its app's credential, and whether that one's time is over."""
        if seen.app in ("key-header", "key-moved", "key-far"):
            return seen.header("authorization") == f"Bearer {self.key}", False
        if seen.app == "key-plain":
            return seen.header("x-suite-key") == self.key, False
        if seen.app == "key-query":
            return ("suite_key", self.key) in seen.query, False
        if seen.app.startswith("cookie"):
            sent = dict(
                pair.strip().partition("=")[::2] for pair in seen.header("cookie").split(";")
            )
            return all(sent.get(name) == value for name, value in self.cookies.items()), False
        token = self._tokens.get(seen.header("authorization").removeprefix("Bearer "))
        if token is None or token.app != seen.app:
            return False, False
        stale = seen.at >= token.expires_at
        return not stale, stale

    def _give(self, app: str, what: str, seconds: int, at: datetime) -> str:
        token = self.plant(f"{what} of {app}", f"t-{secrets.token_urlsafe(24)}")
        self._tokens[token] = GivenToken(app, at + timedelta(seconds=seconds))
        return token

    def _app_token(self, seen: AppRequest) -> tuple[int, dict[str, str], Any]:
        try:
            given = read_json(seen.body)
            right = given == {"appId": self.app_id, "appSecret": self.app_secret}
        except ValueError:
            right = False
        if not right:
            return 401, {}, {"error": "invalid_client"}
        token = self._give(seen.app, "app token", APP_TOKEN_SECONDS, seen.at)
        return 200, {}, {"tenantAccessToken": token, "expire": APP_TOKEN_SECONDS}

    def _authorize(self, seen: AppRequest) -> tuple[int, dict[str, str], Any]:
        asked = seen.form
        if self.holds:
            return 200, {}, {"held": True}
        return 302, {"Location": self._way_back(asked)}, {}

    def way_back(self, asked: Mapping[str, str], **changes: str | None) -> str:
        """Where the browser is sent when the person allows it; None leaves a parameter out."""
        with self._lock:
            return self._way_back(asked, **changes)

    def _way_back(self, asked: Mapping[str, str], **changes: str | None) -> str:
        code = self.plant("authorisation code", secrets.token_urlsafe(24))
        self._codes[code] = dict(asked)
        given = {"code": code, "state": asked.get("state", ""), **changes}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        back = asked.get("redirectUri", "")
        return f"{back}{'&' if '?' in back else '?'}{query}"

    def _token(self, seen: AppRequest) -> tuple[int, dict[str, str], Any]:
        given = seen.form
        if given.get("grantType") == "refresh_token":
            if self._refresh.pop(given.get("refreshToken", ""), None) != seen.app:
                return 400, {}, {"error": "invalid_grant"}
        else:
            asked = self._codes.pop(given.get("code", ""), None)
            if asked is None or challenge_of(given.get("codeVerifier", "")) != asked.get(
                "codeChallenge"
            ):
                return 400, {}, {"error": "invalid_grant"}
        refresh = self.plant(f"refresh token of {seen.app}", secrets.token_urlsafe(24))
        self._refresh[refresh] = seen.app
        members = {
            "accessToken": self._give(seen.app, "access token", ACCESS_TOKEN_SECONDS, seen.at),
            "tokenType": "Bearer",
            "expiresIn": ACCESS_TOKEN_SECONDS,
            "refreshToken": refresh,
            "scope": "read write",
        }
        if any(name in RFC_NAMES.values() for name, _ in parse_qsl(seen.body)):
            members = {RFC_NAMES.get(name, name): value for name, value in members.items()}
        return 200, {}, members


def challenge_of(verifier: str) -> str:
    """S256 of RFC 7636."""
    digest = hashlib.sha256(verifier.encode("utf-8", "replace")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def _key(location: str, name: str, prefix: str = "") -> dict[str, Any]:
    settings: dict[str, Any] = {"location": location, "name": name}
    if prefix:
        settings["prefix"] = prefix
    settings["instructions"] = {"short": "None", "helpUrl": "http://localhost/"}
    return {"type": "apiKey", "apiKey": settings}


def _camel(name: str) -> str:
    return next((camel for camel, rfc in RFC_NAMES.items() if rfc == name), name)


class _Handler(BaseHTTPRequestHandler):
    """Reads one request whole, and writes the double's answer."""

    double: AppDouble
    timeout = _SECONDS

    def _serve(self) -> None:
        length = self.headers.get("content-length", "0")
        size = min(int(length), _LARGEST) if length.isdigit() else 0
        body = self.rfile.read(size).decode("utf-8", "replace")
        parts = urlsplit(self.path)
        seen = AppRequest(
            self.command,
            (self.headers.get("host") or "").rpartition(":")[0],
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
        """Nothing is logged: credentials may stand in an address."""
