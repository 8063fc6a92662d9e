"""The page for those who do not see it, or use no mouse: axe-core finds nothing serious.

axe-core comes from npm into a folder of the checkout that git ignores; it is no part of any report.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.report import samples
from tests.report.samples import earlier_of

VERSION = "4.14.0"
CACHE = Path(__file__).parent.parent.parent / ".cache" / "axe-core"


@pytest.fixture(scope="session")
def axe() -> str:
    """The text of axe-core, fetched once for all workers and runs."""
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
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts"]
    command += ["--prefix", str(CACHE), f"axe-core@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    fetched = CACHE / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not fetched.is_file():
        pytest.skip(f"axe-core could not be fetched: {done.stderr.strip()[-200:]}")
    draft = script.with_suffix(".new")
    shutil.copy(fetched, draft)
    draft.replace(script)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(page_of, axe, scheme):
    page = page_of(
        samples.report(
            *samples.typical().scenarios, earlier=earlier_of({samples.HASH: Verdict.FAILED})
        )
    )
    page.emulate_media(color_scheme=scheme)
    flow = page.locator(f"[id='{samples.COUNTER}'] .flow").first
    flow.wait_for()
    flow.locator(".step > details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.locator(".rule").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.wait_for_function("document.querySelectorAll('.scenarios[data-filled]').length === 7")
    # Through the debugging protocol: the page's own policy runs no script but its own.
    page.evaluate(axe)
    found = page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
        ".map(one => [one.impact, one.id, one.nodes.slice(0, 3).map(node => node.html)])"
    )
    assert [one for one in found if one[0] in ("serious", "critical")] == []
