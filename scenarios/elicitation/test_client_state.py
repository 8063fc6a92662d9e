"""What a client sends back when a result asked (since 2026-07-28): its state, its id, its call."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.clients.messages import HangUp, Incoming, ScriptedRefusal, text_result
from pytest_mcp_approval.clients.silence import Silence
from pytest_mcp_approval.families.elicitation.scripted_questions import ARGUMENTS, ASKING
from pytest_mcp_approval.families.elicitation.vocabulary import (
    INPUT_RESPONSES,
    REQUEST_STATE,
)
from pytest_mcp_approval.wire.reply import show_json

STATES = {
    "plain": "opaque-state-1",
    "looks like JSON": '{"b": 1,  "a": 1.0, "a": 2,\n"c": "\\u00e9"}',
    "looks like a number": "1e400",
    "blanks around it": "  state\t\n ",
    "beyond ASCII": "Zustand é e\u0301 \U0001f512 \u202e \ufeff",
    "looks like base64 and is none": "eyJh+/==%2B%00",
    "empty": "",
    "a megabyte": "0123456789abcdef" * 65_536,
}


@requirement("elicitation/client-state-echo")
@pytest.mark.parametrize("kind", STATES)
def test_a_state_comes_back_as_it_was(asked_by_result, kind):
    """Whatever it looks like: it is opaque, and the server may have signed every byte of it."""
    asked, state = asked_by_result, STATES[kind]
    asked.script.state = state
    asked.approves()
    _, retry = asked.first_and_retry()
    got = retry.params.get(REQUEST_STATE)
    asked.expect(
        got == state,
        sent=f"{REQUEST_STATE} of {len(state)} characters: {kind}",
        expected="the retry with the same text",
        got="the retry without it" if got is None else f"the retry with {show_json(got)}",
    )


@requirement("elicitation/client-state-echo")
def test_no_state_is_made_up(asked_by_result):
    """A server that keeps its state itself sends none, and gets none."""
    asked = asked_by_result
    asked.approves()
    asked.script.state = None
    asked.approves()
    _, retry = asked.first_and_retry()
    asked.expect(
        REQUEST_STATE not in retry.params,
        sent=f"a question without {REQUEST_STATE}, after one with it",
        expected=f"a retry without {REQUEST_STATE}",
        got=f"{REQUEST_STATE} {show_json(retry.params.get(REQUEST_STATE))}",
    )


ENDS = {
    "a result": None,
    "an error of the server's own": ScriptedRefusal(-32603, "Internal error"),
    "a refusal": ScriptedRefusal(-32602, "The state has expired"),
    "no answer: the connection was closed": HangUp(),
}


@requirement("elicitation/client-state-echo")
@pytest.mark.parametrize("end", ENDS)
def test_a_state_belongs_to_its_call_and_to_no_other(asked_by_result, end):
    """After whatever end of it, the next call begins anew: no old state, no old answer."""
    asked = asked_by_result
    asked.script.first = ENDS[end]
    asked.approves()
    used = [one for one in asked.server.calls(ASKING) if REQUEST_STATE in one.params]
    sent = f"a retry that was answered by {end}"
    asked.expect(
        len(used) == 1,
        sent=sent,
        expected="one request with that state and the person's answer",
        got=f"{len(used)} of them, and the person agreed once",
    )
    asked.script.first = None
    asked.script.state = "opaque-state-2"
    with asked.second_try(ENDS[end]):
        plain = asked.calls_plainly()
        asked.expect_clean(plain, sent=f"{sent}; then a call of another tool")
        before = len(asked.server.calls(ASKING))
        asked.approves()
    anew = asked.server.calls(ASKING)[before]
    asked.expect_clean(anew, sent=f"{sent}; then the same call, asked for again")
    others = [one for one in asked.server.received if one.method != "tools/call"]
    for one in others:
        asked.expect_clean(one, sent=sent)


LATE: dict[str, Any] = {"no answer": HangUp(), "an answer too late": text_result("closed")}


@requirement("elicitation/client-state-echo")
@pytest.mark.parametrize("late", LATE)
def test_a_state_is_not_used_again_after_a_time_out(asked_by_result, late):
    """Nobody knows whether the call ran. Asked for again, it is a new call, with a new question; a
    client that waits longer than the server is silent learns the same from how that ends."""
    asked = asked_by_result
    asked.approves()
    asked.script.state = "opaque-state-1"
    asked.is_asked()
    sent = f"a retry that got {late}"

    def expect_one_use():
        used = [
            one
            for one in asked.server.calls(ASKING)
            if one.params.get(REQUEST_STATE) == "opaque-state-1"
        ]
        asked.expect(
            len(used) == 1,
            sent=sent,
            expected="one request with that state and the person's answer",
            got=f"{len(used)} of them, and the person agreed once",
        )

    def answers(one):
        return one.tool == ASKING and INPUT_RESPONSES in one.params

    with Silence(asked.server, "tools/call", then=LATE[late], about=answers) as silence:
        gave_up = asked.waits_in_vain(silence, {"confirm": ["true"]})
        silence.is_for_no_more()
        asked.need(
            REQUEST_STATE in silence.kept[0].params, f"the retry came without {REQUEST_STATE}"
        )
        expect_one_use()
        asked.script.state = "opaque-state-2"
        again = f"{sent}; then the same call, asked for again"
        with asked.second_try(LATE[late]):
            if not gave_up:
                silence.ends()
                asked.finishes()
            before = len(asked.server.calls(ASKING))
            asked.is_asked(sent=again)
        anew = asked.server.calls(ASKING)[before:]
        asked.need(bool(anew), "the call was not made again")
        asked.expect_clean(anew[0], sent=again)
        if late != "no answer":
            silence.ends()  # while the person reads what is new
        asked.agrees()
        expect_one_use()


@requirement("elicitation/client-state-echo")
def test_a_declined_question_leaves_nothing_behind(asked_by_result):
    """What a person refused does not travel with the next call."""
    asked = asked_by_result
    asked.is_asked()
    asked.decides(asked.description.decline)
    before = len(asked.server.calls(ASKING))
    asked.script.state = "opaque-state-2"
    asked.approves()
    anew = asked.server.calls(ASKING)[before]
    asked.expect_clean(anew, sent="a question that the person declined; then the same call again")


# ---- the retry


@requirement("elicitation/client-new-id")
def test_the_retry_is_a_request_of_its_own(asked_by_result):
    """A JSON-RPC id is used once, and the retry is a new request."""
    asked = asked_by_result
    for which in ("first", "second"):
        asked.approves()
        first, retry = asked.first_and_retry()
        asked.expect(
            first.id != retry.id and retry.id is not None,
            sent=f"the {which} question, answered by a retry",
            expected="a new JSON-RPC id on the retry",
            got=f"the id {show_json(retry.id)} again",
        )


@requirement("elicitation/client-new-id")
def test_the_retry_is_the_same_call(asked_by_result):
    """The same method, tool and arguments: the person agreed to these and no others."""
    asked = asked_by_result
    asked.approves()
    first, retry = asked.first_and_retry()

    def call(one):
        own = {REQUEST_STATE, INPUT_RESPONSES, "_meta"}
        return {name: value for name, value in one.params.items() if name not in own}

    asked.expect(
        show_json(call(first)) == show_json(call(retry)),
        sent=f"a question about {ASKING} {show_json(ARGUMENTS)}",
        expected=f"a retry with the params of the first call: {show_json(call(first))}",
        got=f"a retry with {show_json(call(retry))}",
    )


@requirement("elicitation/client-new-id")
def test_a_second_question_of_one_call_is_answered_too(asked_by_result):
    """A retry may be answered by another question: it is the same call still, with another id."""
    asked = asked_by_result
    usual = asked.server.handlers["tools/call"]
    rounds: list[Incoming] = []

    def handler(incoming):
        answer = usual(incoming)
        if incoming.tool == ASKING and INPUT_RESPONSES in incoming.params and not rounds:
            rounds.append(incoming)
            asked.script.state = "opaque-state-2"
            return asked.script.asks()
        return answer

    asked.server.handlers["tools/call"] = handler
    asked.is_asked()
    asked.agrees()
    calls = asked.server.calls(ASKING)
    sent = "a second question in answer to the retry"
    asked.need(len(calls) >= 2, "the call was not made again after the person agreed")
    asked.expect(
        len(calls) == 3, sent=sent, expected="three requests", got=f"{len(calls)} requests"
    )
    asked.expect(
        calls[2].params.get(REQUEST_STATE) == "opaque-state-2",
        sent=sent,
        expected="the second retry with the second state",
        got=f"{REQUEST_STATE} {show_json(calls[2].params.get(REQUEST_STATE))}",
    )
    asked.expect(
        len({str(one.id) for one in calls}) == 3,
        sent=sent,
        expected="three ids",
        got=f"ids {', '.join(show_json(one.id) for one in calls)}",
    )
