"""Tools that look destructive and ask nobody: which are told, which are not, and in what words."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.families.base.survey import (
    ANNOTATED,
    MOST,
    NAMED,
    named_by_reason,
    silent_tools,
    why_destructive,
)


def entry(name: object, **hints: Any) -> dict[str, Any]:
    return {"name": name, **({"annotations": hints} if hints else {})}


@pytest.mark.parametrize(
    ("hints", "why"),
    [
        ({"destructiveHint": True}, ANNOTATED),
        ({"destructiveHint": True, "readOnlyHint": False}, ANNOTATED),
        ({"destructiveHint": False}, ""),
        ({"readOnlyHint": True}, ""),
        ({"readOnlyHint": True, "destructiveHint": True}, ""),  # the second means nothing then
        ({"title": "Delete"}, NAMED),
        ({"readOnlyHint": False}, NAMED),
        ({"destructiveHint": "true"}, NAMED),
        ({}, NAMED),
    ],
)
def test_hints_come_before_the_name(hints: dict[str, Any], why: str):
    assert why_destructive(entry("delete_user", **hints)) == why


@pytest.mark.parametrize(
    "name",
    [
        *("delete_user", "deleteUser", "DeleteUser", "user-delete", "userDelete", "DROP_TABLE"),
        *("shop:delete_user", "shop.user/remove", "shop__purge", "send_mail", "HTTPSend", "rm"),
    ],
)
def test_names_that_act_are_told(name: str):
    assert why_destructive(entry(name)) == NAMED


@pytest.mark.parametrize(
    "name",
    [
        *(
            "list_deleted",
            "show_transfer",
            "get_refund",
            "undelete_user",
            "count_drop",
            "preview_pay",
        ),
        *(
            "sender_address",
            "droplet_create",
            "payroll",
            "description",
            "issue_list",
            "",
            "…",
            "x" * 9999,
        ),
    ],
)
def test_names_that_look_are_not(name: str):
    assert why_destructive(entry(name)) == ""


def test_gated_tools_are_not_told():
    listed = [entry("delete_user"), entry("purge_cache", destructiveHint=True), entry("get_user")]
    assert silent_tools(listed, ["delete_user"]) == [("purge_cache", ANNOTATED)]
    assert silent_tools(listed, ["delete_user", "purge_cache"]) == []


def test_a_hostile_listing_is_bounded_and_harmless():
    names: list[object] = [None, 7, ["delete"], "delete\x1b[2J\u202e_it", "delete_" + "y" * 9999]
    listed = [entry(name) for name in names]
    listed += [{"name": "wipe", "annotations": 7}, {"annotations": {"destructiveHint": True}}]
    listed += [entry(f"delete_{number}") for number in range(10_000)]
    found = silent_tools(listed, [])
    assert len(found) == MOST
    assert [len(name) for name, _ in found if len(name) > 100] == []
    assert all(name.isprintable() and name.isascii() for name, _ in found[:1]), found[:1]


def test_some_are_named_and_the_rest_is_counted():
    annotated = [(f"wipe_{number}", ANNOTATED) for number in range(9)]
    assert named_by_reason([]) == ""
    assert named_by_reason([("purge", ANNOTATED)]) == "purge (annotated destructive)"
    assert named_by_reason([*annotated, ("pay", NAMED)], 2) == (
        "wipe_0, wipe_1 and 7 more (annotated destructive); pay (named like something destructive, "
        "and without hints)"
    )
