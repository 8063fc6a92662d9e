"""Scripts in a page that is caught in a loop: the wait ends, and the browser goes on."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Error, TimeoutError

from pytest_mcp_approval.browser.deadlines import answering_within

CAUGHT = "setTimeout(() => { for (;;); })"
"""A page that answers this call, and nothing after it."""


def test_a_page_that_answers_is_left_alone(approval_page):
    page = approval_page.page
    with answering_within(page, 60):
        assert page.evaluate("1 + 1") == 2
    assert not page.is_closed()


def test_a_page_that_is_caught_in_a_loop_is_given_up(approval_page):
    page = approval_page.page
    page.evaluate(CAUGHT)
    began = time.monotonic()
    said = pytest.raises(TimeoutError, match=r"answered nothing for 0\.5 s")
    with said, answering_within(page, 0.5):
        page.locator("html").evaluate_all("all => all.length")
    assert time.monotonic() - began < 30
    assert page.is_closed()
    assert approval_page.context.new_page().evaluate("1 + 1") == 2


def test_another_error_stays_what_it_is(approval_page):
    with pytest.raises(Error, match="no such thing"), answering_within(approval_page.page, 60):
        approval_page.page.evaluate("() => { throw new Error('no such thing'); }")
