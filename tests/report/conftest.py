"""For the tests of reports: inner runs, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.model import Report
from tests.inner_runs import plugin_options


class Suite:
    """Runs pytest in a folder of its own with the plugin, on the reference server."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def run(self, *arguments: str, target: str = "reference") -> pytest.RunResult:
        named = [f"--mcp-approval-target={target}", "--mcp-approval-family=sep2672"]
        named = named if target else []
        return self.pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", *plugin_options(), *named, *arguments
        )


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return Suite(pytester)


class Opened:
    """A report in a browser, opened from disk, and everything that the browser noticed."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.problems: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", self._asked)
        page.on("console", self._heard)

    def _asked(self, dialog: Dialog) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()

    def _heard(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.problems.append(said.text)

    def show(self, path: Path) -> Page:
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


@pytest.fixture
def opened(approval_browser: Browser) -> Iterator[Opened]:
    page = approval_browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(30_000)
    try:
        yield Opened(page)
    finally:
        page.close()


@pytest.fixture
def page_of(opened: Opened, tmp_path: Path):
    """Renders a report and opens it."""

    def show(report: Report) -> Page:
        path = tmp_path / "report.html"
        path.write_text(render_html(report), encoding="utf-8")
        return opened.show(path)

    return show
