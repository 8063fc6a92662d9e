"""Dialogs and the app's question in a browser: policies hold, and nobody is kept out."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.axe import violations


@pytest.fixture
def page(approval_page):
    """Whatever a policy blocks is on the console."""
    said = []
    approval_page.page.on("console", lambda message: said.append(message.text))
    yield approval_page.page
    assert not [text for text in said if "Content Security Policy" in text]


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_load_state()


def test_oauth_there_and_back(desk, page):
    page.goto(desk.needed("mail", consented=["sendEmail", "readInbox"]))
    assert page.locator("h1").inner_text() == "Authorize AAI Gateway"
    assert page.locator("li strong").all_inner_texts() == ["sendEmail", "readInbox"]
    assert violations(page) == []
    press(page, "Allow")
    assert page.locator("h1").inner_text() == "The gateway has access"
    assert page.context.cookies() == []
    assert desk.record("mail")["tools"] == ["sendEmail", "readInbox"]


def test_oauth_denied(desk, page):
    page.goto(desk.needed("mail"))
    press(page, "Deny")
    assert page.locator("h1").inner_text() == "No access"
    assert desk.record("mail") is None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_two_steps_by_keyboard(desk, page, scheme):
    page.emulate_media(color_scheme=scheme)
    known = desk.site.locks["office"].known
    page.goto(desk.needed("office"))
    for label, value in (("App ID", known["appId"]), ("App Secret", known["appSecret"])):
        field = page.get_by_label(label)
        expect(field).to_be_focused()  # which a browser does a moment after the field is there
        assert violations(page) == []
        page.keyboard.type(value)
        page.keyboard.press("Enter")
    page.get_by_text("The gateway has access").wait_for()
    assert desk.call("office") == 200


def test_what_is_wrong_is_said_aloud(desk, page):
    page.goto(desk.needed("social"))
    page.get_by_label("Cookies").fill("web_session=planted-value")
    press(page, "OK")
    assert "web_signature" in page.get_by_role("alert").inner_text()
    assert "planted-value" not in page.content()
    assert violations(page) == []
