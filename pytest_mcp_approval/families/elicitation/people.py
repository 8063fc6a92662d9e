"""Who is at the page of a question in url mode: by plain forms, in a browser, or by a hook.

The page knows the person by their own login (headers or a cookie), not by the address: so somebody
else is a person with another login, or with none. Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ...config.settings import SettingsError
from ...config.user_code import imported
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from ..base.form_client import FetchedPage, FormClient, FormClientError, check_address
from ..base.people import Told, form_client_for, hosts_of, in_words, told_function, told_hook
from .settings import BROWSER, HOOK, PYTHON, PersonAtPage
from .vocabulary import FAMILY

if TYPE_CHECKING:
    from .outcome import AskedQuestion


_NO_BUTTON = (
    f"if it is named differently: approve-button in [{FAMILY}.person]; if the page does not know "
    "the person: headers there"
)


class PersonForUrl(Protocol):
    """Decides at the page that a question names."""

    def approve(self, question: AskedQuestion) -> None: ...

    def decline(self, question: AskedQuestion) -> None: ...


@dataclass(frozen=True)
class FormPerson:
    """Opens the page, and presses a button."""

    target: Target
    person: PersonAtPage
    headers: Mapping[str, str]

    def client(self) -> FormClient:
        return form_client_for(self.target, self.headers)

    def open(self, url: str) -> tuple[FormClient, FetchedPage]:
        client = self.client()
        return client, client.get(url)

    def approve(self, question: AskedQuestion) -> None:
        self._press(question.url, self.person.approve_button)

    def decline(self, question: AskedQuestion) -> None:
        self._press(question.url, self.person.decline_button)

    def try_to_approve(self, url: str) -> str:
        """Whatever this person can do there to approve; what came of it, in words."""
        client, page = self.open(url)
        pressed = self.person.approve_button
        form = next((one for one in page.forms() if one.button(pressed)), None)
        if form is None:
            return f"{page.describe()}, without a button {pressed!r}"
        return f"pressed {pressed!r}: {client.submit(page, form, form.button(pressed)).describe()}"

    def press_at(self, url: str) -> None:
        """Send the form that an address shows to that very address, whatever the form says."""
        client, page = self.open(url)
        form = page.form_with(self.person.approve_button, _NO_BUTTON)
        form.action = url
        client.submit(page, form, form.button(self.person.approve_button))

    def _press(self, url: str, button: str) -> None:
        client, page = self.open(url)
        form = page.form_with(button, _NO_BUTTON)
        done = client.submit(page, form, form.button(button))
        if done.status >= 400:
            raise FormClientError(f"the decision on the page was not taken: {done.describe()}")


@dataclass(frozen=True)
class HookPerson:
    """Tells the user's hook what the person does, as JSON."""

    tell: Told

    def approve(self, question: AskedQuestion) -> None:
        self._decide(question, "approve")

    def decline(self, question: AskedQuestion) -> None:
        self._decide(question, "decline")

    def _decide(self, question: AskedQuestion, decision: str) -> None:
        self.tell(
            {
                "do": "decide",
                "decision": decision,
                "tool": question.tool.name,
                "url": question.url,
                "message": question.message,
                "elicitationId": question.elicitation_id,
            }
        )


@dataclass(frozen=True)
class BrowserFormPerson:
    """The same at the page in a real browser; `page` is Playwright's."""

    page: Any
    target: Target
    person: PersonAtPage

    def approve(self, question: AskedQuestion) -> None:
        self._press(question.url, self.person.approve_button)

    def decline(self, question: AskedQuestion) -> None:
        self._press(question.url, self.person.decline_button)

    def _press(self, url: str, button: str) -> None:
        check_address(url, hosts_of(self.target))
        headers = dict(self.person.headers or self.target.settings.headers)
        with in_words(neutralise(url, 80), FormClientError):
            self.page.set_extra_http_headers(headers)
            self.page.goto(url)
            self.page.get_by_role("button", name=button, exact=True).click()
            self.page.wait_for_load_state("networkidle")


def person_for(target: Target, person: PersonAtPage) -> PersonForUrl:
    """Who the user's table says is there. A person at a browser needs one: see the fixtures."""
    settings = target.settings
    if person.who.startswith(HOOK):
        return HookPerson(told_hook(person.who[len(HOOK) :], settings.timeout, settings.directory))
    if person.who.startswith(PYTHON):
        name = person.who[len(PYTHON) :]
        function = imported(f"[{FAMILY}.person] who", name, settings.directory)
        if not callable(function):
            raise SettingsError(f"[{FAMILY}.person] who: {name} cannot be called")
        return HookPerson(told_function(function))
    if person.who == BROWSER:
        return _NobodyYet()
    return FormPerson(target, person, person.headers or settings.headers)


class _NobodyYet:
    """A browser is opened for scenarios only."""

    def approve(self, question: AskedQuestion) -> None:
        raise DriverError(f"{neutralise(question.url, 60)}: no browser is open yet")

    decline = approve
