"""The demonstration apps on one loopback address: the other side of the four ways in.

One place (`/mail`, `/notes`, ...) for each web app of the descriptors: its tools behind its lock,
its authorisation server or token end point, and the page where a person finds what to type in. All
that arrives is in the journal, all that was done in the effects. Knows nothing of the gateway.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ....families.gateway_consent.vocabulary import AuthType
from ...server.clock import Clock, SystemClock
from ...server.effects import RecordedEffects
from ..demonstration import CLIENT_ID, DESCRIPTORS, PLACE, demonstration_apps
from ..descriptors import App
from ..listener import Listener
from ..pages import style_routes
from . import pages
from .journal import Journal, Received
from .known_secrets import KnownSecrets
from .locks import (
    AppTokenLock,
    Closed,
    CookieLock,
    KeyLock,
    Lock,
    NoLock,
    ShownCredentials,
    TokenLock,
)
from .oauth import AuthorisationServer, NotAskedError, Redirect
from .validator import RegisteredClient

OTHER_CLIENT_ID = "neighbour-gateway"
"""A second client, so that there is somebody else to be mistaken for."""

Handler = Callable[[Request, str], Awaitable[Response]]


class DemonstrationApp:
    """`start` says where it is. `redirect_uris` are the gateway's, asked for when they matter."""

    server_class: type[AuthorisationServer] = AuthorisationServer
    key_lock_class: type[KeyLock] = KeyLock
    app_token_lock_class: type[AppTokenLock] = AppTokenLock
    cookie_lock_class: type[CookieLock] = CookieLock

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        redirect_uris: Callable[[], Sequence[str]] = tuple,
        apps: Mapping[str, App] | None = None,
        secrets: KnownSecrets | None = None,
        effects: RecordedEffects | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.places = by_place((demonstration_apps() if apps is None else apps).values())
        self.secrets = secrets or KnownSecrets.made(self.places)
        self.effects = RecordedEffects() if effects is None else effects
        self.journal = Journal()
        self.clients = {
            CLIENT_ID: RegisteredClient(CLIENT_ID, redirect_uris, "AAI Gateway"),
            OTHER_CLIENT_ID: RegisteredClient(
                OTHER_CLIENT_ID, lambda: [f"{self.url}/neighbour/callback"], "Neighbour Gateway"
            ),
        }
        self.servers = {
            place: self.server_class(
                self.clock,
                lambda place=place: f"{self.url}/{place}",  # type: ignore[misc]
                self.clients,
                {tool.name: tool.description for tool in app.tools.values()},
            )
            for place, app in self.places.items()
            if app.auth and app.auth.type is AuthType.OAUTH2
        }
        self.locks = {place: self.lock(place, app) for place, app in self.places.items()}
        self.listener = Listener(self.routes)

    def lock(self, place: str, app: App) -> Lock:
        if app.auth is None:
            return NoLock()
        known, settings = self.secrets.of(place), app.auth.settings
        match app.auth.type:
            case AuthType.OAUTH2:
                return TokenLock(self.servers[place])
            case AuthType.API_KEY:
                return self.key_lock_class(known["apiKey"], settings)
            case AuthType.APP_CREDENTIAL:
                member = str(settings.get("tokenType", "tenantAccessToken"))
                return self.app_token_lock_class(
                    self.clock, known["appId"], known["appSecret"], member
                )
            case AuthType.COOKIE:
                return self.cookie_lock_class(known["cookies"])

    # ---- running

    def start(self) -> str:
        """Where it can be reached; also if it runs already."""
        return self.listener.url

    @property
    def url(self) -> str:
        return self.listener.url

    @property
    def other_url(self) -> str:
        """The same under another host name, where no cookie of `localhost` belongs."""
        return f"http://127.0.0.1:{urlsplit(self.url).port}"

    def stop(self) -> None:
        self.listener.stop()

    def reset(self) -> None:
        """As if newly started; the known secrets stay."""
        self.journal.clear()
        self.effects.clear()
        for server in self.servers.values():
            server.clear()
        for lock in self.locks.values():
            if isinstance(lock, AppTokenLock):
                lock.clear()

    # ---- what is served

    def routes(self) -> list[Route]:
        read_only: dict[str, Callable[[], Any]] = {
            "/journal": self.journal.to_json,
            "/effects": self.effects.to_json,
            "/secrets": self.secrets.to_json,
        }
        return [
            *(Route(path, _telling(tell)) for path, tell in read_only.items()),
            *style_routes(),
            self.route("/{place}/authorize", self.ask, "GET", "authorize"),
            self.route("/{place}/authorize", self.decide, "POST", "decide"),
            self.route("/{place}/oauth/token", self.token, "POST", "token"),
            self.route("/{place}/auth/token", self.app_token, "POST", "app token"),
            self.route("/{place}/tools/{tool}", self.call, "POST", "tool"),
            self.route("/{place}/public/{tool}", self.call_public, "POST", "public"),
            self.route("/{place}/moved/{tool}", self.moved, "POST", "moved"),
            self.route("/{place}/{page}", self.account, "GET", "page"),
            self.route("/{rest:path}", self.nothing, None, "nothing"),
        ]

    def route(self, path: str, handler: Handler, method: str | None, action: str) -> Route:
        """Every answer of the handler with a line in the journal, also a failed one."""

        async def end_point(request: Request) -> Response:
            place = str(request.path_params.get("place", ""))
            status = 500
            await request.body()  # kept by the request, for whoever reads it after this
            try:
                answer = await handler(request, place)
                status = answer.status_code
                return answer
            finally:
                await self.write(request, action, place, status)

        every = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return Route(path, end_point, methods=[method] if method else every)

    async def write(self, request: Request, action: str, place: str, status: int) -> None:
        query = list(request.query_params.multi_items())
        body = (await request.body()).decode("utf-8", "replace")
        received = Received(
            request.method,
            request.headers.get("host", ""),
            request.url.path,
            request.headers.items(),
            query,
            request.cookies,
            body,
        )
        more: dict[str, Any] = {"action": action, "app": place, "status": status}
        if "tool" in request.path_params:
            more["tool"] = request.path_params["tool"]
        if action == "authorize":
            more["parameters"] = dict(query)
        self.journal.write(received, self.what, **more)

    def what(self, value: str) -> str | None:
        """A word for the secret that a text holds or is."""
        for secret, word in self.secrets.values().items():
            if secret in value:
                return word
        for place, server in self.servers.items():
            if server.grants.access(value) or server.grants.refresh(value):
                return f"{place} token"
        for place, lock in self.locks.items():
            if isinstance(lock, AppTokenLock) and lock.knows(value):
                return f"{place} token"
        return None

    # ---- OAuth

    async def ask(self, request: Request, place: str) -> Response:
        server = self.servers.get(place)
        if server is None:
            return _not_here()
        try:
            found = server.ask(request.url.query)
        except NotAskedError as error:
            return pages.message_page("This request cannot be followed", str(error), 400)
        if isinstance(found, Redirect):
            return RedirectResponse(found.location, 302, _UNSTORED)
        return pages.question_page(
            self.places[place].name,
            self.clients[found.client_id].name,
            self.tools_shown(server, found.tools),
            found.id,
            found.redirect_uri,
        )

    def tools_shown(self, server: AuthorisationServer, tools: Sequence[str]) -> dict[str, str]:
        """What the person sees of the tools that were asked for."""
        return {name: server.tools[name] for name in tools}

    async def decide(self, request: Request, place: str) -> Response:
        server = self.servers.get(place)
        if server is None:
            return _not_here()
        if not self.comes_from_here(request):
            return pages.message_page("This did not come from our page", "Nothing was done.", 403)
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        decision = form.get("decision")
        if decision not in ("allow", "deny"):
            return pages.message_page("Allow or Deny?", "Nothing was chosen.", 400)
        try:
            found = server.decide(form.get("question", ""), decision == "allow")
        except NotAskedError as error:
            return pages.message_page("This request cannot be followed", str(error), 400)
        return RedirectResponse(found.location, 303, _UNSTORED)

    def comes_from_here(self, request: Request) -> bool:
        """A browser says which page a form was on; who is no browser need not."""
        origin = request.headers.get("origin")
        return origin is None or origin == f"http://{request.headers.get('host', '')}"

    async def token(self, request: Request, place: str) -> Response:
        server = self.servers.get(place)
        if server is None:
            return _not_here()
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        body = (await request.body()).decode("utf-8", "replace")
        if kind != "application/x-www-form-urlencoded" or request.url.query:
            # RFC 6749, section 4.1.3: a form, and nothing in the address.
            members = {"error": "invalid_request", "error_description": "a form is expected"}
            return JSONResponse(members, 400, _UNSTORED)
        answer = server.token(body)
        return JSONResponse(answer.members, answer.status, {**_UNSTORED, **answer.headers})

    # ---- app credentials

    async def app_token(self, request: Request, place: str) -> Response:
        lock = self.locks.get(place)
        if not isinstance(lock, AppTokenLock):
            return _not_here()
        try:
            return JSONResponse(lock.exchange(await _json(request)), headers=_UNSTORED)
        except Closed as closed:
            return _closed(closed)

    # ---- tools

    async def call(self, request: Request, place: str) -> Response:
        app, tool = self.places.get(place), str(request.path_params["tool"])
        if app is None or tool not in app.tools:
            return _not_here()
        shown = ShownCredentials(dict(request.headers), dict(request.query_params), request.cookies)
        try:
            self.locks[place].open(shown, tool)
        except Closed as closed:
            return _closed(closed)
        return await self.work(request, app, tool)

    async def call_public(self, request: Request, place: str) -> Response:
        """For everybody, and what arrives with it is in the journal."""
        app, tool = self.places.get(place), str(request.path_params["tool"])
        return _not_here() if app is None else await self.work(request, app, tool)

    async def moved(self, request: Request, place: str) -> Response:
        """Elsewhere now: who follows must not take a credential along."""
        tool = str(request.path_params["tool"])
        return RedirectResponse(f"{self.other_url}/{place}/public/{tool}", 307)

    async def work(self, request: Request, app: App, tool: str) -> Response:
        arguments = await _json(request)
        if not isinstance(arguments, dict):
            return JSONResponse({"error": "invalid_request"}, 400)
        done = self.effects.record(f"{app.id}:{tool}", arguments)
        return JSONResponse({"tool": tool, "done": True, "number": done["number"]})

    # ---- pages of the person's account

    async def account(self, request: Request, place: str) -> Response:
        """Where the descriptor's links lead: the secrets of that app, to be copied."""
        known = self.secrets.of(place)
        if not known or request.path_params["page"] not in ("keys", "console", "login"):
            return _not_here()
        flat = {
            name: text
            for own, value in known.items()
            for name, text in (value.items() if isinstance(value, Mapping) else [(own, value)])
        }
        return pages.secret_page(f"{self.places[place].name}: your account", flat)

    async def nothing(self, request: Request, place: str) -> Response:  # noqa: ARG002
        return _not_here()


_UNSTORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}


def by_place(apps: Iterable[App]) -> dict[str, App]:
    """The web apps of the demonstration, by the last part of their addresses."""
    return {
        app.base_url.rpartition("/")[2]: app
        for app in apps
        if app.base_url and app.base_url.startswith(f"{{{PLACE}}}/")
    }


def descriptors_at(url: str) -> list[Any]:
    """The descriptors of the web apps, as a gateway elsewhere would be given them."""
    text = json.dumps([one for one in DESCRIPTORS if f"{{{PLACE}}}" in one.get("baseUrl", "")])
    found: list[Any] = json.loads(text.replace(f"{{{PLACE}}}", url))
    return found


def _telling(tell: Callable[[], Any]) -> Callable[[Request], Awaitable[Response]]:
    async def end_point(_: Request) -> Response:
        return JSONResponse(tell(), headers=_UNSTORED)

    return end_point


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        return None


def _closed(closed: Closed) -> Response:
    challenge = {"WWW-Authenticate": f'Bearer error="{closed.error}"'}
    return JSONResponse({"error": closed.error}, closed.status, {**_UNSTORED, **challenge})


def _not_here() -> Response:
    return JSONResponse({"error": "not_found"}, 404)
