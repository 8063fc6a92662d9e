"""The gateway's side and the app's side of authorisation, put together without the rest."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request
from starlette.responses import Response

from pytest_mcp_approval.reference_server.gateway_consent import http_client
from pytest_mcp_approval.reference_server.gateway_consent.authorisation import (
    AuthorisationNeeded,
    Authoriser,
    Sending,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.credentials import KIND
from pytest_mcp_approval.reference_server.gateway_consent.demonstration import demonstration_apps
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import DemonstrationApp
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App
from pytest_mcp_approval.reference_server.gateway_consent.vault import MemoryVault
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.listener import Listener
from pytest_mcp_approval.reference_server.server.pages import style_routes
from tests.reference_server.gateway_consent.visitor import Page, Visitor, typed

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
MILLISECONDS = int(START.timestamp() * 1000)
TOOLS = {
    "mail": "sendEmail",
    "notes": "addNote",
    "search": "search",
    "office": "createDocument",
    "social": "readTimeline",
}


class Site(DemonstrationApp):
    """Counts what it was asked for tokens."""

    exchanges = 0

    async def token(self, request: Request) -> Response:
        self.exchanges += 1
        return await super().token(request)

    async def app_token(self, request: Request) -> Response:
        self.exchanges += 1
        return await super().app_token(request)

    def reset(self) -> None:
        super().reset()
        self.exchanges = 0


class Desk:
    """`apps` can be changed by a test; places are those of the demonstration."""

    def __init__(self, authoriser_class: type[Authoriser] = Authoriser) -> None:
        self.clock = SettableClock(START)
        self.vault = MemoryVault()
        self.listener = Listener(lambda: [*style_routes(), *self.authoriser.routes()])
        self.site = Site(self.clock, redirect_uris=self.redirect_uris)
        self.located: dict[str, App] = {}
        self.authoriser = authoriser_class(
            self.vault, self.clock, lambda: self.listener.url, lambda: self.located
        )
        self.visitor = Visitor()

    def redirect_uris(self) -> list[str]:
        return self.authoriser.redirect_uris()

    def stop(self) -> None:
        self.listener.stop()
        self.site.stop()

    def reset(self) -> None:
        self.clock.move_to(START)
        self.vault.reset()
        self.authoriser.reset()
        self.site.reset()
        self.visitor = Visitor()
        self.located = {
            app.id: app.located({"demonstration": self.site.url})
            for app in demonstration_apps().values()
        }

    def app(self, place: str) -> App:
        return self.located[f"com.example.{place}"]

    def change(self, place: str, **settings: Any) -> App:
        """The app with other settings of its authorisation; None leaves one out."""
        app = self.app(place)
        assert app.auth is not None
        found = {**app.auth.settings, **settings}
        kept = {name: value for name, value in found.items() if value is not None}
        self.located[app.id] = replace(app, auth=replace(app.auth, settings=kept))
        return self.located[app.id]

    def url(self, place: str, tool: str | None = None) -> str:
        return f"{self.app(place).base_url}/tools/{tool or TOOLS[place]}"

    def authorise(
        self, place: str, caller: str = "Cursor", consented: Any = None, **more: Any
    ) -> Sending:
        tools = [TOOLS[place]] if consented is None else consented
        return self.authoriser.authorise(self.app(place), caller, tools, self.url(place), **more)

    def needed(self, place: str, caller: str = "Cursor", consented: Any = None) -> str:
        """The address of the page that a person is sent to."""
        with pytest.raises(AuthorisationNeeded) as needed:
            self.authorise(place, caller, consented)
        assert needed.value.url.startswith(self.listener.url)
        return needed.value.url

    def call(self, place: str, caller: str = "Cursor", tool: str | None = None) -> int:
        """As the gateway does it."""
        sending = self.authorise(place, caller)
        headers = {"Content-Type": "application/json", **sending.headers}
        query = f"?{urlencode(sending.query)}" if sending.query else ""
        url = self.url(place, tool) + query
        return http_client.send("POST", url, headers, b"{}").status

    def record(self, place: str, caller: str = "Cursor") -> dict[str, Any] | None:
        return self.vault.load(KIND, caller, f"com.example.{place}")

    # ---- the person

    def known(self, place: str) -> list[str]:
        """What a person would copy from the app's pages, one text for each step."""
        return typed(self.site, place)

    def type_in(self, url: str, *values: str) -> Page:
        """One value for each step of a dialog."""
        page = self.visitor.get(url)
        for value in values:
            page = self.visitor.send(page, value=value, choice="ok")
            if page.status == 303:
                page = self.visitor.get(page.location)
        return page

    def question(self, url: str) -> Page:
        """From the gateway's page to the app's."""
        left = self.visitor.get(url)
        assert left.status == 302
        return self.visitor.get(left.location)

    def back(self, url: str, decision: str = "allow") -> str:
        """The address that the app sends the browser back to."""
        return self.visitor.send(self.question(url), decision=decision).location

    def allow(self, url: str) -> Page:
        return self.visitor.get(self.back(url))
