"""What counts as seen on a page: not what is cut off where no scrolling leads."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.families.gateway_consent.page_looks import Looks

WORDS = "begins " + "word " * 400 + "ends"
CUT = {
    "below": "overflow: hidden; height: 3em",
    "on the right": "overflow: hidden; white-space: nowrap; text-overflow: ellipsis",
}
REACHED = {
    "all of it": "",
    "by scrolling": "overflow: auto; height: 3em",
    "nothing is cut": "overflow: hidden",
}


def text_of(page, style: str) -> str:
    page.set_content(f"<div style='{style}'><p>{WORDS}</p></div>")
    return Looks(page, None).text()


@pytest.mark.parametrize("how", CUT)
def test_what_is_cut_off_is_not_seen(approval_page, how):
    text = text_of(approval_page.page, CUT[how])
    assert text.startswith("begins word")
    assert "ends" not in text


@pytest.mark.parametrize("how", REACHED)
def test_what_can_be_reached_is_seen(approval_page, how):
    assert text_of(approval_page.page, REACHED[how]) == WORDS
