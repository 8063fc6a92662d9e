"""The model of the way back from an app's own page: an answer is taken once, and only if it answers
what the gateway asked.

The browser is held at the suite's app, so that it can come back with an answer of any kind. Whether
the gateway takes the honest answer after a wrong one is left open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...catalogue import Grade
from ...target import Target
from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, Exercised, one_of, transition, which
from ..base.form_client import FormClient
from ..base.people import form_client_for
from .exploration_apps import TOLD_TOOLS, AppsModel, app_of
from .settings import SafeTool

CALLBACK = "oauth-callback"
_OAUTH = ("oauth", "other-oauth")
_MOST = 4
_WRONG: Mapping[str, Mapping[str, str | None]] = {
    "without its state": {"state": None},
    "with an empty state": {"state": ""},
    "with another state": {"state": "0" * 43},
    "with a refusal": {"code": None, "error": "access_denied"},
}


@dataclass
class BrowserAtApp:
    """A browser that the gateway sent to an app, and what it asked there."""

    client: int
    tool: SafeTool
    asked: Mapping[str, str]
    browser: FormClient
    answered: bool = False


class OAuthModel(AppsModel):
    """Browsers on their way to an app and back."""

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.browsers: list[BrowserAtApp] = []

    def _oauth_tools(self) -> list[SafeTool]:
        return [one for one in self.app_tools if app_of(one) in _OAUTH]

    @property
    def can_go_to_app(self) -> bool:
        return len(self.browsers) < _MOST and bool(self._oauth_tools())

    @property
    def has_browser(self) -> bool:
        return bool(self.browsers)

    @transition(
        "a browser goes to the app's own page",
        when="can_go_to_app",
        rules=(TOLD_TOOLS,),
        client=which(1),
        tool=which(3),
    )
    def go_to_app(self, client: int, tool: int) -> None:
        """If the client needs to: it may have been denied the tool, or be there already."""
        self._send_to_app(client, self.pick(self._oauth_tools(), tool))

    def _send_to_app(self, client: int, tool: SafeTool) -> None:
        stand = self.until_needed(client, tool)
        needed, stand.needed = stand.needed, None
        if needed is None or not needed.auth_url:
            return
        before = self.seen_by_apps()
        browser = form_client_for(self.driver.target)
        self.double.holds = True
        try:
            browser.get(needed.auth_url)
        except DriverError as error:
            raise EndOfWalk(f"nobody could go to the app: {error}") from error
        finally:
            self.double.holds = False
        asked = [
            one
            for one in self.look_at_apps(before)
            if one.path.startswith(f"/{app_of(tool)}/authorize") and "redirectUri" in one.form
        ]
        if not asked:
            raise EndOfWalk("authUrl did not lead to the app's authorisation end point")
        self.browsers.append(BrowserAtApp(client, tool, asked[-1].form, browser))
        self.say(f"client {client + 1} is sent to {app_of(tool)}", f"browser {len(self.browsers)}")
        self.compare_tools(client, tool, asked[-1])

    @transition(
        "a browser comes back from the app",
        when="has_browser",
        rules=(CALLBACK,),
        weight=2,
        number=which(),
        how=one_of("as asked", *_WRONG),
    )
    def come_back(self, number: int, how: str) -> None:
        """A second answer to the same request is none, whatever it says."""
        chosen: BrowserAtApp = self.pick(self.browsers[::-1], number)
        app = app_of(chosen.tool)
        words = f"browser {self.browsers.index(chosen) + 1} comes back {how}"
        words += ", once more" if chosen.answered else ""
        let_in = app in self.entered
        before = len(self._exchanges(app))
        # A copy keeps what the gateway removes from the browser.
        browser = chosen.browser.copy()
        self.say(words)
        try:
            browser.get(self.double.way_back(chosen.asked, **_WRONG.get(how, {})))
        except DriverError as error:
            raise EndOfWalk(f"nobody could come back: {error}") from error
        exchanged = len(self._exchanges(app)) - before
        self.checked(CALLBACK)
        if chosen.answered and exchanged:
            raise self._taken(words, "a second answer is taken", f"{exchanged} code(s) redeemed")
        if how == "as asked" and not chosen.answered:
            chosen.answered = True
            self.enter(chosen.client, app)
            return
        if let_in:
            return
        outcome = self.client(chosen.client).call(chosen.tool)
        self.answered(outcome.reply)
        self.say(words, outcome.describe())
        stand = self.stand(chosen.client, chosen.tool)
        stand.asked = outcome if outcome.needs_consent else None
        self.no_longer_once()
        if outcome.succeeded or outcome.executed:
            raise self._taken(words, f"an answer {how} is taken", outcome.describe())

    def _exchanges(self, app: str) -> list[Any]:
        return self.double.seen(app, f"/{app}/oauth/token")

    def _taken(self, sent: str, cause: str, got: str) -> Exception:
        return self.broken(
            CALLBACK, cause, sent=sent, expected="no access to the app", got=got, grade=Grade.RAN
        )

    def forget_entries(self) -> None:
        super().forget_entries()
        self.browsers = []
