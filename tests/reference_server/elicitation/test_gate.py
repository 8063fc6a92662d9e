"""Each rule of the gate, in the era in which a result asks; and the answer, in both."""

from __future__ import annotations

import base64
import datetime
from typing import Any

import pytest

from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.reference_server.elicitation.gate import KEY
from pytest_mcp_approval.reference_server.elicitation.records import PageDecision
from pytest_mcp_approval.reference_server.server.held_calls import ClientReply, ReplyKind

from .conftest import ACCOUNT, YES, Desk

HANDSHAKE = "2025-11-25"


def test_a_call_asks_and_a_yes_runs_it_once(stored_desk: Desk):
    state = stored_desk.ask()
    assert len(stored_desk.effects) == 0
    assert stored_desk.answer(state)["arguments"] == ACCOUNT
    assert stored_desk.refusal(stored_desk.answer, state) == "request_state_used"
    assert stored_desk.ask() != state, "a second call asks anew"
    assert len(stored_desk.effects) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"action": "decline"}, "declined"),
        ({**YES, "action": "decline"}, "declined"),
        ({"action": "cancel"}, "cancelled"),
        ({**YES, "action": "cancel"}, "cancelled"),
        ({"action": "accept", "content": {"confirm": False}}, "not_approved"),
    ],
)
def test_a_no_ends_the_question(desk: Desk, answer: Any, reason: str):
    state = desk.ask()
    assert desk.refusal(desk.answer, state, answer) == reason
    assert desk.refusal(desk.answer, state) == "request_state_used"


@pytest.mark.parametrize("value", ["true", 1, 1.0, "yes", None, [], [True], {}, {"confirm": True}])
def test_only_true_is_yes_and_what_is_no_answer_ends_nothing(desk: Desk, value: Any):
    state = desk.ask()
    wrong = {"action": "accept", "content": {"confirm": value}}
    assert desk.refusal(desk.answer, state, wrong) == "malformed_answer"
    assert desk.answer(state)


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "accept"},
        {"action": "accept", "content": None},
        {"action": "accept", "content": []},
        {"action": "accept", "content": "confirm"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"confirm": True, "more": 1}},
        {"action": "accept", "content": {"Confirm": True}},
        {"content": {"confirm": True}},
        {**YES, "action": "ACCEPT"},
        {**YES, "action": "accept "},
        {**YES, "action": "accepted"},
        {**YES, "action": None},
        {**YES, "action": 1},
        {**YES, "action": ["accept"]},
        "accept",
        ["accept"],
        7,
    ],
    ids=str,
)
@pytest.mark.parametrize("protocol", [HANDSHAKE, "2026-07-28"])
def test_what_is_no_answer_runs_nothing(desk: Desk, answer: Any, protocol: str):
    if protocol == HANDSHAKE:
        held = desk.call(protocol=protocol)
        reply = ClientReply(ReplyKind.ANSWERED, answer)
        assert desk.refusal(held.then, reply) == "malformed_answer"
    else:
        assert desk.refusal(desk.answer, desk.ask(), answer) == "malformed_answer"


@pytest.mark.parametrize("responses", [[], "x", 7, True, [YES]])
def test_malformed_responses(desk: Desk, responses: Any):
    state = desk.ask()
    refused = desk.refusal(desk.call, requestState=state, inputResponses=responses)
    assert refused == "malformed_answer"
    assert desk.answer(state)


@pytest.mark.parametrize("responses", [None, {}, {"other": YES}, {"Approval": YES}, {"": YES}])
def test_without_our_answer_the_same_is_asked_again(desk: Desk, responses: Any):
    state = desk.ask()
    desk.clock.advance(100)
    again = desk.call(requestState=state, inputResponses=responses)
    assert again["requestState"] == state, "asking again renews nothing"
    assert len(desk.effects) == 0


@pytest.mark.parametrize(
    "state", ["", "x", "v1..", "v1.e30.e30", "a.b.c", "é.ü.ö", "x" * 1_000_000]
)
def test_answers_to_no_question_of_ours(desk: Desk, state: str):
    assert desk.refusal(desk.answer, state) == "invalid_request_state"
    asked = desk.call(inputResponses={KEY: YES})
    assert asked["resultType"] == "input_required"
    assert len(desk.effects) == 0


@pytest.mark.parametrize("state", [7, 7.5, True, {}, [], {"v1": 1}])
def test_a_state_is_text(desk: Desk, state: Any):
    assert desk.refusal(desk.answer, state) == "invalid_request_state"


def test_every_character_of_a_state_counts(desk: Desk):
    state = desk.ask()
    for at in range(len(state)):
        other = "A" if state[at] != "A" else "B"
        changed = state[:at] + other + state[at + 1 :]
        assert desk.refusal(desk.answer, changed) == "invalid_request_state", at
        assert desk.refusal(desk.answer, state[:at]) == "invalid_request_state", at
    version, payload, signature = state.split(".")
    raw = base64.urlsafe_b64decode(payload + "==").decode()
    for changed in (
        state + "=",
        state + "A",
        state + "\n",
        f" {state}",
        state * 2,
        f"{version}.{payload}",
        f"{version}.{payload}.",
        f"{version}.{payload}=.{signature}",
        f"{version}.{raw}.{signature}",
        state.upper(),
        payload,
    ):
        assert desk.refusal(desk.answer, changed) == "invalid_request_state", changed
    assert desk.answer(state)


