"""The browser in a pytest session: started once, kept away from asyncio, evidence of failures.

Registered as a plugin when a test first asks for a browser, so that runs without one pay nothing.
The package `browser` drives the browser.
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
"""How many failed tests of a session (or worker) keep evidence."""
WATCHED_CLOSELY = 10
"""Up to so many tests in a run, traces have the document at every step: when a failure is repeated,
that is worth its price."""
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
        """Playwright's event loop, while we run its driver."""
        self._kept = 0

    # ---- asyncio

    # Playwright's sync API leaves its loop marked as the thread's running loop, and needs that mark
    # whenever it is called. While the mark is set, nobody else can run a loop in the thread. So it
    # is set only during tests that have a browser.

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
        folder = self.folder()
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
        folder = self.folder()
        if folder is not None and KEPT_FILES not in item.stash and folder.is_dir():
            name = _name(item)
            for path in (*folder.glob(f"{name}*.png"), *folder.glob(f"{name}.zip")):
                path.unlink(missing_ok=True)

    def folder(self) -> Path | None:
        """Where evidence is kept; None if it is not."""
        findings = state_of(self.config).settings.findings
        return findings.parent / EVIDENCE.name if findings is not None else None


def browsing(config: pytest.Config) -> Browsing:
    """The session's browser plugin; the first call registers it."""
    stash = state_of(config).stash
    if _BROWSING not in stash:
        stash[_BROWSING] = Browsing(config)
        config.pluginmanager.register(stash[_BROWSING], "mcp-approval-browsing")
    return stash[_BROWSING]


@contextmanager
def session_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """The session's browser: pytest-playwright's if that is loaded, else one of our own."""
    config, held = request.config, browsing(request.config)
    named = state_of(config).settings.browser
    if named == NO_BROWSER:
        pytest.skip(f"needs a browser, and {PREFIX}browser={NO_BROWSER} leaves it out")
    if named is None and _has_pytest_playwright(config):
        # Leave its loop alone: its own tests rely on that.
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
    """A page for one test, which leaves evidence behind if the test fails."""
    held, item = browsing(request.config), request.node
    item.stash[_USES] = True
    held.enter()
    with opened_page(browser) as page:
        recorder = None
        if held.folder() is not None:
            closely = len(request.session.items) <= WATCHED_CLOSELY
            recorder = item.stash[_RECORDER] = Recorder(page.context, closely=closely)
        try:
            yield page
        finally:
            held.enter()
            if recorder is not None:
                del item.stash[_RECORDER]
                recorder.drop()
            held.forget(item)


def _has_pytest_playwright(config: pytest.Config) -> bool:
    manager = config.pluginmanager
    return manager.hasplugin("playwright") or manager.hasplugin(_PYTEST_PLAYWRIGHT)


def _name(item: pytest.Item) -> str:
    """A file name that is the same for a test in every run."""
    import hashlib
    import re

    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", item.name)[:60].strip("-.")
    return f"{slug}-{hashlib.sha256(item.nodeid.encode()).hexdigest()[:6]}"
