"""The page says who noticed what, and counts only what somebody should have noticed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mutation.explaining import FILE, explanations
from tests.mutation.page import page

EXPLAINED = """
[[explained]]
pattern = 'a\\.gate:.*: 5 becomes 6'
kind = "outside"
why = "a bound of our own"
"""


def answer(what: str, how: str, **more: Any) -> dict[str, Any]:
    return {"key": f"a.gate:f:3: {what}", "family": "fam", "module": "a.gate", "how": how, **more}


def test_what_is_explained_is_not_counted_and_what_nobody_noticed_is_listed():
    told = page(
        [
            answer("one", "found"),
            answer("two", "hung"),
            answer("three", "nobody", explored="a/rule: cause", exploring=5),
            answer("5 becomes 6", "nobody", left_out=3),
            answer("four", "nobody", explored="", exploring=5),
            answer("five", "odd"),
        ],
        explanations(EXPLAINED),
        {("fam", "gate"): 9},
    )
    assert "9 mutations can be made; 6 were checked" in told
    assert "About 1 that no scenario noticed" in told
    assert "2 survivors were explored, each for 5 to 5 seconds" in told
    assert "Of the 5 that are neither" in told
    assert "3 were noticed: **60.0%** (2 by scenarios, 1 by exploration alone)" in told
    assert "with them it is 80.0%" in told
    assert "| fam | gate | 9 | 6 | 2 | 1 |  | 1 | 1 | 1 |" in told
    listed, _, reasons = told.partition("## What nobody noticed")[2].partition(
        "## What nobody need"
    )
    assert "four` (nobody)" in listed
    assert "five` (unverified)" in listed
    assert "becomes" not in listed
    assert "| outside | 1 | a bound of our own" in reasons


def test_a_reason_has_a_kind():
    with pytest.raises(ValueError, match="expected one of"):
        explanations('[[explained]]\npattern = "x"\nkind = "other"\nwhy = "y"')
    assert explanations(FILE.read_text(encoding="utf-8")) is not None
