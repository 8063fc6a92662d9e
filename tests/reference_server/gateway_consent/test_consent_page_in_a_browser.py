"""The consent page as people use it: keyboard, small screens, dark mode, screen readers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    AUTHORIZE_ALL,
    AUTHORIZE_TOOL,
    DENY,
    REMEMBER,
)
from tests.axe import violations
from tests.browsers import HINT, find_browser, started_browser
from tests.reference_server.gateway_consent.test_consent_page import NASTY, Site

pytestmark = pytest.mark.skipif(find_browser() is None, reason=HINT)

NASTY_TEXT = NASTY["markup"] + NASTY["quotes"] + NASTY["bidi"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as found:
        yield found


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context() as context:
        found = context.new_page()
        found.set_default_timeout(10_000)
        yield found


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(NASTY_TEXT)
    yield made
    made.listener.stop()


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent || document.activeElement.name"))


def test_by_keyboard_alone(page: Page, site: Site) -> None:
    page.goto(site.ask())
    page.keyboard.press("Tab")
    assert focused(page) == "remember"
    expect(page.get_by_label(REMEMBER)).not_to_be_checked()
    page.keyboard.press("Space")
    expect(page.get_by_label(REMEMBER)).to_be_checked()
    for name in (AUTHORIZE_TOOL, AUTHORIZE_ALL, DENY):
        page.keyboard.press("Tab")
        assert focused(page) == name
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading")).to_have_text("Your decision counts")
    assert site.granted() is False


def test_enter_in_the_box_decides_nothing(page: Page, site: Site) -> None:
    page.goto(site.ask())
    page.get_by_label(REMEMBER).focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_role("button")).to_have_count(3)
    assert site.granted() is None
    with page.expect_navigation():
        page.get_by_role("button", name=AUTHORIZE_TOOL).click()
    assert site.granted() is True


@pytest.mark.parametrize(("scheme", "width"), [("light", 320), ("dark", 900)])
def test_for_everybody_on_every_screen(
    browser: Browser, site: Site, scheme: str, width: int
) -> None:
    urls = (
        site.ask(),
        site.ask("x" * 10_000, tool="readInbox"),
        site.ask(f"caller {NASTY_TEXT}", f"id {NASTY_TEXT}", f"tool {NASTY_TEXT}"),
        f"{site.listener.url}/consent/none",
    )
    with browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 700},
    ) as context:
        page = context.new_page()
        said: list[str] = []
        page.on("dialog", lambda dialog: said.append(dialog.message))
        for url in urls:
            page.goto(url)
            assert violations(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert said == []


def test_another_page_cannot_show_it_in_a_frame(page: Page, site: Site) -> None:
    url = site.ask()
    page.set_content(f'<iframe src="{url}"></iframe>')
    frame = page.frames[-1]
    frame.wait_for_load_state()
    assert frame.get_by_role("button").count() == 0


def test_another_page_cannot_send_its_form(page: Page, site: Site) -> None:
    """Even one that knows the address: it has neither the token nor the cookie, nor our origin."""
    url = site.ask()
    page.goto(url)
    token = page.locator("input[name=csrf]").input_value()
    page.goto("about:blank")
    page.set_content(
        f'<form method="post" action="{url}"><input name="csrf" value="{token}">'
        '<input name="remember" value="yes"><button name="choice" value="all">Win</button></form>'
    )
    with page.expect_navigation():
        page.get_by_role("button").click()
    expect(page.get_by_role("heading")).to_have_text("Nothing was decided")
    assert site.granted() is None
