"""The pages on which a person gives the gateway access to an app: dialogs, and OAuth's redirects.

A dialog asks for one thing at a time, and never shows what was typed. A form has a secret that can
be used once, and the browser a cookie. Knows no rule of any way in: it asks the ways.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import AuthType
from ...server import pages
from ...server.secret_text import same
from ..descriptors import App
from ..http_client import SendingError
from ..log import logger
from ..open_questions import LIFE, OpenQuestion, OpenQuestions, new_secret
from ..vault import VaultError
from .flows import FlowError
from .oauth2 import CALLBACK, COOKIE, OAuth2, Return, cookie_name
from .ways import DialogStep, NotAcceptedError, TypedWay, WayIn, settings_of, text_setting

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PATH = "/authorise"
VALUE_MEMBER = "value"
OK, CANCEL = "ok", "cancel"
DIALOG_COOKIE = "gateway_authorise"
_SECONDS = int(LIFE.total_seconds())
_MOST_FORMS = 8


@dataclass(eq=False)
class Ticket(OpenQuestion):
    """An invitation to give the gateway access to an app, for one caller."""

    consented: Sequence[str] = ()
    values: dict[str, str] = field(default_factory=dict, repr=False)
    """The values of earlier steps of the dialog."""
    forms: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_FORMS), repr=False)
    """A secret for each form that was shown but not sent yet."""

    def new_form(self) -> str:
        form = new_secret()
        self.forms.append(form)
        return form

    def take_form(self, given: str) -> bool:
        """Whether the form was shown for this ticket, and is sent for the first time."""
        try:
            self.forms.remove(given)  # one step: only one of several at once succeeds
        except ValueError:
            return False
        return True


class Dialogs:
    """`apps` are the apps of the tickets, with their addresses filled in."""

    def __init__(
        self,
        tickets: OpenQuestions[Ticket],
        ways: Mapping[AuthType, WayIn],
        apps: Callable[[], Mapping[str, App]],
    ) -> None:
        self.tickets = tickets
        self.ways = ways
        self.apps = apps

    def routes(self) -> list[Route]:
        from starlette.routing import Route

        where = f"{PATH}/{{id}}"
        return [
            Route(where, self.show, methods=["GET"]),
            Route(where, self.take, methods=["POST"]),
            Route(f"{CALLBACK}/{{place}}", self.come_back, methods=["GET"]),
        ]

    def path(self, ticket: Ticket) -> str:
        return f"{PATH}/{ticket.id}"

    def _found(self, request: Request) -> tuple[Ticket, App, WayIn] | None:
        ticket = self.tickets.find(request.path_params["id"])
        app = self.apps().get(ticket.app_id) if ticket else None
        if ticket is None or app is None or app.auth is None:
            return None
        return ticket, app, self.ways[app.auth.type]

    # ---- showing

    async def show(self, request: Request) -> Response:
        import anyio.to_thread

        found = await anyio.to_thread.run_sync(self._found, request)
        if found is None:
            return _not_open()
        ticket, app, way = found
        if isinstance(way, OAuth2):
            return await self.leave(way, app, ticket)
        assert isinstance(way, TypedWay)
        return self.dialog(ticket, app, self.next_step(way, app, ticket))

    def next_step(self, way: TypedWay, app: App, ticket: Ticket) -> DialogStep:
        steps = way.steps(app)
        return next((step for step in steps if step.member not in ticket.values), steps[-1])

    def dialog(self, ticket: Ticket, app: App, step: DialogStep, wrong: str = "") -> Response:
        name = pages.shown_shortly(app.name)
        told = f'<p class="warning" role="alert">{pages.shown(wrong)}</p>\n' if wrong else ""
        body = (
            f"<h1>{name}: {escape(step.label)}</h1>\n"
            f"<p>Enter the {escape(step.label)} for {name}, so that the gateway can use the app "
            f"for {pages.shown_shortly(ticket.caller)}.</p>\n"
            f"{self.instructions(app)}{told}{self.form(ticket, app, step)}"
        )
        answer = pages.page("Access to an app", body, 400 if wrong else 200)
        answer.set_cookie(
            DIALOG_COOKIE,
            ticket.cookie,
            max_age=_SECONDS,
            path=self.path(ticket),
            httponly=True,
            samesite="strict",
        )
        return answer

    def instructions(self, app: App) -> str:
        """The app's own words."""
        given = settings_of(app).get("instructions")
        text = given.get("short") if isinstance(given, Mapping) else given
        rows = [pages.field("The app says", text)] if isinstance(text, str) and text else []
        if login := text_setting(app, "loginUrl"):
            rows.append(pages.field("Log in at", login))
        return f"<dl>{''.join(rows)}</dl>\n" if rows else ""

    def form(self, ticket: Ticket, app: App, step: DialogStep) -> str:
        hint = f'<p class="note" id="hint">{pages.shown(step.hint)}</p>\n' if step.hint else ""
        described = ' aria-describedby="hint"' if hint else ""
        return (
            f'<form method="post" action="{self.path(ticket)}" autocomplete="off">\n'
            f"{pages.hidden(words.CSRF_MEMBER, ticket.new_form())}\n"
            f'<label class="entry" for="value">{escape(step.label)}</label>\n'
            f'<input id="value" type="{"password" if step.secret else "text"}" '
            f'name="{VALUE_MEMBER}" autocomplete="off" autocapitalize="off" spellcheck="false" '
            f"autofocus{described}>\n{hint}"
            '<div class="buttons">\n'
            f'<button class="go" name="{words.CHOICE_MEMBER}" value="{OK}">OK</button>\n'
            f'<button class="stop" name="{words.CHOICE_MEMBER}" value="{CANCEL}">Cancel</button>\n'
            f"{_help(app)}</div></form>"
        )

    # ---- taking

    async def take(self, request: Request) -> Response:
        import anyio.to_thread

        found = await anyio.to_thread.run_sync(self._found, request)
        if found is None:
            return _not_open()
        ticket, app, way = found
        if not isinstance(way, TypedWay):
            return _not_open()
        try:
            members = await pages.read_form(request)
            self.check_sender(ticket, members, request.cookies)
        except pages.FormError as error:
            return pages.message("Nothing was kept", str(error), 400)
        if members.get(words.CHOICE_MEMBER) != OK:
            self.tickets.take(ticket.id)
            return pages.message("Cancelled", "Nothing was kept. You can close this page.")
        return await anyio.to_thread.run_sync(
            partial(self.accept, ticket, app, way, members.get(VALUE_MEMBER, ""))
        )

    def check_sender(
        self, ticket: Ticket, members: Mapping[str, str], cookies: Mapping[str, str]
    ) -> None:
        """The form belongs to this page, was shown to this browser, and is sent once."""
        if not same(cookies.get(DIALOG_COOKIE), ticket.cookie):
            raise pages.FormError("This browser has not been shown this page (is a cookie lost?).")
        if not ticket.take_form(members.get(words.CSRF_MEMBER, "")):
            raise pages.FormError("This form does not belong to this page, or was sent before.")

    def accept(self, ticket: Ticket, app: App, way: TypedWay, value: str) -> Response:
        from starlette.responses import RedirectResponse

        step = self.next_step(way, app, ticket)
        try:
            ticket.values[step.member] = way.check(app, step, value)
            if len(ticket.values) < len(way.steps(app)):
                return RedirectResponse(self.path(ticket), 303, pages.HEADERS)
            values, ticket.values = ticket.values, {}
            way.keep(app, ticket.caller, values)
        except NotAcceptedError as error:
            return self.dialog(ticket, app, self.next_step(way, app, ticket), str(error))
        except VaultError:
            logger.exception("a credential could not be kept")
            return pages.message("Nothing was kept", "It could not be kept safely.", 500)
        self.tickets.take(ticket.id)
        return _done()

    # ---- OAuth: there and back

    async def leave(self, way: OAuth2, app: App, ticket: Ticket) -> Response:
        import anyio.to_thread
        from starlette.responses import RedirectResponse

        try:
            start = await anyio.to_thread.run_sync(way.start, app, ticket.caller, ticket.consented)
        except (SendingError, VaultError):
            logger.exception("an authorisation could not be started")
            return pages.message("This app cannot be asked", "Its description is incomplete.", 502)
        answer = RedirectResponse(start.location, 302, pages.HEADERS)
        answer.set_cookie(
            start.cookie_name,
            start.cookie,
            max_age=_SECONDS,
            path=urlsplit(way.redirect_uri(app)).path,
            httponly=True,
            samesite="lax",  # the browser comes back from the app's page
        )
        return answer

    async def come_back(self, request: Request) -> Response:
        """In any case the browser's cookie is no longer needed."""
        answer = await self.taken_back(request)
        name = cookie_name(request.query_params.get("state", ""))
        if name in request.cookies:
            answer.delete_cookie(name, path=request.url.path, httponly=True, samesite="lax")
        return answer

    async def taken_back(self, request: Request) -> Response:
        import anyio.to_thread

        way = self.ways[AuthType.OAUTH2]
        assert isinstance(way, OAuth2)
        pairs = request.query_params.multi_items()
        if len(dict(pairs)) != len(pairs):
            return pages.message("No access", "This answer says something twice.", 400)
        back = Return(
            request.path_params["place"],
            dict(pairs),
            [value for name, value in request.cookies.items() if name.startswith(COOKIE)],
        )
        try:
            flow = await anyio.to_thread.run_sync(lambda: way.finish(back, self.apps()))
        except FlowError as error:
            return pages.message("No access", str(error), 400)
        except VaultError:
            logger.exception("a token could not be kept")
            return pages.message("No access", "The token could not be kept safely.", 500)
        self.tickets.drop(flow.caller, flow.app_id)
        return _done()


def _help(app: App) -> str:
    """The descriptor's link, if it leads to a page."""
    given: Any = settings_of(app).get("instructions")
    url = given.get("helpUrl") if isinstance(given, Mapping) else None
    url = url or text_setting(app, "obtainUrl") or text_setting(app, "loginUrl")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return ""
    return (
        f'<a class="button" href="{escape(url)}" target="_blank" rel="noopener noreferrer">Help</a>'
    )


def _done() -> Response:
    return pages.message(
        "The gateway has access", "The agent can go on now. You can close this page."
    )


def _not_open() -> Response:
    return pages.message(
        "Nothing is asked here",
        "It was answered, or is too old. If the client still needs the app, it asks again.",
        404,
    )
