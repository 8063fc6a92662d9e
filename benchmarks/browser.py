"""Figures of the browser layer: a whole enrollment and approval, against bare Playwright.

    python -m benchmarks.browser

Writes benchmarks/results/browser.md. Both press the same things on the reference server's page, in
one warm browser, each time in a new context. They take turns; the ratio is of medians. The bare
script has only Chromium's virtual authenticator. Ours is what `approval_page` gives a test: keys of
both kinds, every request recorded, and a trace that is thrown away.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks import sanity
from pytest_mcp_approval.browser.evidence import Recorder
from pytest_mcp_approval.browser.pages import opened_page
from pytest_mcp_approval.browser.starting import started_browser
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.target import Target, open_target

RESULTS = Path(__file__).parent / "results" / "browser.md"
ROUNDS = 25
WANTED = 1.3
QUIET_ENOUGH = 1.5
"""The load average above which the figures are not reliable."""


def cycle(page: Page, url: str) -> None:
    """What both do: enroll a passkey, ask for a call, read, approve, see the result."""
    page.goto(url)
    page.get_by_role("button", name="Enrol a passkey").click()
    page.locator("#enrolment-outcome[data-outcome=enrolled]").wait_for()
    page.locator('button[data-tool="wipe_cache"]').click()
    page.get_by_role("button", name="Ask for approval").click()
    page.locator("#display-text").text_content()
    page.get_by_role("button", name="Approve", exact=True).click()
    page.locator("#call-outcome[data-outcome=executed]").wait_for()


def bare(browser: Browser, url: str) -> None:
    """What somebody would write with Playwright alone."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "usb",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    cycle(page, url)
    context.close()


def ours(kind: str) -> Callable[[Browser, str], None]:
    """What the fixture does, with a key of this kind."""

    def run(browser: Browser, url: str) -> None:
        with opened_page(browser) as opened:
            recorder = Recorder(opened.context)
            opened.key("security-key", kind=kind)
            cycle(opened.page, url)
            recorder.drop()

    return run


def measure(browser: Browser, target: Target) -> dict[str, float]:
    """Median seconds of each way; they take turns."""
    ways = {"bare": bare, "cdp": ours("cdp"), "bridge": ours("bridge")}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    url = target.page()
    assert url is not None
    for number in range(-2, ROUNDS):  # the first two warm everything up
        for name, run in ways.items():
            target.reset()
            began = time.perf_counter()
            run(browser, url)
            if number >= 0:
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main() -> None:
    load = os.getloadavg()[0]
    target = open_target("reference", Settings(targets=("reference",)))
    try:
        with started_browser() as browser:
            engine = f"{browser.browser_type.name} {browser.version}"
            found = measure(browser, target)
    finally:
        target.close()
    rows = [
        f"| with `approval_page`, kind `{kind}`, to a bare Playwright script | "
        f"{sanity.ratio(found[kind] / found['bare'], kind):.2f} | at most {WANTED} |"
        for kind in ("cdp", "bridge")
    ]
    lines = [
        "# In a browser",
        "",
        f"`make benchmark` on Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {engine}: an enrolment and an approval on the reference server's "
        f"page, in a warm browser. Medians of {ROUNDS}; the bare script takes "
        f"{found['bare'] * 1000:.0f} ms.",
        "",
        "| figure | value | wanted |",
        "|---|---|---|",
        *rows,
        "",
    ]
    print("\n".join(lines))
    if load > QUIET_ENOUGH:
        print(f"not written: the machine is busy (load {load:.1f}, at most {QUIET_ENOUGH} wanted)")
        return
    RESULTS.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
