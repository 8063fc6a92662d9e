"""The browser in a pytest session: started once, out of the way of asyncio, evidence for failures.

Registered as a plugin when a test first asks for a browser, so that runs without one pay nothing.
How a browser is driven is `browser`'s to know.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..browser.errors import NoBrowserError
from ..browser.evidence import Recorder
from ..browser.finding import find_browser
from ..browser.pages import ApprovalPage, opened_page
from ..browser.starting import launch, playwright_running
from ..config.settings import NO_BROWSER, PREFIX
from .phase import KEPT_FILES
from .state import state_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_PYTEST_PLAYWRIGHT = "pytest_playwright.pytest_playwright"
MOST_KEPT = 20
"""Failed tests of a session (of a worker) that leave something."""
EVIDENCE = Path(".mcp-approval") / "evidence"
"""Below pytest's root, unless the user says where findings go."""

_RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()
_USES: pytest.StashKey[bool] = pytest.StashKey()
_BROWSING: pytest.StashKey[Browsing] = pytest.StashKey()


class Browsing:
    """The hooks of a session that has a browser."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.loop: asyncio.AbstractEventLoop | None = None
        """Playwright's, while its driver is ours."""
        self._kept = 0

    # ---- asyncio

    # Playwright's sync API leaves its loop marked as the running one of the thread, and needs the
    # mark whenever it is called; with it nobody else can run a loop there. So the mark is there
    # during tests that have a browser, and at no other time.

    def enter(self) -> None:
        if self.loop is not None:
            asyncio._set_running_loop(self.loop)

    def leave(self) -> None:
        if self.loop is not None and asyncio._get_running_loop() is self.loop:
            asyncio._set_running_loop(None)

    def _phase(self, item: pytest.Item) -> Generator[None, Any, Any]:
        uses = "approval_browser" in getattr(item, "fixturenames", ())
        if uses or item.stash.get(_USES, False):
            self.enter()
        else:
            self.leave()
        try:
            return (yield)
        finally:
            self.leave()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item))

    # ---- evidence

    @pytest.hookimpl(wrapper=True, trylast=True)  # innermost: the verdict names what is kept
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        recorder = item.stash.get(_RECORDER, None)
        if recorder is None or not report.failed or call.when == "teardown":
            return report
        folder = self._folder()
        if folder is None or self._kept >= MOST_KEPT:
            return report
        self._kept += 1
        self.enter()
        try:
            kept = recorder.keep(folder, _name(item))
        finally:
            self.leave()
        if kept:
            item.stash[KEPT_FILES] = kept
            start = self.config.invocation_params.dir
            shown = "\n".join(os.path.relpath(path, start) for path in kept)
            report.sections.append(("approval evidence", shown))
        return report

    def forget(self, item: pytest.Item) -> None:
        """Remove what an earlier run kept of a test that has not failed now."""
        folder = self._folder()
        if folder is not None and KEPT_FILES not in item.stash and folder.is_dir():
            name = _name(item)
            for path in (*folder.glob(f"{name}*.png"), *folder.glob(f"{name}.zip")):
                path.unlink(missing_ok=True)

    def _folder(self) -> Path | None:
        findings = state_of(self.config).settings.findings
        return findings.parent / EVIDENCE.name if findings is not None else None


def browsing(config: pytest.Config) -> Browsing:
    """The session's browser plugin, registered by whoever asks first."""
    stash = state_of(config).stash
    if _BROWSING not in stash:
        stash[_BROWSING] = Browsing(config)
        config.pluginmanager.register(stash[_BROWSING], "mcp-approval-browsing")
    return stash[_BROWSING]


@contextmanager
def session_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The browser of a session: pytest-playwright's where that is loaded, else one of our own."""
    config, held = request.config, browsing(request.config)
    named = state_of(config).settings.browser
    if named == NO_BROWSER:
        pytest.skip(f"needs a browser, and {PREFIX}browser={NO_BROWSER} leaves it out")
    if named is None and _has_pytest_playwright(config):
        # Its loop stays as it leaves it: its own tests count on that.
        yield request.getfixturevalue("browser")
        return
    try:
        path = find_browser(named)
        with playwright_running() as playwright:
            held.loop = asyncio.get_running_loop()
            browser = launch(playwright, path)
            try:
                yield browser
            finally:
                held.enter()
                browser.close()
    except NoBrowserError as error:
        pytest.skip(str(error))
    finally:
        held.loop = None


@contextmanager
def recorded_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[ApprovalPage]:
    """A page for one test, which leaves something behind if the test fails."""
    held, item = browsing(request.config), request.node
    item.stash[_USES] = True
    held.enter()
    with opened_page(browser) as page:
        recorder = item.stash[_RECORDER] = Recorder(page.context)
        try:
            yield page
        finally:
            held.enter()
            del item.stash[_RECORDER]
            recorder.drop()
            held.forget(item)


def _has_pytest_playwright(config: pytest.Config) -> bool:
    manager = config.pluginmanager
    return manager.hasplugin("playwright") or manager.hasplugin(_PYTEST_PLAYWRIGHT)


def _name(item: pytest.Item) -> str:
    """The same for the same test on every run, and fit for a file's name."""
    import hashlib
    import re

    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", item.name)[:60].strip("-.")
    return f"{slug}-{hashlib.sha256(item.nodeid.encode()).hexdigest()[:6]}"
