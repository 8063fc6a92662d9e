"""One browser for all inner runs of a process: starting one takes longer than most runs.

    pytester.inline_run(..., plugins=[shared_browser()])

An inner run drops the modules that it was first to load, and `pytester` those that came in during a
test. Playwright cannot be loaded twice in a process (its errors would not be caught any more), so
it is loaded with this module. The browser is closed when the process ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from _pytest.fixtures import SubRequest
    from playwright.sync_api import Browser


with contextlib.suppress(ImportError):
    import playwright.sync_api  # noqa: F401


class SharedBrowser:
    """A plugin for an inner run that gives it the shared browser instead of its own."""

    def __init__(self) -> None:
        from pytest_mcp_approval.browser.starting import started_browser

        stack = contextlib.ExitStack()
        self._browser: Browser = stack.enter_context(started_browser())
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

        def close() -> None:
            asyncio._set_running_loop(self._loop)
            stack.close()

        atexit.register(close)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: SubRequest
    ) -> Browser | None:
        if fixturedef.argname != "approval_browser":
            return None
        from pytest_mcp_approval.session.browser_use import browsing

        held = browsing(request.config)
        held.loop = self._loop
        held.enter()
        fixturedef.cached_result = (self._browser, fixturedef.cache_key(request), None)
        return self._browser


@cache
def shared_browser() -> SharedBrowser:
    return SharedBrowser()
