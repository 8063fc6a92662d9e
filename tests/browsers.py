"""Which browser the tests drive, and how it is started. `python -m tests.browsers` names it.

In this order: what MCP_APPROVAL_BROWSER says, what the system has, what Playwright has.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HINT = "no browser: install chromium, or name one with MCP_APPROVAL_BROWSER=/path/to/it"
QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    """The path of a Chromium, None if there is none."""
    named = os.environ.get("MCP_APPROVAL_BROWSER")
    if named:
        return named if Path(named).is_file() else None
    for name in NAMES:
        if found := shutil.which(name):
            return found
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser with an empty profile, without a sandbox only where it needs to be (as root)."""
    path = find_browser()
    assert path is not None, HINT
    flags = list(QUIET)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        flags.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=flags, timeout=60_000)
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    browser = find_browser()
    print(browser or HINT)
    sys.exit(browser is None)
