"""Untrusted JSON: what would do harm later is refused when it is read."""

from __future__ import annotations

import json
import sys

import pytest

from pytest_mcp_approval.support.json_reading import DEEPEST, JsonError, read_json

MANY_AND_NOT_DEEP = [[{}]] * DEEPEST


@pytest.mark.parametrize(
    "value",
    [
        *(None, 1, -1.5, 1e308, 10**300, "a\ud800", [], {"a": [{}, "\u2028"]}, "", True),
        pytest.param(MANY_AND_NOT_DEEP, id="many and not deep"),
    ],
)
def test_what_is_json_is_read(value: object) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"{", "not JSON"),
        (b"\xff", "not UTF-8"),
        ("{}".encode("utf-16"), "not UTF-8"),
        (b"NaN", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"1e999", "excessive nesting"),
        (b'{"id":-1e400}', "excessive nesting"),
        (b"9" * 309, "excessive nesting"),
        (b"-" + b"9" * 5000, "excessive nesting"),
        (b"[" * 200_000, "excessive nesting"),
        (b"[" * 200_000 + b"]" * 200_000, "excessive nesting"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "excessive nesting"),
        (b'{"a":' * (DEEPEST + 1) + b"1" + b"}" * (DEEPEST + 1), "excessive nesting"),
        (7, "int, not text"),
        (None, "NoneType, not text"),
    ],
)
def test_what_hurts_is_one_kind_of_error(text: object, words: str) -> None:
    with pytest.raises(JsonError, match=words):
        read_json(text)


@pytest.mark.parametrize("levels", [DEEPEST - 1, DEEPEST])
def test_many_brackets_are_not_depth(levels: int) -> None:
    """Of a wide list and a text full of brackets, only the one branch decides."""
    branch = "[" * levels + "]" * levels
    text = f'[{"{}," * 1000}"{"[" * 1000}",{branch}]'
    if levels < DEEPEST:
        assert len(read_json(text)) == 1002
    else:
        with pytest.raises(JsonError, match="excessive nesting"):
            read_json(text)


def test_what_was_read_can_be_walked_through() -> None:
    """As deep as it may be, with much of the stack in use already."""
    deepest = read_json(b'{"a":[' * (DEEPEST // 2) + b"]}" * (DEEPEST // 2))

    def walk(value: object) -> int:
        inner = list(value.values()) if isinstance(value, dict) else value
        return 1 + max((walk(one) for one in inner), default=0)  # type: ignore[attr-defined]

    def further_down(levels: int) -> int:
        if levels:
            return further_down(levels - 1)
        json.dumps(deepest)
        return walk(deepest)

    assert further_down(sys.getrecursionlimit() // 4) == DEEPEST
