"""A deadline for what Playwright does without one: scripts that are run in a page.

A page that is caught in a loop answers no script, and Playwright would wait for it without end.
Such a page is closed, which ends the wait. Knows nothing of what is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


@contextlib.contextmanager
def answering_within(page: Page, seconds: float) -> Iterator[None]:
    """What is asked of the page inside is answered in time, or Playwright's TimeoutError."""
    from greenlet import greenlet  # type: ignore[import-untyped]
    from playwright.sync_api import Error, TimeoutError

    late = False

    def give_up() -> None:
        nonlocal late
        late = True
        # In a greenlet of its own: this is called by the loop that Playwright's calls wait for.
        greenlet(_close).switch(page)

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    try:
        yield
    except Error:
        if late:
            said = f"the page answered nothing for {seconds:g} s, and was closed"
            raise TimeoutError(said) from None
        raise
    finally:
        timer.cancel()


def _close(page: Page) -> None:
    from playwright.sync_api import Error

    with contextlib.suppress(Error):
        page.close()
