"""Which browser there is: the one that the user names, the system's, Playwright's, or one that
`installing` fetched before. Looks and starts nothing but Playwright's own driver, to ask it.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from functools import cache
from pathlib import Path

from .errors import NoBrowserError

NPM_VERSION = "149.0.0"
"""Of the package that `installing` takes a browser from."""
VARIABLE = "MCP_APPROVAL_BROWSER"
OPTION = "--mcp-approval-browser"
INSTALL_HINT = "python -m pytest_mcp_approval.browser install"
PLAYWRIGHT_HINT = "pip install 'pytest-mcp-approval[browser]'"
NAMES = (
    # Without a window to draw: the same engine for a third of the processor time.
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_DRIVER_SECONDS = 30.0


def find_browser(named: str | None = None) -> str:
    """The path of a browser; NoBrowserError says in one line how to get one."""
    named = named or os.environ.get(VARIABLE)
    if named:
        found = _named(named)
        if found is None:
            raise NoBrowserError(
                f"browser: got {named!r}, which is not a program here, expected a path or a name "
                f"on the PATH ({OPTION}, {VARIABLE})"
            )
        return found
    for look in (_of_the_system, _of_playwright, _fetched):
        found = look()
        if found is not None:
            return found
    raise NoBrowserError(f"no browser found: {INSTALL_HINT}, or name one with {OPTION}=/path/to/it")


def engine_of(path: str) -> str:
    """What Playwright calls the engine of a program."""
    return "firefox" if Path(path).name.lower().startswith("firefox") else "chromium"


def cache_folder() -> Path:
    """Where `installing` puts what it fetches: the user's own cache."""
    return _users_cache() / "pytest-mcp-approval"


def _users_cache() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base)


def fetched_program() -> Path:
    """The program of the npm package, once it is unpacked."""
    return cache_folder() / f"chromium-{NPM_VERSION}" / "chromium"


def _named(name: str) -> str | None:
    if os.sep in name or "/" in name:
        path = Path(name).expanduser()
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    return shutil.which(name)


def _of_the_system() -> str | None:
    for name in NAMES:
        if found := shutil.which(name):
            return found
    return next((path for path in _APPLICATIONS if Path(path).is_file()), None)


def _of_playwright() -> str | None:
    """Playwright's own Chromium, where it has been fetched."""
    folder = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    # Its driver knows the path, and takes a second to say so: it is only asked where it has fetched
    # a Chromium of some version. "0" is for a place of its own.
    fetched = Path(folder) if folder else _users_cache() / "ms-playwright"
    if folder != "0" and not any(fetched.glob("chromium*")):
        return None
    path = _playwright_path(folder)
    return path if path and Path(path).is_file() else None


@cache
def _playwright_path(_folder: str | None) -> str | None:
    """Where Playwright's Chromium is or would be, by its driver. In a thread: the caller may have a
    loop of its own."""
    found: list[str] = []

    def ask() -> None:
        try:
            from playwright.sync_api import sync_playwright

            with sync_playwright() as playwright:
                found.append(playwright.chromium.executable_path)
        except Exception:
            return  # no Playwright, or one that does not work: it has no browser either

    asking = threading.Thread(target=ask, name="browser-finding", daemon=True)
    asking.start()
    asking.join(_DRIVER_SECONDS)
    return found[0] if found else None


def _fetched() -> str | None:
    program = fetched_program()
    return str(program) if os.access(program, os.X_OK) else None
