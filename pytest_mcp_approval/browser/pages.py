"""A page as a test uses it: a context of its own, keys that are attached to it, what pages asked.

    with opened_page(browser) as approval_page:
        key = approval_page.key("icloud-keychain")
        approval_page.goto("http://localhost:3000/")
        approval_page.page.get_by_role("button", name="Enrol").click()
        assert key.prompts[0].kind == "create"

Knows nothing of pytest and of what the page is for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from virtual_authenticator import Profile, profile
from virtual_authenticator.cdp import losses

from .errors import BrowserError
from .keys import PATIENCE, Key
from .prompt_broker import PromptBroker
from .prompts import Prompt

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Response

KINDS = ("cdp", "bridge")


class ApprovalPage:
    """Playwright's page, and the person in front of it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self._broker = PromptBroker(context)
        self._keys: list[Key] = []
        self._broker.keys = self._keys
        self.page: Page = context.new_page()

    @property
    def keys(self) -> list[Key]:
        """All keys that were attached, in order."""
        return list(self._keys)

    @property
    def asked(self) -> list[Prompt]:
        """Every request of any page, frame or pop-up, also those that no key was asked for."""
        return list(self._broker.prompts)

    def key(
        self, shape: str | Profile = "security-key", *, kind: str | None = None, **changes: Any
    ) -> Key:
        """Attach an authenticator, and take it in hand.

        `shape` is a profile or a profile's name, `changes` are members of it as with
        virtual_authenticator's `Authenticator`. Without a `kind` it is `cdp` where Chromium can do
        the profile exactly, else `bridge`: `key.kind` says which.
        """
        chosen = shape.with_(**changes) if isinstance(shape, Profile) else profile(shape, **changes)
        engine = self._engine
        if kind is None:
            kind = "cdp" if engine == "chromium" and not losses(chosen) else "bridge"
        if kind not in KINDS:
            raise BrowserError(f"kind: got {kind!r}, expected one of {', '.join(KINDS)}")
        if kind == "cdp" and engine != "chromium":
            raise BrowserError(
                f"kind: got 'cdp' in {engine}, but only Chromium has it; use kind='bridge'"
            )
        made: Key
        if kind == "cdp":
            from .cdp import CdpKey

            made = CdpKey(chosen, self._broker)
        else:
            from .bridge import BridgeKey

            made = BridgeKey(chosen, self._broker)
        self._keys.append(made)
        made.hold()
        return made

    def goto(self, url: str, *, timeout: float = 3 * PATIENCE) -> Response | None:
        """Go to an address, within a deadline."""
        return self.page.goto(url, timeout=1000 * timeout)

    def until(
        self, condition: Callable[[], bool], what: str = "it", timeout: float = PATIENCE
    ) -> None:
        """Wait for a condition while the browser's events go on; at the deadline a BrowserError."""
        self._broker.until(condition, what, timeout)

    def check(self) -> None:
        """Raise what went wrong in the harness while pages asked."""
        self._broker.check()

    def close(self) -> None:
        """End what is open; the context is closed by whoever made it."""
        self._broker.close()

    @property
    def _engine(self) -> str:
        browser = self.context.browser
        return browser.browser_type.name if browser is not None else "chromium"


@contextmanager
def opened_page(browser: Browser, **options: Any) -> Iterator[ApprovalPage]:
    """A page in a context of its own, closed at the end; `options` are those of new_context."""
    context = browser.new_context(**options)
    try:
        context.set_default_timeout(1000 * PATIENCE)
        context.set_default_navigation_timeout(3000 * PATIENCE)
        opened = ApprovalPage(context)
        try:
            yield opened
        finally:
            opened.close()
        opened.check()
    finally:
        context.close()
