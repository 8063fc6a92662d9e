"""Text made safe, JSON spelled exactly, streams read in whatever pieces they come."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mcp_approval.support.http1 import ResponseReader, compose_request
from pytest_mcp_approval.support.text import first_line, first_sentence, last_lines, neutralise
from pytest_mcp_approval.wire import (
    ErrorObject,
    Outcome,
    RawJson,
    Reply,
    notification_bytes,
    request_bytes,
    to_json,
)
from pytest_mcp_approval.wire.messages import NotAMessageError, answer_to, parse_message
from pytest_mcp_approval.wire.sse import EventReader


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, grün, 漢字 🎉", "plain, grün, 漢字 🎉"),
        ("\x1b[31mred\x07", r"\u001b[31mred\u0007"),
        ("a\nb\tc\r", r"a\u000ab\u0009c\u000d"),
        ("gnp.\u202eexe", r"gnp.\u202eexe"),
        ("\u2066x\u2069\ufeff\u200b\u2028", r"\u2066x\u2069\ufeff\u200b\u2028"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("\u3164\x9b", r"\u3164\u009b"),
        (b"caf\xc3\xa9 \xff\x1b", r"café \xff\u001b"),
        ("", ""),
        (b"", ""),
    ],
)
def test_hostile_text_is_spelled_out(text: str | bytes, shown: str) -> None:
    assert neutralise(text) == shown


odd_text = st.text("ab\\\x1b\u202e\ud800\U000e0041\u3164é🎉", max_size=80)


@settings(deadline=None)
@given(odd_text | st.binary(max_size=300), st.integers(1, 50))
def test_neutral_text_is_printable_and_bounded(text: str | bytes, limit: int) -> None:
    shown = neutralise(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit + 30


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("x" * 10, 10, "x" * 10),
        ("x" * 11, 10, "x" * 10 + "… (11 characters)"),
        (b"x" * 10**7, 5, "xxxxx… (10000000 bytes)"),
        ("abc\x1bdef", 6, "abc… (7 characters)"),
    ],
)
def test_long_text_is_cut_and_counted(text: str | bytes, limit: int, shown: str) -> None:
    assert neutralise(text, limit) == shown


def test_lines_are_picked() -> None:
    assert first_line("\n\n first\nsecond") == "first"
    assert first_sentence("No such row.\n    at x (y.js:1)") == "No such row."
    assert first_sentence("[\n  {\n  'code': 1.5 }\n]") == "[ { 'code': 1.5 } ]"
    assert first_sentence("e.g. this one! And more.") == "e.g. this one!"
    assert first_sentence("\n" * 10_000_000 + "x") == ""
    assert first_sentence("y" * 5_000).startswith("y" * 200 + "… (")
    assert first_sentence("a\x1b[2Jb") == "a\\u001b[2Jb"
    assert first_line(b"") == ""
    assert last_lines(b"one\n\ntwo\nthree\nfour\n\n") == "two | three | four"
    assert last_lines("") == ""


@pytest.mark.parametrize(
    ("params", "spelled"),
    [
        (None, None),
        ({}, "{}"),
        ({"a": [RawJson('{"x":1,"x":2}'), RawJson("NaN")]}, '{"a":[{"x":1,"x":2},NaN]}'),
        (RawJson(" [ ] "), " [ ] "),
        ({"a": RawJson("")}, '{"a":}'),
        ({"s": "\ud800ä"}, '{"s":"\\ud800\\u00e4"}'),
        ({"a": RawJson('"raw-json-0;"'), "b": RawJson("1E400")}, '{"a":"raw-json-0;","b":1E400}'),
    ],
)
def test_requests_are_spelled_exactly(params: object, spelled: str | None) -> None:
    member = "" if spelled is None else f',"params":{spelled}'
    assert (
        request_bytes(1, "m", params) == f'{{"jsonrpc":"2.0","id":1,"method":"m"{member}}}'.encode()
    )
    assert notification_bytes("m", params) == f'{{"jsonrpc":"2.0","method":"m"{member}}}'.encode()


def test_raw_bytes_need_not_be_text() -> None:
    assert to_json([RawJson(b"\xff"), RawJson("\ud800")]) == b"[\xff,\xed\xa0\x80]"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_is_no_json_must_be_meant(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        to_json({"a": value})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values, json_values)
def test_json_survives_with_and_without_raw_parts(plain: object, raw: object) -> None:
    spelled = to_json({"plain": plain, "raw": [RawJson(json.dumps(raw))]})
    assert json.loads(spelled) == {"plain": plain, "raw": [raw]}


@pytest.mark.parametrize(
    ("error", "code", "message", "line"),
    [
        ({"code": -1, "message": "m"}, -1, "m", "error -1 m"),
        (
            {"code": -1, "message": "m", "data": {"reason": "r"}},
            -1,
            "m",
            'error -1 m {"reason":"r"}',
        ),
        ({"code": "-1", "message": ["m"]}, None, "", 'error "-1"'),
        ({"code": True, "message": "\x1b"}, None, "\x1b", r"error true \u001b"),
        ({"code": 1.5}, None, "", "error 1.5"),
        ({}, None, "", "error null"),
        ("boom", None, "", 'error "boom"'),
        (None, None, "", "error null"),
    ],
)
def test_errors_are_read_whatever_their_types(
    error: object, code: int | None, message: str, line: str
) -> None:
    reply = Reply(Outcome.ERROR, message={"error": error})
    assert reply.error == ErrorObject.read(error)
    assert (reply.error.code, reply.error.message) == (code, message)
    assert reply.describe() == line


def test_a_result_beyond_json_can_be_described() -> None:
    assert Reply(Outcome.RESULT, message={"result": float("inf")}).describe() == "result inf"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(ends)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 500), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_are_the_same_in_whatever_pieces(places: list[int], end: bytes) -> None:
    lines = [
        b":x",
        b"data: a",
        b"data:b",
        b"",
        b"event: k",
        b"id: 1",
        b"data:  c",
        b"",
        b"",
        b"data",
        b"",
    ]
    reader = EventReader()
    events = [
        event for piece in cut(end.join([*lines, b""]), places) for event in reader.feed(piece)
    ]
    assert [(event.kind, event.data) for event in events] == [
        ("message", b"a\nb"),
        ("k", b" c"),
        ("message", b""),
    ]


@settings(deadline=None)
@given(st.lists(st.integers(0, 500), max_size=8), st.booleans())
def test_responses_are_the_same_in_whatever_pieces(places: list[int], chunked: bool) -> None:
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-A:  b \r\n"
    if chunked:
        data = (
            head + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: t\r\n\r\n"
        )
    else:
        data = head + b"Content-Length: 5\r\n\r\nabcde"
    reader = ResponseReader()
    body = b"".join(reader.feed(piece) for piece in cut(data, places))
    assert (reader.status, body, reader.done, reader.keep_alive) == (200, b"abcde", True, True)
    assert reader.headers[0] == ("X-A", "b")
    assert not reader.surplus


def test_a_request_is_one_piece() -> None:
    assert compose_request("POST", "/x?y", (("Host", "h"),), b"{}") == (
        b"POST /x?y HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize("text", ["1", "-7", "1.5", '"a"', '"\\ud800"', "9" * 300])
def test_a_servers_request_is_answered_under_its_id(text: str) -> None:
    request = parse_message(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
    answer = answer_to(request)
    assert answer is not None
    assert parse_message(answer).id == request.id
    assert b'"result":{}' in answer


@pytest.mark.parametrize("text", ["null", "true", "[1]", '{"a":1}'])
def test_an_id_that_is_none_is_not_answered(text: str) -> None:
    request = parse_message(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
    assert answer_to(request) is None


@pytest.mark.parametrize("text", ["1e999", "-1e999", "9" * 400, "[" * 300 + "]" * 300, "NaN"])
def test_an_id_beyond_measure_is_no_message(text: str) -> None:
    with pytest.raises(NotAMessageError, match=r"excessive nesting|not a JSON number"):
        parse_message(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
