"""The demonstration apps on one loopback address: the other side of the four ways in.

One place (`/mail`, `/notes`, ...) for each web app of the descriptors: its tools behind its lock,
its authorisation server or token endpoint, and the page where a person finds what to type in. The
effects show what was done. Knows nothing of the gateway.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ....families.gateway_consent.vocabulary import AuthType
from ...server.clock import Clock, SystemClock
from ...server.effects import RecordedEffects
from ...server.listener import Listener
from ...server.pages import FormError, message, read_form, style_routes
from ..demonstration import CLIENT_ID, PLACE, demonstration_apps
from ..descriptors import App
from . import pages
from .locks import AppTokenLock, CookieLock, KeyLock, Lock
from .oauth import AuthorisationServer, NotAskedError, OAuthError, Redirect, RegisteredClient

OTHER_CLIENT_ID = "neighbour-gateway"
"""A second client, so that mix-ups can be tried."""
_UNSTORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}


class DemonstrationApp:
    """`redirect_uris` returns the gateway's; called when they are needed."""

    server_class: type[AuthorisationServer] = AuthorisationServer

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        redirect_uris: Callable[[], Sequence[str]] = tuple,
        apps: Mapping[str, App] | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.places = by_place((demonstration_apps() if apps is None else apps).values())
        self.effects = RecordedEffects()
        self.clients = {
            CLIENT_ID: RegisteredClient(CLIENT_ID, redirect_uris, "AAI Gateway"),
            OTHER_CLIENT_ID: RegisteredClient(
                OTHER_CLIENT_ID, lambda: [f"{self.url}/neighbour/callback"], "Neighbour Gateway"
            ),
        }
        self.locks = {place: self.lock(place, app) for place, app in self.places.items()}
        self.listener = Listener(self.routes)

    def lock(self, place: str, app: App) -> Lock:
        if app.auth is None:
            return Lock()
        match app.auth.type:
            case AuthType.OAUTH2:
                tools = {tool.name: tool.description for tool in app.tools.values()}
                return self.server_class(
                    self.clock, lambda: f"{self.url}/{place}", self.clients, tools
                )
            case AuthType.API_KEY:
                return KeyLock(app.auth.settings)
            case AuthType.APP_CREDENTIAL:
                return AppTokenLock(app.auth.settings, self.clock)
            case AuthType.COOKIE:
                return CookieLock(app.auth.settings)

    # ---- running

    @property
    def url(self) -> str:
        """Where it can be reached; starts it."""
        return self.listener.url

    def stop(self) -> None:
        self.listener.stop()

    def reset(self) -> None:
        """As if newly started; people's secrets stay."""
        self.effects.clear()
        for lock in self.locks.values():
            lock.clear()

    def routes(self) -> list[Route]:
        return [
            *style_routes(),
            Route("/{place}/authorize", self.ask, methods=["GET"]),
            Route("/{place}/authorize", self.decide, methods=["POST"]),
            Route("/{place}/oauth/token", self.token, methods=["POST"]),
            Route("/{place}/auth/token", self.app_token, methods=["POST"]),
            Route("/{place}/tools/{tool}", self.call, methods=["POST"]),
            Route("/{place}/{page}", self.account, methods=["GET"]),
        ]

    # ---- OAuth

    def server(self, request: Request) -> AuthorisationServer:
        lock = self.locks.get(request.path_params["place"])
        if not isinstance(lock, AuthorisationServer):
            raise HTTPException(404)
        return lock

    async def ask(self, request: Request) -> Response:
        server = self.server(request)
        try:
            found = server.ask(request.url.query)
        except NotAskedError as error:
            return message("This request cannot be answered", str(error), 400)
        if isinstance(found, Redirect):
            return RedirectResponse(found.location, 302, _UNSTORED)
        return pages.question_page(
            self.places[request.path_params["place"]].name,
            found.client.name,
            self.tools_shown(server, found.tools),
            found.id,
            found.redirect_uri,
        )

    def tools_shown(self, server: AuthorisationServer, tools: Sequence[str]) -> dict[str, str]:
        """What the person is shown about the requested tools."""
        return {name: server.tools[name] for name in tools}

    async def decide(self, request: Request) -> Response:
        server = self.server(request)
        try:
            form = await read_form(request)
            decision = form.get("decision")
            if decision not in ("allow", "deny"):
                raise FormError("Neither Allow nor Deny was chosen.")
            found = server.decide(form.get("question", ""), decision == "allow")
        except (FormError, NotAskedError) as error:
            return message("This request cannot be answered", str(error), 400)
        return RedirectResponse(found.location, 303, _UNSTORED)

    async def token(self, request: Request) -> Response:
        server = self.server(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        body = (await request.body()).decode("utf-8", "replace")
        try:
            if kind != "application/x-www-form-urlencoded" or request.url.query:
                # RFC 6749, section 4.1.3: a form, and nothing in the address.
                raise OAuthError("invalid_request", "a form is expected")
            return JSONResponse(server.token(body), headers=_UNSTORED)
        except OAuthError as error:
            # With the RFC's names: this profile defines none for errors.
            challenge = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
            return JSONResponse(error.members, error.status, {**_UNSTORED, **challenge})

    # ---- app credentials

    async def app_token(self, request: Request) -> Response:
        lock = self.locks.get(request.path_params["place"])
        if not isinstance(lock, AppTokenLock):
            raise HTTPException(404)
        return JSONResponse(lock.exchange(await _json(request)), headers=_UNSTORED)

    # ---- tools

    async def call(self, request: Request) -> Response:
        place, tool = request.path_params["place"], request.path_params["tool"]
        app = self.places.get(place)
        if app is None or tool not in app.tools:
            raise HTTPException(404)
        self.locks[place].open(request, tool)
        arguments = await _json(request)
        if not isinstance(arguments, dict):
            raise HTTPException(400)
        done = self.effects.record(f"{app.id}:{tool}", arguments)
        return JSONResponse({"tool": tool, "done": True, "number": done["number"]})

    # ---- pages of the person's account

    async def account(self, request: Request) -> Response:
        """Where the descriptor's links lead: the secrets of that app, to be copied."""
        place = request.path_params["place"]
        known = self.locks[place].known if place in self.locks else {}
        if not known or request.path_params["page"] not in ("keys", "console", "login"):
            raise HTTPException(404)
        return pages.secret_page(f"{self.places[place].name}: your account", known)


def by_place(apps: Iterable[App]) -> dict[str, App]:
    """The web apps of the demonstration, by the last part of their addresses."""
    return {
        app.base_url.rpartition("/")[2]: app
        for app in apps
        if app.base_url and app.base_url.startswith(f"{{{PLACE}}}/")
    }


async def _json(request: Request) -> Any:
    try:
        return json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        return None
