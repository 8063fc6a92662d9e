"""Who decides: a person at the gateway's pages, or a stand-in that the user names.

By plain HTTP on pages without scripts, which is quick; in a real browser; or by the user's command,
URL or Python function, for gateways that ask in dialogs. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from ...config.settings import SettingsError
from ...config.user_code import imported
from ...support.deadline import Deadline
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from ..base.form_client import FetchedPage, Form, FormClientError, check_address
from ..base.people import Told, form_client_for, hosts_of, in_words, told_function, told_hook
from .outcome import GatewayOutcome
from .settings import HOOK, PYTHON, GatewayConsentTable, Words
from .vocabulary import APP_ID, FAMILY, TOOL, Choice

_MOST_STEPS = 5
_STEP, _SETTLING = 10.0, 300.0
"""Milliseconds between two looks, and for a page that may still navigate."""


class ConsentPerson(Protocol):
    """Answers the question of a `CONSENT_REQUIRED`."""

    def decide(self, asked: GatewayOutcome, choice: Choice, *, remember: bool) -> Any: ...


@dataclass(frozen=True)
class PagePerson:
    """Reads the page, ticks the box, presses the button."""

    target: Target
    words: Words

    def decide(self, asked: GatewayOutcome, choice: Choice, *, remember: bool) -> None:
        if not asked.consent_url:
            raise DriverError(f"there is no consentUrl to go to: {asked.describe()}", asked.reply)
        browser = form_client_for(self.target)
        page = browser.get(asked.consent_url)
        form = form_with(page, self.words.button(choice))
        box = form.box(self.words.remember)
        if box is None and remember:
            raise FormClientError(f"the page has no box {self.words.remember!r}")
        if box is not None:
            box.checked = remember
        done = browser.submit(page, form, form.button(self.words.button(choice)))
        if done.status >= 400:
            raise FormClientError(f"the decision was not taken: {done.describe()}")

    def type_in(self, auth_url: str, values: Sequence[str]) -> None:
        """Type each value into the one field of its dialog."""
        browser = form_client_for(self.target)
        page = browser.get(auth_url)
        for value in values:
            form = form_with(page, self.words.submit)
            fields = form.fields()
            if not fields:
                raise FormClientError(f"the dialog has no field to type into: {page.describe()}")
            fields[0].value = value
            page = browser.submit(page, form, form.button(self.words.submit))

    def let_in(self, auth_url: str) -> None:
        """Go through the app's own page and back, wherever the gateway leads."""
        browser = form_client_for(self.target)
        page = browser.get(auth_url)
        for _ in range(_MOST_STEPS):
            form = next((one for one in page.forms() if one.button(self.words.allow)), None)
            if form is None:
                return
            page = browser.submit(page, form, form.button(self.words.allow))
        raise FormClientError(f"asked for {self.words.allow!r} more than {_MOST_STEPS} times")


def form_with(page: FetchedPage, button: str) -> Form:
    return page.form_with(button, f"if it is named differently, say so in [{FAMILY}.page]")


LEAVE = "leave"
"""For a dialog: it is closed without an answer."""


@dataclass(frozen=True)
class Planned:
    """What a person does at the dialogs of the next call."""

    decision: str = LEAVE
    remember: bool = False
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToldPerson:
    """Tells the user's hook what a person does at the gateway's dialogs, as JSON.

    `decide`: answer the question that was asked. For a gateway that asks while the call waits:
    `attend`: what to do with a dialog of the next call, and `report`: which dialogs came up.
    `type`: what to type into a dialog that asks for a credential.
    """

    tell: Told

    def decide(self, asked: GatewayOutcome, choice: Choice, *, remember: bool) -> Any:
        return self.tell(
            {
                "do": "decide",
                "caller": asked.caller,
                "appId": asked.members.get(APP_ID, asked.app),
                "tool": asked.members.get(TOOL, asked.tool),
                "decision": choice.value,
                "remember": remember,
                "consentUrl": asked.consent_url,
            }
        )

    def attend(self, caller: str, app: str, tool: str, planned: Planned) -> None:
        self.tell(
            {
                "do": "attend",
                "caller": caller,
                "appId": app,
                "tool": tool,
                "decision": planned.decision,
                "remember": planned.remember,
                "values": list(planned.values),
            }
        )

    def report(self) -> tuple[Mapping[str, Any], ...]:
        found = self.tell({"do": "report"})
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            raise DriverError(
                "the hook for decisions, asked to report the dialogs: got "
                f"{neutralise(str(found), 80)}, expected a list of objects"
            )
        return tuple(found)

    def type_in(self, app: str, tool: str, auth_url: str, values: Sequence[str]) -> None:
        self.tell(
            {"do": "type", "appId": app, "tool": tool, "authUrl": auth_url, "values": list(values)}
        )


@dataclass(frozen=True)
class BrowserConsentPerson:
    """The same at the page in a real browser; `page` is Playwright's."""

    page: Any
    target: Target
    words: Words

    def decide(self, asked: GatewayOutcome, choice: Choice, *, remember: bool) -> None:
        go_to(self.page, asked.consent_url, self.target)
        self.press(choice, remember=remember)

    def press(self, choice: Choice, *, remember: bool) -> None:
        """On the page that is open."""
        with page_errors(self.page.url):
            box = self.page.get_by_role("checkbox", name=self.words.remember)
            if remember or box.count():
                box.set_checked(remember)
            button = self.page.get_by_role("button", name=self.words.button(choice), exact=True)
            self._until_it_is_told(button.click)

    def _until_it_is_told(self, press: Callable[[], None]) -> None:
        """Wait until the page navigates, or its script tells the gateway."""
        gone: list[Any] = []
        told: list[Any] = []

        def moved(frame: Any) -> None:
            gone.append(frame)

        def sent(request: Any) -> None:
            if request.resource_type in ("fetch", "xhr"):
                told.append(request)

        self.page.on("framenavigated", moved)
        self.page.on("requestfinished", sent)
        try:
            press()
            deadline = Deadline(self.target.settings.timeout)
            while not gone and not deadline.passed:
                self.page.wait_for_timeout(_SETTLING if told else _STEP)
                if told:
                    break
            if gone:
                self.page.wait_for_load_state()
        finally:
            self.page.remove_listener("framenavigated", moved)
            self.page.remove_listener("requestfinished", sent)
        if not gone and not told:
            raise FormClientError(f"nothing was sent from the page within {deadline.in_words}")


def told_person_for(target: Target, table: GatewayConsentTable) -> ToldPerson:
    settings = target.settings
    if not table.person.startswith(PYTHON):
        hook = table.person[len(HOOK) :]
        return ToldPerson(told_hook(hook, settings.timeout, settings.directory))
    name = table.person[len(PYTHON) :]
    function = imported(f"[{FAMILY}] person", name, settings.directory)
    if not callable(function):
        raise SettingsError(f"[{FAMILY}] person: {name} cannot be called")
    return ToldPerson(told_function(function))


def page_errors(url: str) -> AbstractContextManager[None]:
    """Turns a browser's error into one about the page."""
    return in_words(neutralise(url, 80), FormClientError)


def go_to(page: Any, url: str, target: Target) -> None:
    """Go to an address of the server under test: on loopback, or on its own host."""
    check_address(url, hosts_of(target))
    with page_errors(url):
        page.goto(url)
