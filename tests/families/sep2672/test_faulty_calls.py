"""The pairs of faults: complete, and honest about what is left out."""

from __future__ import annotations

import itertools
import uuid

import pytest

from pytest_mcp_approval.families.sep2672.driver import ListedTool
from pytest_mcp_approval.families.sep2672.faulty_calls import (
    FAULTS,
    other_arguments,
    possible_pairs,
    unissued,
    why_not_together,
)


def test_every_check_before_the_consumption_has_a_fault():
    assert {fault.step for fault in FAULTS} == set(range(1, 13))


def test_no_two_faults_share_an_id():
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize(
    ("first", "second"), list(itertools.combinations(range(1, 13), 2)), ids="{}".format
)
def test_each_two_checks_meet_in_one_call_or_it_is_said_why_not(first: int, second: int):
    pairs = {(one.step, other.step) for one, other in possible_pairs()}
    reasons = [
        why_not_together(one, other)
        for one in FAULTS
        for other in FAULTS
        if (one.step, other.step) == (first, second)
    ]
    assert (first, second) in pairs or all(reasons)


def test_what_cannot_meet():
    pairs = {(one.step, other.step) for one, other in possible_pairs()}
    impossible = set(itertools.combinations(range(1, 13), 2)) - pairs
    assert impossible == {
        *((1, later) for later in range(2, 13)),
        *((4, later) for later in (5, 6, 7, 12)),
        (8, 9),
        (8, 11),
    }


def test_an_unissued_id_keeps_its_shape():
    issued = str(uuid.uuid4())
    assert unissued(issued) != issued
    assert len(str(uuid.UUID(unissued(issued)))) == len(issued)
    assert unissued("---") != "---"


@pytest.mark.parametrize(
    ("value", "schema", "other"),
    [
        ("ACME", {"type": "string"}, "ACMx"),
        ("x", {"type": "string"}, "y"),
        (1, {"type": "integer"}, 2),
        (5, {"type": "integer", "maximum": 5}, 4),
        (True, {"type": "boolean"}, False),
        ("buy", {"enum": ["buy", "sell"]}, "sell"),
    ],
    ids=repr,
)
def test_other_arguments_fit_the_schema(value: object, schema: object, other: object):
    listing = {"inputSchema": {"properties": {"member": schema}}}
    tool = ListedTool("tool", listing, None, {"member": value})
    assert other_arguments(tool) == {"member": other}


@pytest.mark.parametrize("safe", [{}, {"id": "x-1"}], ids=["none", "of a pattern"])
def test_where_no_value_can_change_a_member_is_added(safe: dict[str, object]):
    listing = {"inputSchema": {"properties": {"id": {"type": "string", "pattern": "^x-1$"}}}}
    changed = other_arguments(ListedTool("tool", listing, None, safe))
    assert changed.items() > safe.items()
