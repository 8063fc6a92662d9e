"""What the driver reads out of answers, tables and words."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.config.settings import SettingsError
from pytest_mcp_approval.families.prepare_confirm.comparing import what_differs
from pytest_mcp_approval.families.prepare_confirm.outcome import (
    Preview,
    TwoStepAnswer,
    TwoStepOutcome,
    item_id,
)
from pytest_mcp_approval.families.prepare_confirm.settings import (
    Pair,
    PrepareConfirmTable,
    find_pairs,
    missing_tools,
    read_table,
)
from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    confirm_name,
    meanings_of,
    read_payload,
)
from pytest_mcp_approval.wire import Outcome, Reply

PAIR = Pair(
    "close", "prepare_close", "confirm_close", arguments={"ids": ["a", "b"], "force": False}
)


def reply(result):
    return Reply(Outcome.RESULT, message={"id": 1, "result": result})


# ---- answers


@pytest.mark.parametrize(
    "result",
    [
        {"structuredContent": {"success": True}, "content": []},
        {"structuredContent": {"result": {"success": True}}},
        {"structuredContent": {"result": '{"success": true}'}},
        {"content": [{"type": "text", "text": '{"success": true}'}]},
        {"content": [{"type": "text", "text": '{"result": {"success": true}}'}]},
    ],
    ids=json.dumps,
)
def test_an_object_is_found_wherever_sdks_put_it(result):
    assert TwoStepAnswer.of(reply(result)).member("success") is True


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": "no list"},
        {"content": [None, {"text": 5}, {"text": "plain words"}]},
        {"structuredContent": [1], "content": [{"text": "[" * 100_000}]},
    ],
    ids=lambda result: str(result)[:40],
)
def test_what_is_no_object_is_none(result):
    answer = TwoStepAnswer.of(reply(result))
    assert answer.value is None
    assert answer.describe()


def test_dots_reach_inside():
    answer = TwoStepAnswer.of(reply({"structuredContent": {"a": {"b": 1}, "c": 2}}))
    assert (answer.member("a.b"), answer.member("a.x"), answer.member("c.d")) == (1, None, None)


def test_errors_of_both_kinds_are_errors():
    error = Reply(Outcome.ERROR, message={"id": 1, "error": {"code": -32602, "message": "no"}})
    assert TwoStepAnswer.of(error).is_error
    told = TwoStepAnswer.of(reply({"isError": True, "content": [{"type": "text", "text": "why"}]}))
    assert told.is_error
    assert told.text == "why"
    assert not TwoStepAnswer.of(Reply(Outcome.NO_ANSWER)).answered


@pytest.mark.parametrize(
    ("value", "problem"),
    [("2030-01-01T00:05:00", "without a time zone"), (None, "expected ISO"), ("soon", "Invalid")],
)
def test_an_end_without_a_zone_is_none(value, problem):
    answer = TwoStepAnswer.of(reply({"structuredContent": {"token_expires_at": value}}))
    with pytest.raises(ValueError, match=problem):
        _ = Preview(PAIR, {}, answer, PrepareConfirmTable()).expires_at


def test_ends_as_text_and_as_number_are_the_same():
    def end(value):
        answer = TwoStepAnswer.of(reply({"structuredContent": {"token_expires_at": value}}))
        return Preview(PAIR, {}, answer, PrepareConfirmTable()).expires_at

    assert end("2030-01-01T00:00:00Z") == end("2030-01-01T05:30:00+05:30") == end(1893456000)


@pytest.mark.parametrize(
    ("item", "name"),
    [("a", "a"), ({"id": 5}, "5"), ({"name": "n", "username": "u"}, "u"), ({}, "{}")],
)
def test_items_have_names(item, name):
    assert item_id(item) == name


# ---- words


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Confirmation failed: Token has expired", TwoStepReason.EXPIRED),
        ("Confirmation failed: Token has already been used", TwoStepReason.USED),
        ("This token was used before", TwoStepReason.USED),
        ("Replay detected", TwoStepReason.USED),
        ("Invalid token signature", TwoStepReason.SIGNATURE),
        ("The token was tampered with", TwoStepReason.SIGNATURE),
        ("Invalid token: wrong action type", TwoStepReason.WRONG_ACTION),
        ("action does not match", TwoStepReason.WRONG_ACTION),
        ("confirmation_token is required", TwoStepReason.MALFORMED),
    ],
)
def test_words_are_taken_by_their_meaning(message, reason):
    assert reason in meanings_of(message)


def test_words_of_one_reason_are_not_those_of_another():
    apart = (
        TwoStepReason.EXPIRED,
        TwoStepReason.USED,
        TwoStepReason.SIGNATURE,
        TwoStepReason.WRONG_ACTION,
    )
    for message, reason in (
        ("the token has expired: prepare again to get a new one", TwoStepReason.EXPIRED),
        ("the token has already been used: prepare again to get a new one", TwoStepReason.USED),
        ("the token's signature is not valid", TwoStepReason.SIGNATURE),
        ("wrong action: the token is for close, not for delete", TwoStepReason.WRONG_ACTION),
    ):
        assert meanings_of(message) & set(apart) == {reason}
    assert meanings_of("Bitte noch einmal") == frozenset()


def test_pairs_are_known_by_their_names():
    assert confirm_name("prepare_x") == "confirm_x"
    assert confirm_name("prepare_") is None
    assert confirm_name("compare_x") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"action":1,"data":{},"expires_at":1,"issued_at":1,"nonce":"a"}',
        "[" * 99999,
    ],
    ids=lambda text: text[:20],
)
def test_a_payload_of_another_shape_is_none(text):
    with pytest.raises(ValueError, match="payload: "):
        read_payload(text)


def test_a_payload_is_written_and_read():
    payload = Payload("x", {"b": ["é|"], "a": 1}, 2.5, 1.0, "n")
    assert read_payload(payload.to_text()) == payload


# ---- tables


def test_pairs_are_found_by_name_and_by_the_table():
    table = read_table(
        {"pairs": {"wipe": {"prepare": "ask", "confirm": "go", "arguments": {"x": 1}}}}
    )
    listed = ["go", "prepare_a", "confirm_a", "prepare_b", "ask", "confirm_c", "prepare_archive_x"]
    listed.append("confirm_archive_x")
    pairs = find_pairs(table, listed, {"prepare_a": {"y": 2}})
    assert [(pair.name, pair.prepare, pair.confirm) for pair in pairs] == [
        ("wipe", "ask", "go"),
        ("a", "prepare_a", "confirm_a"),
        ("archive_x", "prepare_archive_x", "confirm_archive_x"),
    ]
    assert [pair.arguments for pair in pairs] == [{"x": 1}, {"y": 2}, None]
    assert [pair.reversible for pair in pairs] == [False, None, True]


def test_tools_that_are_not_there_are_named():
    table = read_table({"pairs": {"x": {"confirm": "go"}}})
    assert missing_tools(table, ["prepare_x"]) == ["go"]


@pytest.mark.parametrize(
    "given",
    [
        {"colour": "red"},
        {"token": 5},
        {"payload": "yes"},
        {"expiry-minutes": 0},
        {"expiry-minutes": True},
        {"pairs": []},
        {"pairs": {"x": 1}},
        {"pairs": {"x": {"colour": 1}}},
    ],
    ids=str,
)
def test_a_table_that_cannot_be_meant_is_one_line(given):
    with pytest.raises(SettingsError, match=r"^\[prepare_confirm.*got .*expected .*$"):
        read_table(given)


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ("x", r"restore\[0\]: got 'x', expected \{ tool = "),
        ([1], r"restore\[0\]: got 1, expected \{ tool = "),
        (5, r"restore\[0\]: got 5, expected \{ tool = "),
        ({"arguments": {}}, r"restore\[0\]: got no 'tool', expected a tool's name"),
        ({"tool": "x", "arguments": 5}, r"restore\[0\]\.arguments: got 5, expected a table"),
    ],
)
def test_calls_that_cannot_be_meant_are_one_line(calls, words):
    with pytest.raises(SettingsError, match=rf"^\[prepare_confirm\.pairs\.x\] {words}"):
        read_table({"pairs": {"x": {"restore": calls}}})


# ---- what was shown against what was done


def preview(ids=("a", "b")):
    items = [{"id": one} for one in ids]
    answer = TwoStepAnswer.of(reply({"structuredContent": {"items": items}}))
    return Preview(PAIR, PAIR.arguments or {}, answer, PrepareConfirmTable())


def outcome(answer=None, runs=2, entries=None, **members):
    told = {"success": True, **members} if answer is None else answer
    seen = TwoStepAnswer.of(reply({"structuredContent": told}))
    return TwoStepOutcome(
        PAIR, seen, PrepareConfirmTable(), entries, runs=runs, probed=runs is not None
    )


def entry(name, **members):
    return {"number": 1, "arguments": {"id": name, **members}}


@pytest.mark.parametrize(
    "same",
    [
        outcome(),
        outcome(runs=None),
        outcome(runs=1),
        outcome(ids=["b", "a"], closed_count=2),
        outcome(entries=(entry("b"), entry("a", force=False))),
        outcome(entries=({"all": ["a", "b"]}, {"all": ["a", "b"]})),
    ],
)
def test_what_was_shown_was_done(same):
    assert what_differs(preview(), same) == ""


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (outcome({"success": False, "message": "no"}), "message: no"),
        (outcome(closed_count=3), "counts 3"),
        (outcome(ids=["a"]), "names a, the preview a, b"),
        (outcome(ids=["a", "b", "b"]), "names a, b, b"),
        (outcome(runs=3), "3 done"),
        (outcome(entries=(entry("a"), entry("c"))), "something else done"),
        (outcome(entries=(entry("a"), entry("a"))), "a done twice"),
        (outcome(entries=(entry("a", force=True), entry("b"))), "force True, prepared was False"),
    ],
)
def test_what_was_not_shown_is_told(other, words):
    assert words in what_differs(preview(), other)
