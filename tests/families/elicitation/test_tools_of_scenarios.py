"""What the scenarios try and read: changed states, other arguments, questions, pages, claims."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from pytest_mcp_approval.families.elicitation.claims import pattern_of, reads_like, says_no
from pytest_mcp_approval.families.elicitation.other_arguments import (
    near_changes,
    plain_changes,
    reordered,
    written,
)
from pytest_mcp_approval.families.elicitation.page_checks import (
    data_in_url,
    mixed_addresses,
    protected_texts,
    wrong_with_url,
)
from pytest_mcp_approval.families.elicitation.question_checks import (
    credentials_asked,
    cut_without_saying,
    links_in,
    rewriting_characters,
    tells,
    wrong_with_params,
    wrong_with_result,
    wrong_with_schema,
)
from pytest_mcp_approval.families.elicitation.settings import ElicitingTool
from pytest_mcp_approval.families.elicitation.state_changes import (
    changed_states,
    rewritings,
    same_bytes,
)


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


# ---- states


@pytest.mark.parametrize("state", ["a", "ab12", "x" * 500, encoded({"a": 1}), "AbC.dEf.GhI"])
def test_no_change_of_a_state_is_the_state(state):
    changes = changed_states(state)
    assert state not in changes.values()
    assert len(set(changes.values())) == len(changes)


def test_every_character_of_a_short_state_is_changed_and_all_parts_of_a_long_one():
    changes = changed_states("abcdefgh")
    assert all(f"character {at} changed" in changes for at in range(8))
    places = [
        int(name.split()[1]) for name in changed_states("z" * 1000) if name.startswith("character")
    ]
    assert all(any(low <= at < low + 50 for at in places) for low in range(0, 1000, 50))


def test_a_readable_state_is_written_anew():
    state = encoded({"tool": "delete", "id": "u1"})
    assert "rewritten (a blank in it)" in changed_states(state)
    (name, other), *_ = rewritings(state, {"u1": "u2"})
    assert name == "rewritten (other arguments)"
    assert json.loads(base64.urlsafe_b64decode(other + "===")) == {"tool": "delete", "id": "u2"}
    assert list(rewritings("q7-_opaque.bytes", {"u1": "u2"})) == []


def test_a_web_token_is_tried_without_its_signature():
    state = f"{encoded({'alg': 'HS256'})}.{encoded({'sub': 'u1'})}.c2lnbmF0dXJl"
    changes = changed_states(state)
    assert changes["algorithm 'none', no signature"].endswith(".")
    assert changes["algorithm 'none', no signature"].split(".")[1] == state.split(".")[1]
    assert changes["its part 3 empty"] == ".".join([*state.split(".")[:2], ""])


def test_other_spellings_of_the_same_bytes_are_known():
    state = base64.urlsafe_b64encode(b"four").decode()
    assert state == "Zm91cg=="
    assert same_bytes(state, "Zm91cg")
    assert same_bytes(state, "Zm91ch==")  # the last bits are not used
    assert not same_bytes(state, "Zm91dg==")
    assert same_bytes("00ff00ff00", "00FF00FF00")
    uuid = "5b0c4d3e-8f21-4a67-9c15-3d2e1f0a9b81"
    assert same_bytes(uuid, uuid.upper())
    assert not same_bytes(uuid, f"{uuid[:-1]}2")


def test_parts_of_a_state_are_folded_alone_and_joined_by_others():
    changes = changed_states("v1.aBc.dEf")
    assert changes["its part 3 in another case"] == "v1.aBc.DeF"
    assert changes["one part more"] == "v1.aBc.dEf.AAAA"
    assert not same_bytes("v1.aBc.dEf", changes["one part more"])


# ---- arguments


TOOL = ElicitingTool(
    "wire",
    {"to": {"iban": "X1", "name": "Ada"}, "amount": 10, "tags": ["a", "b"], "note": "n"},
    exempt=("note",),
)


def test_every_bound_member_is_changed_added_and_dropped():
    changes = {one.name: one for one in plain_changes(TOOL)}
    for name in ("another to.iban", "without amount", "another tags[1]", "amount added"):
        assert changes[name].asked != changes[name].called
    assert not any("note" in name for name in changes), "it is exempt"
    assert all(written(one.asked) != written(one.called) for one in near_changes(TOOL))


def test_what_a_tool_does_not_list_comes_in_every_type_and_empty_ones_come_without():
    changes = {one.name: one for one in near_changes(TOOL)}
    number = changes["an argument more: a number as text"]
    assert (number.asked["further"], number.called["further"]) == (1, "1")
    gone = changes["tags empty, then left out"]
    assert gone.asked["tags"] == []
    assert "tags" not in gone.called
    assert not any(name.startswith("note empty") for name in changes), "it is exempt"
    assert written({"a": True, "b": 1}) == written({"b": 1, "a": True}) != written({"a": 1, "b": 1})


def test_addresses_are_mixed_where_two_places_name_a_page():
    assert mixed_addresses("https://a/p/1", "https://a/p/2") == {}
    queries = mixed_addresses("https://a/p/1?q=1", "https://a/p/2?q=2")
    assert queries["the query of the other"] == "https://a/p/1?q=2"
    assert queries["both queries"] == "https://a/p/1?q=1&q=2"
    paths = mixed_addresses("https://a/u1/1", "https://a/u2/2")
    assert set(paths.values()) == {"https://a/u2/1", "https://a/u1/2"}


def test_another_order_is_the_same():
    again = reordered(TOOL.arguments)
    assert again == TOOL.arguments
    assert list(again) == ["note", "tags", "amount", "to"]
    assert list(again["to"]) == ["name", "iban"]


# ---- questions

GOOD = {"message": "Delete u1?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ({"inputRequests": {"q": {"method": "elicitation/create", "params": GOOD}}}, None),
        ({"requestState": "s"}, None),
        ({}, "neither inputRequests nor requestState"),
        ({"requestState": 7}, "requestState is 7, expected text"),
        ({"inputRequests": []}, "inputRequests is [], expected an object"),
        ({"inputRequests": {"q": {"method": "tools/call"}}}, "which no result may ask for"),
        ({"inputRequests": {"q": {"method": "roots/list"}}}, "the client declared nothing"),
        ({"inputRequests": {"q": {"method": "elicitation/create"}}}, "has params None"),
    ],
)
def test_the_shape_of_a_result_that_asks(result, said):
    found = list(wrong_with_result(result))
    assert found == [] if said is None else said in found[0]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (GOOD, None),
        ({**GOOD, "mode": "form"}, None),
        ({"mode": "url", "message": "m", "url": "https://e.example"}, None),
        ({**GOOD, "message": " "}, "expected a text that says something"),
        ({**GOOD, "mode": "voice"}, "expected form or url"),
        ({"message": "m"}, "requestedSchema is None"),
    ],
)
def test_the_shape_of_a_question(params, said):
    found = list(wrong_with_params(params))
    assert found == [] if said is None else said in found[0]


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ({"type": "boolean", "title": "Sure?", "default": False}, None),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, None),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, None),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, None),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, None),
        ({"type": "object", "properties": {}}, "has properties, so it is not primitive"),
        ({"type": "array", "items": {"type": "object"}}, "a list of something else than choices"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "is of the type None"),
        ({"type": "string", "format": "password"}, "has the format 'password'"),
        ({"$ref": "#/x"}, "has $ref"),
        (7, "is 7, expected an object"),
    ],
)
def test_a_form_is_flat(member, said):
    found = list(wrong_with_schema({"type": "object", "properties": {"m": member}}))
    assert found == [] if said is None else said in found[0]


def test_lists_came_with_a_later_revision():
    schema = {
        "type": "object",
        "properties": {"m": {"type": "array", "items": {"type": "string", "enum": ["a"]}}},
    }
    assert "this revision does not know" in next(wrong_with_schema(schema, lists=False))


@pytest.mark.parametrize(
    ("name", "member", "certain", "likely"),
    [
        ("password", {"type": "string"}, 1, 0),
        ("apiKey", {"type": "string"}, 1, 0),
        ("card_number", {"type": "string"}, 1, 0),
        ("new_password", {"type": "string"}, 1, 0),
        ("Passwort", {"type": "string"}, 1, 0),
        ("word", {"type": "string", "format": "password"}, 1, 0),
        ("value", {"type": "string", "title": "Your password"}, 0, 1),
        ("passport_country", {"type": "string"}, 0, 0),
        ("reset_password", {"type": "boolean"}, 0, 0),
        ("opinion", {"type": "string"}, 0, 0),
    ],
)
def test_credentials_are_found_by_name_and_format(name, member, certain, likely):
    params = {"message": "m", "requestedSchema": {"properties": {name: member}}}
    found = credentials_asked(params)
    assert (len(found[0]), len(found[1])) == (certain, likely), found


def test_a_message_about_passwords_is_no_question_for_one():
    assert credentials_asked({"message": "Reset the password of u1?"}) == ([], [])
    assert credentials_asked({"message": "Please enter your password."})[1]


def test_links_are_found_but_not_those_that_were_asked_about():
    params = {"message": "Open https://a.example/x to fetch https://b.example/y."}
    assert list(links_in(params, {"url": "https://b.example/y"})) == [
        "message: https://a.example/x"
    ]


@pytest.mark.parametrize(
    ("message", "value", "told"),
    [
        ("Wire 1,000 to Ada", 1000, True),
        ("Wire 1000.0 to Ada", 1000, True),
        ("Delete U1", "u1", True),
        ("Are you sure?", "u1", False),
        ("Are you sure?", True, True),
    ],
)
def test_a_value_is_told_in_one_of_its_spellings(message, value, told):
    assert tells(message, value) is told


def test_what_is_cut_is_said_and_what_rewrites_is_found():
    assert cut_without_saying("Delete aaa", "aaab")
    assert not cut_without_saying("Delete aaa… (4 characters)", "aaab")
    assert rewriting_characters("a\u202eb\x1b", "") == ["U+001B", "U+202E"]
    assert rewriting_characters("a\nb") == []


# ---- pages


@pytest.mark.parametrize(
    ("url", "wrong", "advice"),
    [
        ("https://a.example/x", 0, 0),
        ("http://localhost:1/x", 0, 0),
        ("http://a.example/x", 0, 1),
        ("/approve/1", 1, 0),
        ("javascript:alert(1)", 1, 0),
        ("https://[", 1, 0),
        (None, 1, 0),
    ],
)
def test_the_address_of_a_page(url, wrong, advice):
    found = wrong_with_url(url)
    assert (len(found[0]), len(found[1])) == (wrong, advice)


@pytest.mark.parametrize(
    ("url", "certain"),
    [
        ("https://a.example/approve/q7x", False),
        ("https://u:p@a.example/x", True),
        ("https://a.example/x?access_token=1", True),
        ("https://a.example/x?email=a", True),
        ("https://a.example/x?q=ann%40b.example", True),
        ("https://a.example/x?id=bearer-of-ann", True),
        ("https://a.example/eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", True),
    ],
)
def test_data_in_an_address(url, certain):
    found = data_in_url(url, ["Bearer bearer-of-ann"], {"id": "test-1"})
    assert bool(found[0]) is certain, found


def test_what_a_page_shows():
    assert protected_texts(b"<p>Delete test-1</p>", {"id": "test-1", "n": 1}) == ["id"]
    assert protected_texts(b"<p>Delete test-12</p>", {"id": "test-1"}) == []


# ---- claims


@pytest.mark.parametrize(
    ("words", "no"),
    [
        ("Deletion cancelled by user.", True),
        ("The user declined.", True),
        ("Nothing was changed.", True),
        ("User test-1 was not deleted.", True),
        ("Deleted user test-1.", False),
        ('{"done": true}', False),
    ],
)
def test_words_that_say_no(words, no):
    assert says_no(words) is no


def test_the_name_of_a_tool_says_nothing():
    assert not says_no("Order 7 cancelled", about="cancel_order")
    assert says_no("Order 7 cancelled", about="refund_order")


def test_an_answer_reads_like_an_honest_one():
    honest = pattern_of("Deleted user test-1 (run 12)", {"id": "test-1"})
    assert reads_like(pattern_of("Deleted user test-2 (run 13)", {"id": "test-2"}), honest)
    assert not reads_like(pattern_of("Kept user test-1", {"id": "test-1"}), honest)
    assert not reads_like(pattern_of("Not deleted user test-1 (run 1)", {"id": "test-1"}), honest)
