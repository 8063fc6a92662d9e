"""What is kept of a page when a test failed: a screenshot, and Playwright's trace of all that
happened. Nothing is kept otherwise, and never without bounds. Knows nothing of pytest and reports.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

LARGEST = 20_000_000
"""Bytes of one file."""
_SCREENSHOT_MILLISECONDS = 5_000.0


class Recorder:
    """Records one context from its beginning."""

    def __init__(self, context: BrowserContext, *, closely: bool = True) -> None:
        """`closely`: with the document before and after every step, which costs half as much again
        as the steps."""
        self._context = context
        # Pictures at every step would cost more than the steps; the last one is taken in `keep`.
        context.tracing.start(snapshots=closely, screenshots=False, sources=False)
        self._running = True

    def keep(self, folder: Path, name: str) -> list[Path]:
        """Leave what there is in the folder; what cannot be had is left out."""
        from playwright.sync_api import Error

        if not self._running:
            return []
        self._running = False
        pictures: list[Path] = []
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if folder.parent.name == ".mcp-approval":
                (folder.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        for number, page in enumerate(self._context.pages[:3]):
            picture = folder / (f"{name}.png" if not number else f"{name}-{number + 1}.png")
            with contextlib.suppress(Error, OSError):
                page.screenshot(path=picture, timeout=_SCREENSHOT_MILLISECONDS)
                pictures.append(picture)
        trace = folder / f"{name}.zip"
        with contextlib.suppress(Error, OSError):
            self._context.tracing.stop(path=trace)
        return [path for path in (*pictures, trace) if _within_bounds(path)]

    def drop(self) -> None:
        """The test passed: nothing is kept."""
        from playwright.sync_api import Error

        if self._running:
            self._running = False
            with contextlib.suppress(Error):
                self._context.tracing.stop()


def _within_bounds(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.stat().st_size <= LARGEST:
            return True
        path.unlink()
    return False
