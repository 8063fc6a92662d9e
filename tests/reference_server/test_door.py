"""Strict JSON: what comes in, what does not, by which code and under which id."""

import io
import json

import pytest

from pytest_mcp_approval.reference_server.server import door
from pytest_mcp_approval.reference_server.server.stdio import read_line


def request(arguments: str, id: str = "7") -> bytes:
    return (
        f'{{"jsonrpc":"2.0","id":{id},"method":"tools/call",'
        f'"params":{{"name":"t","arguments":{arguments}}}}}'
    ).encode()


DEEP = "[" * 98 + "]" * 98  # two levels are the message and its params
REFUSED = {
    # the text
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"\xff"}', -32700, None),
    "overlong UTF-8": (b'{"a":"\xc0\xaf"}', -32700, None),
    "surrogate in UTF-8": (b'{"a":"\xed\xa0\x80"}', -32700, None),
    "byte order mark": (b"\xef\xbb\xbf{}", -32700, None),
    "nothing": (b"", -32700, None),
    "no JSON": (b"nonsense", -32700, None),
    "half of it": (b'{"jsonrpc":"2.0","id":7', -32700, None),
    "two of them": (b"{} {}", -32700, None),
    "control character": (b'{"a":"\x01"}', -32700, None),
    "NaN": (request('{"n":NaN}'), -32700, 7),
    "Infinity": (request('{"n":Infinity}'), -32700, 7),
    "-Infinity": (request('{"n":-Infinity}', '"seven"'), -32700, "seven"),
    "1e400": (request('{"n":1e400}'), -32700, 7),
    "-1e400": (request('{"n":-1e400}'), -32700, 7),
    "an integer of 400 digits": (request('{"n":%s}' % ("9" * 400)), -32700, 7),
    "an integer of 5000 digits": (request('{"n":%s}' % ("9" * 5000)), -32700, 7),
    "member twice": (request('{"a":1,"a":1}'), -32700, 7),
    "member twice, escaped": (request('{"a":1,"\\u0061":2}'), -32700, 7),
    "member twice, deep": (request('{"x":[{"a":1,"a":2}]}'), -32700, 7),
    "method twice": (b'{"jsonrpc":"2.0","id":7,"method":"a","method":"b"}', -32700, 7),
    "id twice": (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"a"}', -32700, None),
    "high surrogate": (request('{"t":"\\ud800"}'), -32700, 7),
    "low surrogate": (request('{"t":"\\udc00x"}'), -32700, 7),
    "surrogates swapped": (request('{"t":"\\udc00\\ud800"}'), -32700, 7),
    "surrogate in a name": (request('{"\\ud800":1}'), -32700, 7),
    "surrogate in the id": (request("{}", '"\\ud800"'), -32700, None),
    "101 levels": (request("[" + DEEP + "]"), -32700, 7),
    "100000 levels": (request("[" * 100_000 + "]" * 100_000), -32700, None),
    # the envelope
    "a batch": (b"[" + request("{}") + b"]", -32600, None),
    "a number": (b"5", -32600, None),
    "null": (b"null", -32600, None),
    "no version": (b'{"id":7,"method":"a"}', -32600, 7),
    "version 1.0": (b'{"jsonrpc":"1.0","id":7,"method":"a"}', -32600, 7),
    "version as a number": (b'{"jsonrpc":2.0,"id":7,"method":"a"}', -32600, 7),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"a"}', -32600, None),
    "id true": (b'{"jsonrpc":"2.0","id":true,"method":"a"}', -32600, None),
    "id 1.5": (b'{"jsonrpc":"2.0","id":1.5,"method":"a"}', -32600, None),
    "id is a list": (b'{"jsonrpc":"2.0","id":[7],"method":"a"}', -32600, None),
    "method is a number": (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
    "method is null": (b'{"jsonrpc":"2.0","id":7,"method":null}', -32600, 7),
    "no method": (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
    "too large": (b" " * (door.MAXIMUM_BYTES + 1), -32600, None),
    # the params
    "params are a list": (b'{"jsonrpc":"2.0","id":7,"method":"a","params":[]}', -32602, 7),
    "params are text": (b'{"jsonrpc":"2.0","id":7,"method":"a","params":"x"}', -32602, 7),
    "2^53": (request('{"n":9007199254740992}'), -32602, 7),
    "-2^53": (request('{"n":[{"m":-9007199254740992}]}'), -32602, 7),
    "10^300": (request('{"n":1%s}' % ("0" * 300)), -32602, 7),
}


@pytest.mark.parametrize(("body", "code", "id"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_come_in_is_told_why(body, code, id):
    with pytest.raises(door.DoorRefusal) as caught:
        door.check(body)
    answer = json.loads(caught.value.to_bytes())
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] == id
    assert answer["error"]["code"] == code
    assert 10 < len(answer["error"]["message"]) < 200


ADMITTED = {
    "plain": request("{}"),
    "text id": request("{}", '"x"'),
    "zero id": request("{}", "0"),
    "large id": request("{}", "9007199254740993"),
    "2^53 - 1": request('{"n":[9007199254740991,-9007199254740991]}'),
    "large as a double": request('{"n":1e300}'),
    "tiny": request('{"n":1e-400}'),
    "a whole pair": request('{"t":"\\ud83d\\ude00"}'),
    "the same name in two objects": request('{"a":{"a":1},"b":{"a":2}}'),
    "100 levels": request(DEEP),
    "odd spacing": b' \r\n{ "jsonrpc" : "2.0" , "method" : "a" }\t',
    "notification": b'{"jsonrpc":"2.0","method":"a"}',
    "params null": b'{"jsonrpc":"2.0","id":7,"method":"a","params":null}',
    "a large number outside of arguments": (
        b'{"jsonrpc":"2.0","method":"a","params":{"n":9007199254740993}}'
    ),
    "result": b'{"jsonrpc":"2.0","id":7,"result":{}}',
    "error": b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}',
}


@pytest.mark.parametrize("body", ADMITTED.values(), ids=ADMITTED.keys())
def test_what_comes_in_is_what_json_says(body):
    assert door.check(body) == json.loads(body)


def test_lines_are_cut_and_half_a_line_is_none():
    file = io.BytesIO(b"first\n\nsecond \xff\nrest")
    assert [read_line(file) for _ in range(4)] == [b"first\n", b"\n", b"second \xff\n", b""]


def test_a_line_too_long_is_counted_but_not_kept(monkeypatch):
    monkeypatch.setattr(door, "MAXIMUM_BYTES", 5)
    file = io.BytesIO(b"12345\n1234567\nok\n123456")
    assert [read_line(file) for _ in range(5)] == [b"12345\n", None, b"ok\n", None, b""]
