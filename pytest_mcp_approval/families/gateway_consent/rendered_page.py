"""What a person sees of a page, in a real browser: what is visible, in which order, what can be
reached, and whether text became markup.

Knows Playwright's page and no consent.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ...browser.deadlines import answering_within
from ...browser.keys import PATIENCE
from ...support.text import neutralise
from ...target import Target
from ..base.people import script_in
from .people import go_to, page_errors

MARK = "data-suite"
"""An attribute that no page has, unless a text of ours became an element."""
FLAG = "suiteInjected"
"""A global name that a script of ours sets if it runs."""

_script = partial(script_in, Path(__file__).with_name("page_scripts.js"))


class RenderedPage:
    """`page` is Playwright's own."""

    def __init__(self, page: Any, target: Target) -> None:
        self.page = page
        self._target = target
        self.popped_up: list[str] = []
        self.requested: list[str] = []
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.requested.append(request.url))

    def _dismiss(self, dialog: Any) -> None:
        self.popped_up.append(dialog.type)
        dialog.dismiss()

    def open(self, url: str) -> None:
        go_to(self.page, url, self._target)

    def _evaluate(self, name: str, given: Any = None) -> Any:
        with page_errors(self.page.url), answering_within(self.page, PATIENCE):
            return self.page.evaluate(_script(name), given)

    def text(self) -> str:
        """Everything visible, with single blanks."""
        return " ".join(str(self._evaluate("visible text")).split())

    def backwards(self) -> list[str]:
        found: list[str] = self._evaluate("backwards")
        return found

    def injected(self) -> list[str]:
        """What a text became besides text."""
        found: list[str] = self._evaluate("injected", [MARK, FLAG])
        strange = [f"a request to {neutralise(url, 60)}" for url in self.requested if FLAG in url]
        return found + [f"a {kind} box" for kind in self.popped_up] + strange

    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self._evaluate("too wide"))
