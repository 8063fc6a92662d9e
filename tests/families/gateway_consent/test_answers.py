"""A refusal is read in both readings, and nothing else is taken for one."""

from __future__ import annotations

import json

import pytest

from pytest_mcp_approval.families.gateway_consent.outcome import GatewayOutcome, snake_case
from pytest_mcp_approval.wire.reply import Outcome, Reply

DATA = {"appId": "com.example.mail", "tool": "send", "consentUrl": "http://localhost:1/c"}


def error(**members) -> Reply:
    return Reply(Outcome.ERROR, message={"jsonrpc": "2.0", "id": 1, "error": members})


def result(value) -> Reply:
    return Reply(Outcome.RESULT, message={"jsonrpc": "2.0", "id": 1, "result": value})


def read(reply: Reply, runs: int | None = 0, probed: bool = True) -> GatewayOutcome:
    return GatewayOutcome.read("Cursor", "mail:send", {}, reply, runs, probed)


REFUSALS = {
    "error.code": error(code="CONSENT_REQUIRED", message="Ask.", data=DATA),
    "error.data": error(code=-31001, message="Ask.", data={"code": "CONSENT_REQUIRED", **DATA}),
    "a tool error": result(
        {
            "isError": True,
            "content": [
                {
                    "type": "text",
                    "text": json.dumps({"error": {"code": "CONSENT_REQUIRED", "data": DATA}}),
                }
            ],
        }
    ),
}


@pytest.mark.parametrize("place", REFUSALS)
def test_a_question_is_read_wherever_it_stands(place: str):
    answer = read(REFUSALS[place])
    assert answer.needs_consent
    assert answer.refused
    assert not answer.denied
    assert not answer.executed
    assert answer.told_in == place
    assert answer.consent_url == DATA["consentUrl"]
    assert answer.snake == ()


def test_snake_case_is_read_and_told():
    data = {snake_case(name): value for name, value in DATA.items()}
    answer = read(error(code="CONSENT_REQUIRED", message="", data=data))
    assert answer.consent_url == DATA["consentUrl"]
    assert answer.snake == ("app_id", "consent_url")
    assert answer.members["tool"] == "send"


@pytest.mark.parametrize(
    "reply",
    [
        error(code=-32602, message="CONSENT_REQUIRED", data=None),
        error(code=-32001, message="", data={"code": "SOMETHING_ELSE"}),
        error(code=-32001, message="", data="CONSENT_REQUIRED"),
        error(code=["CONSENT_REQUIRED"], message=""),
        result({"isError": True, "content": [{"type": "text", "text": "CONSENT_REQUIRED"}]}),
    ],
)
def test_other_refusals_are_denials_without_a_question(reply: Reply):
    answer = read(reply)
    assert answer.denied
    assert not answer.needs_consent


def test_a_result_that_talks_of_consent_is_a_result():
    answer = read(result({"structuredContent": {"code": "CONSENT_REQUIRED"}}), runs=1)
    assert answer.succeeded
    assert answer.executed
    assert answer.code == ""


@pytest.mark.parametrize(("runs", "executed"), [(0, False), (1, True), (None, True)])
def test_the_effects_decide_whether_it_ran(runs: int | None, executed: bool):
    assert read(REFUSALS["error.code"], runs).executed is executed


def test_without_effects_the_answer_is_taken_at_its_word():
    assert not read(REFUSALS["error.code"], None, probed=False).executed
    assert read(result({"content": []}), None, probed=False).executed
    assert not read(Reply(Outcome.NO_ANSWER), None, probed=False).executed
