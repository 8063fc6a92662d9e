"""A client that is a web page, for a person who knows terminals: what it shows, and what to press.

A thread of its own has the browser, one for all checks of a run, and a page in a new context for
each client. Whenever the page waits for its person, the text that it shows is added to the screen,
with the words that `Person` waits for. What the page shows in between is left out. Its passkeys are
the suite's authenticator; what it opens is noted and not fetched. Knows no family.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..browser.deadlines import answering_within
from ..browser.errors import BrowserError
from ..browser.finding import find_browser
from ..browser.starting import launch, playwright_running
from ..config.client_description import ClientDescription
from ..support.deadline import now
from ..support.text import neutralise
from .messages import ClientError
from .news import News
from .terminal import Terminal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request, Route

_POLL = 0.04
_UNCHANGED = 1.0
"""Seconds after which a page that has not changed since something was pressed waits for more."""
_SECONDS = 10.0
_START_SECONDS = 60.0
_PASSKEYS = Path(__file__).with_name("web_passkeys.js")

Job = Callable[[], None]


class BrowserThread:
    """The browser, and whichever page is looked at."""

    def __init__(self, named: str | None) -> None:
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._named = named
        self.browser: Browser | None = None
        self.current: WebTerminal | None = None
        self._problem = ""
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mcp-approval pages", daemon=True)
        self._thread.start()
        self._started.wait(_START_SECONDS)
        if self.browser is None:
            raise ClientError(f"the page needs a browser: {self._problem or 'it does not start'}")

    def do(self, job: Job) -> None:
        """Have something done with the page, later and in its own thread."""
        self._jobs.put(job)

    def wait_for(self, job: Job) -> None:
        done = threading.Event()
        failed: list[Exception] = []

        def run() -> None:
            try:
                job()
            except Exception as error:  # told to whoever waits
                failed.append(error)
            finally:
                done.set()

        self._jobs.put(run)
        if not done.wait(_START_SECONDS):
            raise ClientError("the browser does not answer")
        if failed:
            raise ClientError(neutralise(str(failed[0]), 300)) from failed[0]

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join(_SECONDS)

    def _run(self) -> None:
        try:
            path = find_browser(self._named)
            with playwright_running() as playwright:
                self.browser = launch(playwright, path)
                self._started.set()
                self._work()
                self.browser.close()
        except Exception as error:  # there is nobody else to tell
            self._problem = neutralise(str(error), 300)
        finally:
            self._started.set()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_POLL)
            except queue.Empty:
                self._look()
                continue
            if job is None:
                return
            job()
            self._look()

    def _look(self) -> None:
        if self.current is not None:
            self.current.look()


class WebTerminal(Terminal):
    """One page. Its methods are called by the person, all that touches the page by the thread."""

    def __init__(
        self,
        thread: BrowserThread,
        description: ClientDescription,
        news: News,
        *,
        url: str,
        authenticator: str,
        opened: Path,
    ) -> None:
        super().__init__(news)
        self._thread, self._description, self._there = thread, description, description.page
        self._opened = opened
        self._fields: Sequence[str] = ()
        self._filled: set[str] = set()
        self._last: object = None
        self._acted_at = 0.0
        self._page: Page | None = None
        address = (self._there.url or "").replace("{url}", quote(url, safe=""))
        thread.wait_for(lambda: self._open(address, authenticator))

    # ---- what the person does

    def call(self, line: str, tool: str, arguments: str) -> None:  # noqa: ARG002
        def act(page: Page) -> None:
            chosen = page.locator(self._there.tool)
            if chosen.evaluate("one => one.tagName") == "SELECT":
                chosen.select_option(tool)
            else:
                chosen.fill(tool)
            page.locator(self._there.arguments).fill(arguments)
            page.locator(self._there.call).click()

        self._act(act)

    def type(self, text: str) -> None:
        """What a person would type in a terminal has a button here."""
        told, there = self._description, self._there
        buttons = {
            told.cancel: there.cancel,
            told.decline: there.decline,
            told.agree: there.agree,
            told.enroll: there.enroll,
        }
        selector = buttons.get(text)
        if not selector:
            raise ClientError(f"the page has nothing to press for {text!r}")
        self._filled.clear()
        self._act(lambda page: page.locator(selector).click())

    def fill(self, name: str, text: str) -> None:
        def act(page: Page) -> None:
            field = page.locator(self._there.field.replace("{name}", name))
            kind = field.evaluate("one => one.type || one.tagName.toLowerCase()")
            self._filled.add(name)
            if kind == "checkbox":
                field.set_checked(text == "true")
            elif kind == "select-one" and text:
                with suppress(Exception):  # what is not offered cannot be chosen
                    field.select_option(text, timeout=500)
            elif text:
                with suppress(Exception):  # a field for numbers takes no words
                    field.fill(text, timeout=500)

        self._act(act)

    def watch(self, fields: Sequence[str]) -> None:
        self._fields = tuple(fields)

    def close(self) -> None:
        def end() -> None:
            self._thread.current = None
            if self._page is not None:
                self._page.context.close()

        with suppress(ClientError):
            self._thread.wait_for(end)

    # ---- in the thread of the browser

    def look(self) -> None:
        """Add to the screen what the page shows, if it waits for its person."""
        if self._page is None or self.ended:
            return
        try:
            with answering_within(self._page, _SECONDS):
                markers = self._markers(self._page)
                text = str(self._page.evaluate("document.body.innerText"))
        except Exception:  # it is on its way to another page, or gone
            if self._page.is_closed():
                self._end()
            return
        state = (text, tuple(markers))
        unchanged = state == self._last and now() - self._acted_at < _UNCHANGED
        if not markers or unchanged or (state == self._last and not self._acted_at):
            return
        self._last, self._acted_at = state, 0.0
        self._show(f"{text}\n{''.join(markers)}\n")

    def _markers(self, page: Page) -> list[str]:
        """The words that the person waits for: the last one is what is to be answered first."""
        told, there = self._description, self._there
        found = [f"{told.ready}\n"] if _is_there(page, there.ready) else []
        if _is_there(page, there.agree):
            found.append(f"{told.decide[0]}\n")
            for name in self._fields:
                here = _is_there(page, there.field.replace("{name}", name))
                if here and name not in self._filled:
                    found.append(told.field.replace("{name}", name))
        return found

    def _open(self, address: str, authenticator: str) -> None:
        assert self._thread.browser is not None
        context = self._thread.browser.new_context()
        context.set_default_timeout(1000 * _SECONDS)
        script = _PASSKEYS.read_text(encoding="utf-8").replace("AUTHENTICATOR", authenticator)
        context.add_init_script(script)
        self._page = context.new_page()
        context.route("**/*", lambda route, request: self._note_opened(address, route, request))
        self._thread.current = self
        try:
            self._page.goto(address)
        except Exception as error:
            raise BrowserError(f"{address}: {error}") from None

    def _note_opened(self, address: str, route: Route, request: Request) -> None:
        """A page that is opened is the person's: it is noted, and shown empty."""
        if request.is_navigation_request() and not address.startswith(request.url.split("?")[0]):
            with self._opened.open("a", encoding="utf-8") as file:
                file.write(f"{request.url}\n")
            route.fulfill(status=200, content_type="text/html", body="<p>A page")
        else:
            route.continue_()

    def _act(self, act: Callable[[Page], Any]) -> None:
        page = self._page
        assert page is not None

        def run() -> None:
            self._acted_at = now()
            with suppress(Exception):  # a page that cannot be used so shows nothing new
                act(page)

        self._thread.do(run)


def _is_there(page: Page, selector: str) -> bool:
    found = page.locator(selector)
    return bool(found.count()) and found.first.is_visible() and found.first.is_enabled()
