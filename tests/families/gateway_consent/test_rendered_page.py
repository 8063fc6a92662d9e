"""What counts as seen on a page: not what is cut off and out of reach, nor what has the colour of
its background."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.families.gateway_consent.rendered_page import RenderedPage

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
    target: Any = None
    return RenderedPage(page, target).text()


@pytest.mark.parametrize("how", CUT)
def test_what_is_cut_off_is_not_seen(approval_page, how):
    text = text_of(approval_page.page, CUT[how])
    assert text.startswith("begins word")
    assert "ends" not in text


@pytest.mark.parametrize("how", REACHED)
def test_what_can_be_reached_is_seen(approval_page, how):
    assert text_of(approval_page.page, REACHED[how]) == WORDS


FADED = {
    "white on white": "color: white",
    "nearly white on white": "color: #fbfbfb",
    "black on black": "background: black; color: #050505",
    "the background of an ancestor": "background: navy'><div style='color: navy",
    "transparent": "color: transparent",
    "nearly transparent": "color: rgba(0, 0, 0, 0.03)",
    "a nearly transparent box": "opacity: 0.03",
    "the fill of the letters": "-webkit-text-fill-color: white",
    "through a veil": "background: rgba(0, 0, 0, 0.5); color: rgb(128, 128, 128)",
}
SEEN = {
    "black on white": "color: black",
    "white on black": "background: black; color: white",
    "grey on white": "color: #ccc",
    "white on a picture": "background-image: linear-gradient(black, black); color: white",
    "another sort of colour": "color: oklch(0.5 0.2 30)",
}


@pytest.mark.parametrize("how", FADED)
def test_what_has_the_colour_of_its_background_is_not_seen(approval_page, how):
    assert text_of(approval_page.page, FADED[how]) == ""


@pytest.mark.parametrize("how", SEEN)
def test_what_stands_out_is_seen(approval_page, how):
    assert text_of(approval_page.page, SEEN[how]) == WORDS
