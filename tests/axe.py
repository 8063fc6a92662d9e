"""axe-core, which finds accessibility problems of a page. It is fetched from npm into a folder that
git ignores, and is not part of anything that users get."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

VERSION = "4.14.0"
CACHE = Path(__file__).parent.parent / ".cache" / "axe-core"


def axe_core() -> str:
    """The text of axe-core, fetched once for all workers and runs; skips if that fails."""
    script = CACHE / f"axe-{VERSION}.min.js"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not script.is_file():
            _fetch(script)
    return script.read_text(encoding="utf-8")


def _fetch(script: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm, which axe-core comes from")
    command = [npm, "install", "--prefer-offline", "--no-save", "--no-audit", "--no-fund"]
    command += ["--ignore-scripts", "--prefix", str(CACHE), f"axe-core@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    fetched = CACHE / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not fetched.is_file():
        pytest.skip(f"axe-core could not be fetched: {done.stderr.strip()[-200:]}")
    draft = script.with_suffix(".new")
    shutil.copy(fetched, draft)
    draft.replace(script)


def violations(page: Page) -> list[Any]:
    """What axe-core finds wrong with the page as it is now: impact, rule, and where."""
    # Through the debugging protocol: the page's policy allows only its own scripts.
    page.evaluate(axe_core())
    found: list[Any] = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
        ".map(one => [one.impact, one.id, one.nodes.slice(0, 3).map(node => node.html)])"
    )
    return found
