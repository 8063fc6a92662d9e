"""What a question tells, and what it is bound to."""

from __future__ import annotations

import itertools
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.binding import digest, message

LONG = "x" * 5000
CALLS: list[dict[str, Any]] = [
    {},
    {"a": None},
    {"a": 1},
    {"a": 1.0},
    {"a": "1"},
    {"a": True},
    {"a": "true"},
    {"a": [1]},
    {"a": {"b": 1}},
    {"a": '{"b": 1}'},
    {"b": 1},
    {"a": 1, "b": 1},
    {"a": "1\n- b: 1"},
    {"a": "x\u202ey"},
    {"a": "x\\u202ey"},
    {"a": "x\u200by"},
    {"a": "xy"},
    {"a": "e\u0301"},
    {"a": "\u00e9"},
    {"a": LONG},
    {"a": LONG + "y"},
    {"a": LONG + "z"},
    {"__proto__": 1},
    {"a\n- b": 1},
    {str(number): "v" * 1000 for number in range(100)},
    {str(number): "v" * 1000 for number in range(101)},
]


def test_two_calls_that_differ_are_told_and_bound_differently():
    for one, other in itertools.combinations(CALLS, 2):
        assert digest(one) != digest(other)
        assert message("Do it.", one) != message("Do it.", other)


def test_the_order_of_members_is_no_difference():
    one, other = {"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}
    assert digest(one) == digest(other)
    assert message("Do it.", one) == message("Do it.", other)


def test_every_argument_has_a_line_and_nothing_can_rewrite_it():
    told = message("Do it\u202e.", {"name": "x\u2028y\r\n- amount: 1", "amount": 2})
    assert told == 'Do it\\u202e.\n- amount: 2\n- name: "x\\u2028y\\r\\n- amount: 1"'


def test_no_address_begs_to_be_opened():
    assert "://" not in message("See http://x", {"a": "https://y", "z://z": 1})


def test_what_is_cut_says_so():
    told = message("Do it.", {"a": LONG})
    assert "3002 more characters; SHA-256 of all: " in told
    assert len(message("Do it.", {str(n): LONG for n in range(200)})) < 60_000
