"""How a browser is started: headless, with an empty profile, quiet, within a deadline.

Knows nothing of pages. The sandbox is on wherever it can be: not for root, whom Chromium refuses,
and not where the machine has none to offer (a container without user namespaces).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..support.text import neutralise
from .errors import NoBrowserError
from .finding import INSTALL_HINT, PLAYWRIGHT_HINT, engine_of, fetched_program, find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType, Playwright

START_SECONDS = 60.0
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SHORT_LIVED = ("--js-flags=--no-opt --no-maglev --single-threaded", "--num-raster-threads=1")
"""A page here is used for a second or two, in a process of its own: compilers that optimise, and
threads that help, cost more than they save: a twentieth to a tenth of the processor time."""
_FETCHED = ("--headless=shell",)
"""What the Chromium of the npm package needs: it is built for machines without a desktop."""


@contextmanager
def started_browser(named: str | None = None) -> Iterator[Browser]:
    """A browser, closed at the end. Not inside a running loop, as all of Playwright's sync API."""
    path = find_browser(named)
    with playwright_running() as playwright:
        browser = launch(playwright, path)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def playwright_running() -> Iterator[Playwright]:
    """Playwright's driver; NoBrowserError with the command where the extra is not installed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowserError(f"Playwright is not installed: {PLAYWRIGHT_HINT}") from None
    with sync_playwright() as playwright:
        yield playwright


def launch(playwright: Playwright, path: str) -> Browser:
    """Start the program; NoBrowserError in one line where it does not start."""
    from playwright.sync_api import Error

    engine = engine_of(path)
    kind: BrowserType = getattr(playwright, engine)
    options: dict[str, Any] = {"executable_path": path, "timeout": 1000 * START_SECONDS}
    if engine == "chromium":
        options["args"] = [
            *QUIET,
            *SHORT_LIVED,
            *(_FETCHED if path == str(fetched_program()) else ()),
        ]
    problem = ""
    for sandbox in _sandboxes(engine, path):
        try:
            return kind.launch(**options, chromium_sandbox=sandbox)
        except Error as error:
            problem = str(error)
            if "sandbox" not in problem.lower():
                break
    raise NoBrowserError(
        f"{path} did not start: {_reason(problem)}; name another one with --mcp-approval-browser, "
        f"or: {INSTALL_HINT}"
    )


def _sandboxes(engine: str, path: str) -> tuple[bool, ...]:
    """Whether to try with a sandbox, and whether to try again without."""
    if engine != "chromium" or path == str(fetched_program()):
        return (False,)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return (False,) if is_root else (True, False)


def _reason(problem: str) -> str:
    """The line of a long message that says what is wrong."""
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    for mark in ("error while loading", "ERROR:", "Failed to", "cannot ", "No such"):
        if found := next((line for line in lines if mark in line), None):
            return neutralise(found, 200)
    return neutralise(lines[0], 200) if lines else "it said nothing"
