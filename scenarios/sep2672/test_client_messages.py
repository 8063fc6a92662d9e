"""SEP-2672 as it binds a client in a terminal: which messages it sends, and when."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.clients.messages import HangUp, LostSession, ScriptedRefusal, text_result
from pytest_mcp_approval.clients.silence import Silence
from pytest_mcp_approval.families.sep2672.scripted_approvals import GATED, PLAIN, refusal
from pytest_mcp_approval.families.sep2672.vocabulary import (
    CAPABILITY_KEY,
    CHALLENGE_CREATE,
    META_KEY,
    METHODS,
    WEBAUTHN,
    Reason,
)
from pytest_mcp_approval.wire.eras import Era
from pytest_mcp_approval.wire.reply import show_json

# ---- sections 4.2 and 4.3: the annotation and the capability


@requirement("sep2672/4.2-client-ignores-unannotated")
def test_a_plain_tool_is_called_without_any_ceremony(approving):
    """Its listing has something like the annotation under another key, which means nothing."""
    approving.approves()
    before = len(approving.server.of(*METHODS)), len(approving.signed)
    approving.calls(PLAIN, {})
    approving.finishes()
    sent = f"{PLAIN}, which is listed without the annotation"
    asked = [one.method for one in approving.server.of(*METHODS)[before[0] :]]
    approving.expect(
        not asked and len(approving.signed) == before[1],
        sent=sent,
        expected="tools/call at once, no approval/* request, no signature",
        got=", ".join(asked) or "a signature",
    )
    calls = approving.server.calls(PLAIN)
    approving.expect(
        len(calls) == 1, sent=sent, expected="one tools/call", got=f"{len(calls)} of them"
    )
    approving.expect(
        META_KEY not in calls[0].meta,
        sent=sent,
        expected="a tools/call without evidence",
        got="a tools/call with evidence",
    )


@requirement("sep2672/4.2-client-class-default")
def test_a_tool_without_a_class_is_approved_like_a_cross_platform_one(approving):
    """The same tool, once with the class in its listing and once without: both are approved."""
    approving.approves_when_started_anew()
    del approving.script.annotation["authenticatorClass"]
    approving.script.lists()
    approving.expect_approval(sent="a tool whose annotation names no class")


EXTRAS: dict[str, dict[str, Any]] = {
    "one": {"x-note": "new"},
    "several": {"level": 3, "scopes": ["a"], "policy": {"b": None}},
}


@requirement("sep2672/4.2-client-tolerates-siblings")
@pytest.mark.parametrize("extra", EXTRAS)
def test_unknown_members_of_the_annotation_are_let_be(approving, extra):
    """A later revision may say more in the annotation: the tool is still one to approve."""
    approving.approves_when_started_anew()
    approving.script.annotation |= EXTRAS[extra]
    approving.script.other_meta = {"com.example/other": EXTRAS[extra]}
    approving.script.lists()
    approving.expect_approval(sent=f"a tool whose annotation has {sorted(EXTRAS[extra])} too")


SUBFIELDS: dict[str, dict[str, Any]] = {
    "one": {"version": 2},
    "several": {"methods": [WEBAUTHN], "more": {"a": None}},
}


@requirement("sep2672/4.3-client-tolerates-subfields")
@pytest.mark.parametrize("extra", SUBFIELDS)
def test_unknown_members_of_the_capability_are_let_be(approving, extra):
    """A later revision may say more in the capability: approval works as before."""
    approving.approves_when_started_anew()
    approving.script.capability = SUBFIELDS[extra]
    approving.script.lists()
    approving.expect_approval(sent=f"a server whose capability has {sorted(SUBFIELDS[extra])}")


TELLING = ("capabilit", CAPABILITY_KEY.lower(), "approv", "inconsisten", "declare")


@requirement("sep2672/4.3-client-warns-inconsistent")
def test_a_gated_tool_without_the_capability_is_noticed(approving):
    """The listing asks for approval and the server does not offer it: somebody should hear."""
    approving.approves()
    usual = {line.strip() for line in approving.person.all_shown.splitlines()}
    approving.is_started_anew()
    approving.script.capability = None
    approving.script.lists()
    approving.calls_gated()
    approving.finishes()
    new = [
        line
        for line in approving.person.all_shown.splitlines()
        if line.strip() not in usual and any(word in line.lower() for word in TELLING)
    ]
    approving.expect(
        bool(new),
        sent=f"gated tools, and no capability {CAPABILITY_KEY}",
        expected="a line about it in the terminal",
        got="nothing that it does not show of other servers",
    )


# ---- section 4.5: evidence


@requirement("sep2672/4.5-client-attaches-evidence")
def test_evidence_goes_along_as_the_authenticator_gave_it(approving):
    """method, challengeId and the whole response, under the namespaced key, on every call."""
    for which in ("first", "second"):
        approving.asks()
        done = approving.agrees()
        sent = f"the {which} call of {GATED}, approved"
        approving.expect(bool(done.calls), sent=sent, expected="a tools/call", got=done.describe())
        approving.expect(
            done.evidence is not None,
            sent=sent,
            expected=f"evidence in params._meta under {META_KEY}",
            got=f"none there: {show_json(list(done.calls[-1].params))}",
        )
        approving.need_signatures(done)
        expected = {
            "method": WEBAUTHN,
            "challengeId": approving.script.issued[-1]["challengeId"],
            "response": done.signed[-1].response,
        }
        approving.expect_evidence(done.evidence, expected, sent=sent)


FAILURES = {
    "no answer came: the connection was closed": HangUp(),
    "an error of the server's own came": ScriptedRefusal(-32603, "Internal error"),
    "a refusal came": refusal(Reason.CHALLENGE_EXPIRED),
    "a refusal came that asks for evidence": refusal(Reason.MISSING_EVIDENCE),
    "the server had forgotten the session": LostSession(),
}


@requirement("sep2672/4.5-client-never-reuses")
@pytest.mark.parametrize("failure", FAILURES)
def test_a_challenge_goes_out_once_whatever_becomes_of_it(approving, failure):
    """A call that failed may have run: asking again means a new challenge, and a new review."""
    answer = FAILURES[failure]
    if isinstance(answer, LostSession) and approving.server.era is Era.SESSIONLESS:
        raise NotApplicable("there are no sessions in this era")
    approving.approves()
    approving.asks()
    approving.script.instead = {"tools/call": answer}
    approving.decides(approving.description.agree)
    approving.script.instead = {}
    sent = f"a tools/call to which {failure}"
    approving.expect_each_challenge_once(sent=sent)
    again = f"the call, asked for again after {sent}"
    with approving.second_try(answer):
        done = approving.approves()
        approving.expect_run(done, sent=again)
    approving.expect_each_challenge_once(sent=again)


LATE: dict[str, Any] = {"no answer": HangUp(), "an answer too late": text_result("deleted")}


@requirement("sep2672/4.5-client-never-reuses")
@pytest.mark.parametrize("late", LATE)
def test_a_challenge_is_not_used_again_after_a_time_out(approving, late):
    """Nobody knows whether the call ran. Whoever gives up on it asks for a new challenge; a client
    that waits longer than the server is silent learns the same from how that ends."""
    approving.approves()
    approving.asks()
    with Silence(approving.server, "tools/call", then=LATE[late]) as silence:
        gave_up = approving.waits_in_vain(silence)
        silence.is_for_no_more()
        sent = f"a tools/call that got {late}"
        approving.expect_each_challenge_once(sent=sent)
        with approving.second_try(LATE[late]):
            if not gave_up:
                silence.ends()
                approving.finishes()
            approving.asks()
            if late != "no answer":
                silence.ends()  # while the person reads what is new
            approving.agrees()
        again = f"the call, asked for again after {sent}"
        approving.expect_each_challenge_once(sent=again)
        approving.need(bool(approving.so_far().calls), "the call was not made again")


# ---- section 4.6: the arguments


@requirement("sep2672/4.6-client-same-arguments")
def test_the_call_has_the_arguments_of_its_challenge(approving):
    """What was asked for is what is called: no default filled in, no member dropped or changed."""
    variants: tuple[Any, ...] = (
        None,
        {},
        {"path": "", "depth": 1.5, "force": None},
        {"é": [[], {}], "a": "1"},
    )
    for arguments in variants:
        done = approving.approves() if arguments is None else approving.approves(arguments)
        asked = done.challenges[-1].params.get("arguments") if done.challenges else None
        called = done.calls[-1].params.get("arguments")
        approving.expect(
            _typed(asked) == _typed(called),
            sent=f"{GATED} with {show_json(asked)}",
            expected="a tools/call with the challenge's arguments",
            got=f"a tools/call with {show_json(called)}",
        )


def _typed(value):
    """With types: 1, 1.0 and true are three values."""
    if isinstance(value, dict):
        return {name: _typed(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_typed(one) for one in value]
    return type(value).__name__, value


# ---- section 4.9: the order of things


@requirement("sep2672/4.9-client-challenge-first")
def test_a_challenge_comes_before_every_gated_call(approving):
    """The client never tries its luck without evidence."""
    for which in ("first", "second"):
        before = len(approving.server.received)
        approving.calls_gated()
        approving.finishes()
        order = [
            one.method
            for one in approving.server.received[before:]
            if one.method in (CHALLENGE_CREATE, "tools/call")
        ]
        approving.expect(
            order == [CHALLENGE_CREATE, "tools/call"],
            sent=f"the {which} call of a gated tool, approved",
            expected=f"{CHALLENGE_CREATE}, then one tools/call",
            got=", ".join(order) or "neither",
        )
