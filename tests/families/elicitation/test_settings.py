"""The table [elicitation]: what it may hold, and one line for what it may not."""

from __future__ import annotations

import re

import pytest

from pytest_mcp_approval.config.reader import SettingsError
from pytest_mcp_approval.families.elicitation.settings import (
    ElicitingTool,
    missing_tools,
    read_table,
    tools_of_table,
)

WHOLE = {
    "tools": {
        "delete_user": {
            "arguments": {"id": "test-1"},
            "other-arguments": {"id": "test-2"},
            "approve": {"confirm": True},
            "approves": "confirm",
            "exempt": ["note"],
            "silent-arguments": {"id": "me"},
            "failing-arguments": {"id": "broken"},
        },
        "refund": {},
    },
    "instead": "confirmation_tokens",
    "patience": 30,
    "person": {"approve-button": "OK", "headers": {"Cookie": "session=1"}},
}


def test_a_whole_table_is_read():
    table = read_table(WHOLE)
    delete, refund = table.named_tools().values()
    assert delete.name == "delete_user"
    assert delete.exempt == ("note",)
    assert delete.failing_arguments == {"id": "broken"}
    assert refund == ElicitingTool("refund")
    assert (table.person.approve_button, table.person.decline_button) == ("OK", "Decline")


def test_safe_arguments_also_come_from_elsewhere():
    tools = tools_of_table(read_table(WHOLE), ["refund", "delete_user"], {"refund": {"order": 1}})
    assert [(one.name, one.arguments) for one in tools] == [
        ("delete_user", {"id": "test-1"}),
        ("refund", {"order": 1}),
    ]
    assert missing_tools(read_table(WHOLE), ["refund"]) == ["delete_user"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"tool": {}}, "[elicitation]: got 'tool', did you mean 'tools'?"),
        ({"tools": {"a": {"args": {}}}}, "[elicitation.tools.a]: got 'args', "),
        ({"tools": {"a": {"arguments": "x"}}}, "got 'x', expected a table of arguments"),
        ({"tools": {"a": {"exempt": 7}}}, "[elicitation.tools.a] exempt: got 7, expected text"),
        ({"tools": {"a": 7}}, "[elicitation.tools] a: got 7, expected a table"),
        ({"patience": 0}, "[elicitation] patience: got 0, expected seconds up to 86400"),
        ({"person": {"who": "me"}}, "[elicitation.person] who: got 'me', expected page, browser"),
        ({"person": {"approve-button": ""}}, "approve-button: got '', expected text"),
    ],
)
def test_what_is_wrong_is_one_line(table, said):
    with pytest.raises(SettingsError, match=re.escape(said)) as caught:
        read_table(table)
    assert "\n" not in str(caught.value)
