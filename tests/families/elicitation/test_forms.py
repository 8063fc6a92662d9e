"""Forms: which member approves, how to fill in the others, and what is not a yes."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.families.elicitation.form_answers import (
    CannotAnswerError,
    approving_member,
    honest_content,
    without_yes,
)
from pytest_mcp_approval.families.elicitation.schema_breaks import breaking
from pytest_mcp_approval.families.elicitation.settings import ElicitingTool

TOOL = ElicitingTool("delete_user", {})
BOX = {"type": "boolean"}
WORD = {"type": "string"}


def form(required: list[str] | None = None, **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": required or []}


CHOICE = {"type": "string", "enum": ["approve", "reject"]}
TITLED = {
    "type": "string",
    "oneOf": [{"const": "a", "title": "Ja, löschen"}, {"const": "b", "title": "Nein"}],
}


@pytest.mark.parametrize(
    ("schema", "tool", "expected"),
    [
        (form(confirm=BOX), TOOL, ("confirm", True, False)),
        (form(comment=WORD, sure=BOX), TOOL, ("sure", True, False)),
        (form(keep=BOX, approve=BOX), TOOL, ("approve", True, False)),
        (form(decision=CHOICE), TOOL, ("decision", "approve", "reject")),
        (form(what=TITLED), TOOL, ("what", "a", "b")),
        (form(one=BOX, two=BOX), ElicitingTool("t", {}, approves="two"), ("two", True, False)),
        (
            form(word=WORD),
            ElicitingTool("t", {}, approve={"word": "DELETE"}),
            ("word", "DELETE", None),
        ),
        (form(size={"type": "string", "enum": ["s", "m"]}), TOOL, None),
        (form(comment=WORD), TOOL, None),
        (form(), TOOL, None),
        (None, TOOL, None),
    ],
)
def test_which_member_approves(schema, tool, expected):
    found = approving_member(schema, tool)
    assert (None if found is None else (found.name, found.yes, found.no)) == expected


def test_an_honest_person_enters_no_more_than_is_asked_for():
    members = {
        "confirm": BOX,
        "comment": WORD,
        "mail": {"type": "string", "format": "email"},
        "count": {"type": "integer", "minimum": 3},
        "share": {"type": "number", "maximum": 0.5},
        "day": {"type": "string", "format": "date"},
        "long": {"type": "string", "minLength": 6},
        "short": {"type": "string", "maxLength": 2},
        "size": {"type": "string", "enum": ["s", "m"], "default": "m"},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1},
    }
    needed = [name for name in members if name != "comment"]
    assert honest_content(form(needed, **members), TOOL) == {
        "confirm": True,
        "mail": "person@example.com",
        "count": 3,
        "share": 0.5,
        "day": "2030-01-31",
        "long": "testxx",
        "short": "te",
        "size": "m",
        "tags": ["x"],
    }
    assert honest_content(form(needed, **members), ElicitingTool("t", {}, approve={"a": 1})) == {
        "a": 1
    }


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ({"type": "object"}, "which no form has"),
        ({"type": "string", "minLength": 9, "maxLength": 3}, "9 characters at least"),
        ({"type": "integer", "minimum": 5, "maximum": 3}, "is from 5 to 3"),
        ({"type": "string", "pattern": "^[0-9]{4}$"}, "follows"),
        ({"type": "string", "pattern": "(a+)+$" * 40}, "follows"),
        ({"type": "array", "items": {}, "minItems": 2}, "2 of 0 choices"),
    ],
)
def test_a_form_that_nobody_can_fill_in_is_told(member, why):
    with pytest.raises(CannotAnswerError, match=why):
        honest_content(form(["x"], x=member), TOOL)


def test_no_content_without_a_yes_says_yes():
    for schema in (form(confirm=BOX), form(decision=CHOICE), form(["note"], sure=BOX, note=WORD)):
        approving = approving_member(schema, TOOL)
        assert approving is not None
        tried = list(without_yes(schema, TOOL))
        assert len({one.name for one in tried}) == len(tried) > 20
        for one in tried:
            if isinstance(one.content, dict):
                value = one.content.get(approving.name)
                assert type(value) is not type(approving.yes) or value != approving.yes, one
    assert list(without_yes(form(), TOOL)) == []


def test_an_answer_breaks_the_schema_in_one_place():
    schema = form(
        ["confirm", "note"],
        confirm=BOX,
        note={"type": "string", "maxLength": 5, "minLength": 2},
        count={"type": "integer", "minimum": 1, "maximum": 3},
        size={"type": "string", "enum": ["s", "m"]},
    )
    honest = {"confirm": True, "note": "abc"}
    broken = dict(breaking(schema, honest, approving_member(schema, TOOL)))
    assert broken["note is too long"] == {"confirm": True, "note": "xxxxxx"}
    assert broken["without note"] == {"confirm": True}
    assert broken["count is too large"]["count"] == 4
    assert broken["size is a choice that is not offered"]["size"] == "not offered"
    assert all(one["confirm"] is True for one in broken.values()), "each still approves"
    closed = {**schema, "additionalProperties": False}
    assert "with a member more" in dict(breaking(closed, honest, None))
    assert "with a member more" not in broken
