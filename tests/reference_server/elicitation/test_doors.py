"""Answers of clients at the strict door, and questions that are open when standard input ends."""

from __future__ import annotations

import json
import os
from typing import Any

import anyio
import pytest

from pytest_mcp_approval.reference_server.server import door
from pytest_mcp_approval.reference_server.server.stdio import Output

ERROR = {"code": -32601, "message": "no"}


@pytest.mark.parametrize(
    "answer",
    [{"result": {}}, {"result": {"action": "accept"}}, {"error": ERROR}],
    ids=str,
)
def test_an_answer_comes_in_as_it_is(answer: Any):
    body = json.dumps({"jsonrpc": "2.0", "id": 7, **answer}).encode()
    assert door.let_in(body) == body


@pytest.mark.parametrize(
    "answer",
    [
        b'"result": null',
        b'"result": [{}]',
        b'"result": 7',
        b'"error": null',
        b'"error": {"code": "x", "message": "no"}',
        b'"error": {"code": 1}',
        b'"result": {}, "error": {"code": 1, "message": "both"}',
        b'"result": {"a": 1, "a": 2}',
        b'"result": {"a": NaN}',
        b'"result": {"a": "\\ud800"}',
    ],
)
def test_an_answer_that_cannot_be_read_counts_as_an_error(answer: bytes):
    let_in = json.loads(door.let_in(b'{"jsonrpc": "2.0", "id": 7, ' + answer + b"}"))
    assert let_in["id"] == 7
    assert let_in["error"]["code"] == door.INVALID_REQUEST
    assert "result" not in let_in


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc": "2.0", "result": {}}',
        b'{"jsonrpc": "2.0", "id": 7}',
        b'{"jsonrpc": "2.0", "id": 7, "id": 8, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": NaN}}',
        b'[{"jsonrpc": "2.0", "id": 7, "result": {}}]',
    ],
)
def test_what_answers_nothing_is_refused_as_ever(body: bytes):
    with pytest.raises(door.DoorRefusal):
        door.let_in(body)


def test_at_the_end_of_input_nobody_waits_for_calls_that_wait_for_answers():
    reading, writing = os.pipe()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    question = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create"}

    async def converse() -> None:
        output = Output(writing)
        output.owe(call)
        await output.write(json.dumps(question) + "\n")
        with anyio.fail_after(20):
            await output.all_answered(1000)
        output.owe({"jsonrpc": "2.0", "id": 1, "result": {}})
        with anyio.move_on_after(0.05) as scope:
            await output.all_answered(1000)
        assert scope.cancelled_caught, "now its answer is owed again"
        await output.write(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}) + "\n")
        with anyio.fail_after(20):
            await output.all_answered(1000)

    anyio.run(converse)
    os.close(reading)
    os.close(writing)