OTHERS: list[Any] = [
    {"account": "test-2"},
    {"account": "test-1", "reason": ""},
    {"account": "test-1", "__proto__": {}},
    {"account": "test-1", "keep_backup": False},
    {"account": "test-1 "},
    {"account": "Test-1"},
    {"account": "tеst-1"},  # noqa: RUF001  # the first e is Cyrillic
    {"account": ["test-1"]},
    {},
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_a_yes_is_for_these_arguments_alone(desk: Desk, other: Any):
    state = desk.ask()
    refused = desk.refusal(desk.answer, state, YES, other)
    assert refused == "request_state_of_another_request"
    assert desk.answer(state)


def test_numbers_are_bound_as_they_are_and_the_order_of_members_is_not(desk: Desk):
    to = {"iban": "1", "name": "A"}
    yes = {"action": "accept", "content": {"decision": "approve"}}
    for amount in (1.0, True, "1", 1.0000000001, -1):
        state = desk.ask({"to": to, "amount": 1}, "wire_money")
        other = ({"to": to, "amount": amount}, "wire_money")
        refused = desk.refusal(desk.answer, state, yes, *other)
        assert refused == "request_state_of_another_request", amount
    turned = {"amount": 1, "to": {"name": "A", "iban": "1"}}
    assert desk.answer(state, yes, turned, "wire_money")


@pytest.mark.parametrize("decision", ["reject", "Approve", "approve ", "", True, None, ["approve"]])
def test_a_choice_is_one_word(desk: Desk, decision: Any):
    given = ({"to": {"iban": "1", "name": "A"}, "amount": 1}, "wire_money")
    state = desk.ask(*given)
    answer = {"action": "accept", "content": {"decision": decision}}
    wanted = "not_approved" if decision == "reject" else "malformed_answer"
    assert desk.refusal(desk.answer, state, answer, *given) == wanted


@pytest.mark.parametrize("remark", ["x" * 201, 1, None, ["fine"]])
def test_a_remark_decides_nothing_and_is_checked_all_the_same(desk: Desk, remark: Any):
    given = ({"to": {"iban": "1", "name": "A"}, "amount": 1}, "wire_money")
    state = desk.ask(*given)

    def answer(decision: str, remark: Any) -> dict[str, Any]:
        return {"action": "accept", "content": {"decision": decision, "remark": remark}}

    wrong = answer("approve", remark)
    assert desk.refusal(desk.answer, state, wrong, *given) == "malformed_answer"
    assert desk.answer(state, answer("approve", "approve"), *given)
    no = answer("reject", "approve")
    assert desk.refusal(desk.answer, desk.ask(*given), no, *given) == "not_approved"


@pytest.mark.parametrize("answer", [{"action": "accept"}, {"action": "accept", "content": {}}])
def test_to_accept_a_form_without_members_is_to_approve(desk: Desk, answer: Any):
    given = ({"version": "1"}, "publish_release")
    assert desk.answer(desk.ask(*given), answer, *given)


def test_a_yes_is_for_this_tool_alone(desk: Desk):
    state = desk.ask()
    other = (ACCOUNT, "suspend_account")
    refused = desk.refusal(desk.answer, state, YES, *other)
    assert refused == "request_state_of_another_request"


@pytest.mark.parametrize("user", ["bob", "Alice", "alice ", "", "al"])
def test_a_yes_is_of_this_user_alone(desk: Desk, user: str):
    state = desk.ask()
    refused = desk.refusal(desk.answer, state, user=user)
    assert refused == "request_state_of_another_user"
    assert desk.answer(state)


def test_a_state_serves_until_its_end_and_looking_renews_nothing(stored_desk: Desk):
    desk = stored_desk
    late, state = desk.ask(), desk.ask()
    desk.clock.advance(300)
    desk.call(requestState=state)
    desk.clock.advance(299.999)
    assert desk.answer(state)
    desk.clock.advance(0.001)
    assert desk.refusal(desk.answer, late) == "request_state_expired"


def test_a_clock_that_is_put_back_brings_no_used_state_back(stored_desk: Desk):
    state = stored_desk.ask()
    assert stored_desk.answer(state)
    stored_desk.clock.advance(7200)
    stored_desk.ask()
    stored_desk.clock.advance(-7200)
    assert stored_desk.refusal(stored_desk.answer, state) == "request_state_used"


@pytest.mark.parametrize(
    "capabilities",
    [
        None,
        {},
        7,
        {"sampling": {}},
        {"elicitation": None},
        {"elicitation": True},
        {"elicitation": {"url": {}}},
        {"elicitation": {"form": None}},
        {"experimental": {"elicitation": {}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("protocol", [HANDSHAKE, "2026-07-28"])
def test_nobody_is_asked_who_cannot_be(desk: Desk, capabilities: Any, protocol: str):
    how: Any = {"capabilities": capabilities, "protocol": protocol}
    assert desk.refusal(desk.call, **how) == "missing_capability"
    assert desk.refusal(desk.answer, desk.ask(), **how) == "missing_capability"
    assert desk.call(capabilities={"elicitation": {}}, protocol=protocol)


@pytest.mark.parametrize(
    ("protocol", "modes", "tool", "asks"),
    [
        ("2026-07-28", [Mode.URL], "rotate_keys", True),
        ("2026-07-28", [Mode.FORM], "rotate_keys", False),
        ("2025-11-25", [Mode.URL], "rotate_keys", True),
        ("2025-06-18", [Mode.URL, Mode.FORM], "rotate_keys", False),
        ("2025-06-18", [Mode.URL, Mode.FORM], "publish_release", True),
        ("2025-03-26", [Mode.URL, Mode.FORM], "publish_release", False),
    ],
)
def test_modes(desk: Desk, protocol: str, modes: list[Mode], tool: str, asks: bool):
    given = {"service": "s", "version": "1"}
    how: Any = {"capabilities": capability(*modes), "protocol": protocol}
    if asks:
        assert desk.call(given, tool, **how)
    else:
        assert desk.refusal(desk.call, given, tool, **how) == "missing_capability"


# ---- pages

SERVICE = ({"service": "s"}, "rotate_keys")
AGREED = {"action": "accept"}


def test_to_open_a_page_is_not_to_finish_it(stored_desk: Desk):
    desk = stored_desk
    state = desk.ask(*SERVICE)
    again = desk.answer(state, AGREED, *SERVICE)
    assert again["requestState"] == state
    (asked,) = again["inputRequests"].values()
    id = asked["params"]["url"].rpartition("/")[2]
    assert desk.store.decide(id, PageDecision.APPROVED)
    assert not desk.store.decide(id, PageDecision.DECLINED), "once"
    assert desk.answer(state, AGREED, *SERVICE)
    assert desk.refusal(desk.answer, state, AGREED, *SERVICE) == "request_state_used"


def test_a_page_is_for_one_question(desk: Desk):
    one, other = desk.call(*SERVICE), desk.ask(*SERVICE)
    url = next(iter(one["inputRequests"].values()))["params"]["url"]
    assert desk.store.decide(url.rpartition("/")[2], PageDecision.APPROVED)
    assert desk.answer(other, AGREED, *SERVICE)["resultType"] == "input_required"


def test_a_page_that_is_declined_ends_the_question(desk: Desk):
    asked = desk.call(*SERVICE)
    url = next(iter(asked["inputRequests"].values()))["params"]["url"]
    desk.store.decide(url.rpartition("/")[2], PageDecision.DECLINED)
    state = asked["requestState"]
    assert desk.refusal(desk.answer, state, AGREED, *SERVICE) == "declined"


# ---- inside a call


@pytest.mark.parametrize("kind", [kind for kind in ReplyKind if kind is not ReplyKind.ANSWERED])
def test_without_an_answer_nothing_runs(desk: Desk, kind: ReplyKind):
    held = desk.call(protocol=HANDSHAKE)
    assert held.patience == datetime.timedelta(seconds=60)
    if kind is not ReplyKind.READY:
        assert desk.refusal(held.then, ClientReply(kind, YES, {"code": 0}))
    assert desk.effects.to_json() == []


def test_an_answer_inside_a_call_runs_it_once(desk: Desk):
    held = desk.call(protocol=HANDSHAKE, requestState=desk.ask(), inputResponses={KEY: YES})
    assert held.question.method == "elicitation/create"
    assert held.then(ClientReply(ReplyKind.ANSWERED, YES))["arguments"] == ACCOUNT
    refused = desk.refusal(held.then, ClientReply(ReplyKind.ANSWERED, YES))
    assert refused == "request_state_used"


def test_a_held_call_waits_for_its_page_and_tells_its_end_once(desk: Desk):
    held = desk.call(*SERVICE, protocol=HANDSHAKE)
    id = held.question.params["elicitationId"]
    assert held.news() is None
    waiting = held.then(ClientReply(ReplyKind.ANSWERED, AGREED))
    assert not waiting.ready()
    desk.store.decide(id, PageDecision.APPROVED)
    assert waiting.ready()
    assert waiting.news().params == {"elicitationId": id}
    assert waiting.news() is None
    assert waiting.then(ClientReply(ReplyKind.READY))


def test_a_page_that_is_finished_too_late_runs_nothing(desk: Desk):
    held = desk.call(*SERVICE, protocol=HANDSHAKE)
    waiting = held.then(ClientReply(ReplyKind.ANSWERED, AGREED))
    assert desk.refusal(waiting.then, ClientReply(ReplyKind.SILENT)) == "page_not_finished"
    desk.store.decide(held.question.params["elicitationId"], PageDecision.APPROVED)
    refused = desk.refusal(waiting.then, ClientReply(ReplyKind.READY))
    assert refused == "request_state_used"
