"""Texts that are nearly another: others, each once, whatever the text is."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.families.base.look_alikes import LOOK_ALIKES, nearly, some


@pytest.mark.parametrize("text", ["conf_aB3-x", "1234567890", "a", "xx", "\u00e9", "web authn"])
def test_they_are_other_texts_and_each_once(text: str):
    made = nearly(text)
    assert text not in made.values()
    assert "" not in made.values()
    assert len(set(made.values())) == len(made)
    assert len(made) > len(LOOK_ALIKES) / 2


def test_all_differ_for_a_text_that_has_everything():
    assert nearly("Conf_aB3-x").keys() == LOOK_ALIKES.keys()


def test_some_of_them():
    assert nearly("7", some("in capitals", "with a blank behind it")) == {
        "with a blank behind it": "7 "
    }
