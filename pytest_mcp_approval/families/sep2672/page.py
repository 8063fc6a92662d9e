"""What a person does on the page that people enrol and approve on: press, fill, read.

    driver = PageDriver(approval_page, "http://localhost:3000/", PageDescription())
    driver.open()
    driver.enrol()
    driver.ask("place_trade", {"symbol": "AAPL", "quantity": 10})
    if driver.await_review():
        driver.approve()
    print(driver.outcome())

For a page that a table cannot describe, make a subclass and return it from your own fixture
`approval_page_driver`. Knows no messages between page and server, and no verdicts.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ...browser.deadlines import answering_within
from ...config.settings import PREFIX, SettingsError
from ...support.text import neutralise
from ...target import Target
from ..base.driver import DriverError
from ..base.people import in_words, script_in
from .page_description import TABLE, PageDescription
from .settings import settings_of

if TYPE_CHECKING:
    from playwright.sync_api import JSHandle, Locator

    from ...browser.pages import ApprovalPage

NO_PAGE = f"the server has no page to test: {PREFIX}page=URL"
PATIENCE = 10.0
"""Seconds that a page gets for one step."""
_LONGEST_OUTCOME = 20_000
_TEXTS = "(all, longest) => all.slice(0, 1).map(one => (one.innerText ?? '').slice(0, longest))"
_KINDS = "all => all.slice(0, 9).map(one => `${one.localName}:${one.type ?? ''}`)"
_TAKEN_AS_BEFORE = ("a:", "button:", "input:checkbox", "input:radio", "select:", "textarea:")
"""Kinds that need not be looked at before each use: a list, a box or a field that is another sort
now refuses what is done to it, and buttons do not become lists."""
_script = partial(script_in, Path(__file__).with_name("page_scripts.js"))


class PageError(DriverError):
    """The page is not as described; one line says which entry, where, and what was there."""


@dataclass
class PageMemory:
    """What earlier tests learned about a page: a wrong description is waited for only once."""

    found: set[str] = field(default_factory=set)
    """Entries that were ever seen."""
    kinds: dict[str, str] = field(default_factory=dict)
    """By selector: the kind of the element that was used there last."""
    problem: str = ""
    """The line about one that was never seen."""


@dataclass(frozen=True)
class ShownText:
    """A text as the page shows it."""

    content: str
    """Of the document."""
    rendered: str
    """As rendered, with the white space and the letter case that the styles leave."""
    cut: bool
    """Whether a part of it is out of reach, even by scrolling."""
    too_small: bool
    """Whether it is there but cannot be seen."""


class PageDriver:
    """The person's hands and eyes. Each method is one step, and may be overridden alone."""

    def __init__(
        self,
        approval_page: ApprovalPage,
        url: str,
        description: PageDescription | None = None,
        *,
        patience: float = PATIENCE,
        memory: PageMemory | None = None,
    ) -> None:
        self.approval_page = approval_page
        self.page = approval_page.page
        self.url = url
        self.description = description or PageDescription()
        self.patience = patience
        self.memory = memory or PageMemory()
        self._stale: JSHandle | None = None
        """Watches what the page said about an earlier call, while that is still shown."""

    # ---- what a person does

    def open(self) -> None:
        """Go to the page, and wait until it can be used."""
        if self.memory.problem:
            raise PageError(self.memory.problem)
        with self._in_words("the page"):
            self.approval_page.goto(self.url, timeout=self.patience)
        for selector in self.description.entry("ready"):
            self._locate("ready", selector, state="attached")

    def enrol(self) -> str:
        """Enrol a passkey; returns what the page says."""
        self._note_stale("enrolled")
        self._press("enrol")
        return self._await_text("enrolled")

    def choose(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Choose a tool, and give it arguments."""
        self._press("tool", tool=tool)
        if self.description.argument:
            for name, value in arguments.items():
                text = value if isinstance(value, str) else json.dumps(value)
                self._fill("argument", text, name, tool=tool, name=name)
        elif self.description.arguments:
            text = json.dumps(arguments, ensure_ascii=False)
            self._fill("arguments", text, tool, tool=tool)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Ask for a call that needs approval."""
        self._send("ask", tool, arguments)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Call a tool that needs no approval."""
        self._send("call", tool, arguments)

    def approve(self) -> None:
        """Agree to what is shown: the browser asks for a passkey then."""
        self._press("approve")

    def decline(self) -> None:
        self._press("decline")

    # ---- what a person sees

    def await_review(self) -> bool:
        """Wait for the review; False if the page says what became of the call instead."""
        is_open = False

        def came() -> bool:
            nonlocal is_open
            is_open = self.review_is_open()
            return is_open or self._fresh("outcome") is not None

        self._wait(came, "display-text")
        return is_open or self.review_is_open()

    def review_is_open(self) -> bool:
        """Whether a text to approve can be seen now."""
        return self._visible("display-text") is not None

    def display_text(self) -> ShownText:
        """The text that is to be approved, as it is shown."""
        place, _ = self._locate("display-text", self.description.entry("display-text")[-1])
        with self._in_words("display-text"), self._answering():
            return ShownText(**place.evaluate(_script("shown")))

    def outcome(self) -> str:
        """Wait until the page says what became of the call; what it says."""
        return self._await_text("outcome")

    def says_now(self, key: str) -> str:
        """What `outcome` or `enrolled` shows now, whether the page is done or not."""
        return (self._visible(key) or "").strip()

    def text(self) -> str:
        with self._in_words("the page"):
            return self._text_at(self.page.locator("body")) or ""

    # ---- how it is done

    def _answering(self) -> AbstractContextManager[None]:
        """For scripts in the page. Never in less time: a page that is slow is not closed."""
        return answering_within(self.page, max(PATIENCE, self.patience))

    def _send(self, key: str, tool: str, arguments: Mapping[str, Any]) -> None:
        self.choose(tool, arguments)
        self._note_stale("outcome")
        self._press(key, tool=tool)

    def _press(self, key: str, **named: str) -> None:
        for selector in self.description.entry(key, **named):
            self._use(key, selector, named.get("tool", ""))

    def _fill(self, key: str, text: str, choice: str, **named: str) -> None:
        """The last element of the entry is filled, those before it are pressed."""
        *before, field = self.description.entry(key, **named)
        for selector in before:
            self._use(key, selector, choice)
        self._use(key, field, text, fill=True)

    def _use(self, key: str, selector: str, text: str, *, fill: bool = False) -> None:
        """Choose the text in a list; fill any other field with it, tick a box or press a button."""
        from playwright.sync_api import Error

        place = self.page.locator(selector).filter(visible=True)
        known = self.memory.kinds.get(selector)
        kind = known if known is not None else self._locate(key, selector)[1]
        with self._in_words(key, selector):
            try:
                self._act(place, kind, text, fill=fill)
            except Error:
                kinds = [kind] if known is None else self._kinds_of(place)
                if len(kinds) != 1:
                    raise self._missing(key, selector, len(kinds)) from None
                if kinds[0] == kind:
                    raise
                kind = str(kinds[0])  # nothing was done yet: it is another sort of field now
                self._act(place, kind, text, fill=fill)
        if kind.startswith(_TAKEN_AS_BEFORE):
            self.memory.kinds[selector] = kind

    def _act(self, place: Locator, kind: str, text: str, *, fill: bool) -> None:
        patience = 1000 * self.patience
        if kind.startswith("select:"):
            place.select_option(text, timeout=patience)
        elif fill:
            place.fill(text, timeout=patience)
        elif kind in ("input:checkbox", "input:radio"):
            place.check(timeout=patience)
        else:
            place.click(timeout=patience)

    def _locate(self, key: str, selector: str, *, state: Any = "visible") -> tuple[Locator, str]:
        """The one element of an entry, and its kind; `PageError` if it is missing or there
        twice."""
        from playwright.sync_api import Error, TimeoutError

        places = self.page.locator(selector)
        if state == "visible":
            places = places.filter(visible=True)
        try:
            kinds = self._kinds_of(places)
            if not kinds:
                places.first.wait_for(state=state, timeout=1000 * self.patience)
                kinds = self._kinds_of(places)
        except TimeoutError:
            kinds = []
        except Error as error:
            raise PageError(
                f"[sep2672.{TABLE}] {key}: got {selector!r}, expected a selector that Playwright "
                f"can read: {neutralise(str(error).splitlines()[0], 200)}"
            ) from None
        if len(kinds) != 1:
            raise self._missing(key, selector, len(kinds))
        self.memory.found.add(key)
        return places, str(kinds[0])

    def _kinds_of(self, places: Locator) -> list[Any]:
        with self._answering():
            kinds: list[Any] = places.evaluate_all(_KINDS)
        return kinds

    def _missing(self, key: str, selector: str, count: int) -> PageError:
        amount = "nothing" if not count else f"{count} elements"
        there = ", ".join(neutralise(str(one), 60) for one in self.what_is_there()) or "nothing"
        line = (
            f"[sep2672.{TABLE}] {key}: got {amount} for {selector!r} on "
            f"{neutralise(self.page.url, 100)}, expected one element; there is: {there}"
        )
        if key not in self.memory.found:
            self.memory.problem = line
        return PageError(line)

    def what_is_there(self) -> list[str]:
        """For the author of a description: what can be pressed, filled and read on the page."""
        from playwright.sync_api import Error

        try:
            with self._answering():
                found = self.page.evaluate(_script("there"))
        except Error:
            return []
        return [str(one) for one in found]

    def _text_at(self, place: Locator) -> str | None:
        with self._answering():
            texts = place.evaluate_all(_TEXTS, _LONGEST_OUTCOME)
        return str(texts[0]) if texts else None

    def _seen(self, key: str) -> Locator:
        """Where an entry can be seen now."""
        return self.page.locator(self.description.entry(key)[-1]).filter(visible=True)

    def _visible(self, key: str) -> str | None:
        """The text of an entry that can be seen now, None if it cannot."""
        from playwright.sync_api import Error

        try:
            text = self._text_at(self._seen(key))
        except Error:  # the document is just being replaced
            return None
        if text is not None:
            self.memory.found.add(key)
        return text

    def _note_stale(self, key: str) -> None:
        """What is shown now is not the result of the next step, until it changes."""
        from playwright.sync_api import Error

        self._stale = None
        if self._visible(key) is not None:
            with contextlib.suppress(Error), self._answering():  # it is just being replaced
                self._stale = self._seen(key).first.evaluate_handle(_script("watched"))

    def _is_stale(self) -> bool:
        from playwright.sync_api import Error

        if self._stale is None:
            return False
        with contextlib.suppress(Error), self._answering():  # the document is another one
            if not self._stale.evaluate("watched => watched.touched || !watched.place.isConnected"):
                return True
        self._stale = None
        return False

    def _fresh(self, key: str) -> str | None:
        """What the page says now, unless it is what it said before this was asked."""
        # In this order: only what is read after the work has ended is its result.
        if self.description.busy and self._visible("busy") is not None:
            return None
        if self._is_stale():
            return None
        text = self._visible(key)
        return text if text and text.strip() else None

    def _await_text(self, key: str) -> str:
        said: str | None = None

        def came() -> bool:
            nonlocal said
            said = self._fresh(key)
            return said is not None

        self._wait(came, key)
        return said.strip() if said is not None else self.says_now(key)

    def _wait(self, condition: Callable[[], bool], key: str) -> None:
        from ...browser.errors import BrowserError

        try:
            self.approval_page.until(condition, key, timeout=self.patience)
        except BrowserError:
            self.approval_page.check()  # if the harness failed, the page is not to blame
            if not self._visible(key):
                raise self._missing(key, self.description.entry(key)[-1], 0) from None

    def _in_words(self, key: str, selector: str = "") -> AbstractContextManager[None]:
        """Turns what Playwright says into one line about the page."""
        what = f"[sep2672.{TABLE}] {key}: {selector!r}" if selector else key
        return in_words(f"{what} on {neutralise(self.url, 100)}", PageError, 300)


def driver_for(approval_page: ApprovalPage, target: Target) -> PageDriver:
    """The driver of a target's page."""
    url = target.page()
    if url is None:
        pytest.skip(NO_PAGE)
    try:
        description = settings_of(target).page
    except SettingsError as error:
        raise PageError(str(error)) from None
    memory: PageMemory = target.remembered.setdefault("page", PageMemory())
    patience = max(PATIENCE, target.settings.timeout)
    return PageDriver(approval_page, url, description, patience=patience, memory=memory)
