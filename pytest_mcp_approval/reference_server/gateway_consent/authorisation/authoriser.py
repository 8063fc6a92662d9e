"""The app's own authorisation, after consent: which credential goes with a call, or whom to ask.

Checks where the request goes before it reads anything from the vault: no credential is sent over
plain http beyond loopback, or to an origin other than the app's own. Knows no consent: it is told
which tools were allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ....families.gateway_consent.vocabulary import AuthType
from ...server.clock import Clock
from .. import http_client
from ..descriptors import App
from ..log import redactor
from ..open_questions import OpenQuestions
from ..vault import Vault
from . import domains
from .api_key import ApiKeys
from .app_credential import AppCredentials
from .cookies import Cookies
from .credentials import Credentials
from .dialogs import Dialogs, Ticket
from .oauth2 import OAuth2
from .ways import Asking, AuthorisationNeeded, NotSentError, Sending, WayIn

if TYPE_CHECKING:
    from starlette.routing import Route


class Authoriser:
    """`pages_url` is where the gateway's pages are (it may start them); `apps` are its apps by id,
    with their addresses filled in."""

    oauth2_class: type[OAuth2] = OAuth2
    api_keys_class: type[ApiKeys] = ApiKeys
    app_credentials_class: type[AppCredentials] = AppCredentials
    cookies_class: type[Cookies] = Cookies
    credentials_class: type[Credentials] = Credentials
    dialogs_class: type[Dialogs] = Dialogs

    def __init__(
        self,
        vault: Vault,
        clock: Clock,
        pages_url: Callable[[], str],
        apps: Callable[[], Mapping[str, App]],
    ) -> None:
        self.clock = clock
        self.pages_url = pages_url
        self.apps = apps
        self.credentials = self.credentials_class(vault, clock)
        self.oauth2 = self.oauth2_class(self.credentials, vault, pages_url)
        self.ways: Mapping[AuthType, WayIn] = {
            AuthType.OAUTH2: self.oauth2,
            AuthType.API_KEY: self.api_keys_class(self.credentials),
            AuthType.APP_CREDENTIAL: self.app_credentials_class(self.credentials),
            AuthType.COOKIE: self.cookies_class(self.credentials),
        }
        self.tickets: OpenQuestions[Ticket] = OpenQuestions(clock)
        self.dialogs = self.dialogs_class(self.tickets, self.ways, apps)

    def authorise(
        self, app: App, caller: str, consented: Sequence[str], url: str, tool: str | None = None
    ) -> Sending:
        """What to add to a request to that URL; `AuthorisationNeeded` if a person must be asked
        first, `SendingError` if nothing may be sent."""
        if app.auth is None:
            return Sending()
        self.check_transport(url)
        self.check_origin(app, url)
        asking = Asking(app, caller, tuple(consented), tool, url)
        sending = self.ways[app.auth.type].sending(asking)
        if sending is None:
            raise AuthorisationNeeded(self.ask(app, caller, consented))
        return sending

    def ask(self, app: App, caller: str, consented: Sequence[str]) -> str:
        """The address of the page at which a person decides."""
        ticket = self.tickets.ask(Ticket(caller, app.id, self.clock.now()))
        ticket.consented = tuple(consented)
        redactor.know([ticket.id, ticket.cookie])
        return self.pages_url() + self.dialogs.path(ticket)

    def check_transport(self, url: str) -> None:
        """The document: never over unencrypted connections. Loopback does not count as one."""
        http_client.checked(url)

    def check_origin(self, app: App, url: str) -> None:
        """A tool's path must not lead away from the app."""
        origin = domains.origin_of(url)
        if origin is None or origin != domains.origin_of(app.base_url or ""):
            raise NotSentError("its tool is at an origin other than the app's own")

    def rejected(self, app: App, caller: str) -> None:
        """The app answered 401 to what was sent: renew the credential, or ask for it again."""
        if app.auth is not None:
            self.ways[app.auth.type].rejected(app, caller)

    def redirect_uris(self) -> list[str]:
        """The addresses to register with the apps that use OAuth: one for each."""
        return [
            self.oauth2.redirect_uri(app)
            for app in self.apps().values()
            if app.auth is not None and app.auth.type is AuthType.OAUTH2
        ]

    def routes(self) -> list[Route]:
        """For the listener of the gateway's pages."""
        return self.dialogs.routes()

    def reset(self) -> None:
        """Close open pages; the vault is reset separately."""
        self.tickets.clear()
