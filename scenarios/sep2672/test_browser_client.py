"""SEP-2672 as it binds a client, seen on the page: which messages it sends, and when."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.refusals import (
    CALL_REASONS,
    CHALLENGE_REASONS,
    ENROLLMENT_REASONS,
    FURTHER_MEMBERS,
    MESSAGE,
    OTHER_MESSAGES,
    TWO_REASONS,
)
from pytest_mcp_approval.families.sep2672.vocabulary import (
    CAPABILITY_KEY,
    CHALLENGE_CREATE,
    ERROR_CODE,
    META_KEY,
    METHODS,
    WEBAUTHN,
    Reason,
)
from pytest_mcp_approval.wire.reply import show_json

OPENINGS = ("initialize", "server/discover")


# ---- section 4.2: the annotation


@requirement("sep2672/4.2-client-ignores-unannotated", needs=())
def test_a_plain_tool_is_called_without_any_ceremony(visit):
    """No challenge, no prompt: the tool is called at once, as ever."""
    visit.enrols()
    visit.approves_a_call()
    tool = visit.plain_tool()
    before = len(visit.traffic.of(*METHODS)), len(visit.page.asked)
    visit.driver.call(tool.name, tool.arguments)
    visit.page.until(
        lambda: bool(visit.calls_of(tool)) or len(visit.traffic.of(*METHODS)) > before[0],
        f"the page to call {tool.name}",
    )
    sent = f"{tool.name}, which is listed without the annotation"
    asked = [one.method for one in visit.traffic.of(*METHODS)[before[0] :]]
    visit.expect(
        not asked and len(visit.page.asked) == before[1],
        sent=sent,
        expected="tools/call at once, no approval/* request, no prompt",
        got=", ".join(asked) or "a prompt for a passkey",
    )
    visit.driver.outcome()
    visit.expect(
        META_KEY not in visit.calls_of(tool)[-1].meta,
        sent=sent,
        expected="a tools/call without evidence",
        got="a tools/call with evidence",
    )


@requirement("sep2672/4.2-client-class-default")
def test_a_tool_without_a_class_is_approved_like_a_cross_platform_one(visit):
    """The same tool, once with the class in its listing and once without: both are approved."""
    named: dict[str, str] = {"authenticatorClass": "cross-platform"}
    visit.enrols()
    visit.approves_a_call()
    visit.need_seen("tools/list")
    for annotation, how in ((named, "names cross-platform"), ({}, "names no class")):

        def change(message, annotation=annotation):
            for tool in message["result"].get("tools", []):
                own = (tool.get("_meta") or {}).get(META_KEY)
                if own is not None:
                    own.pop("authenticatorClass", None)
                    own.update(annotation)
            return message

        visit.traffic.change_answer("tools/list", change)
        visit.opens()
        done = visit.expect_approval(sent=f"a tool whose annotation {how}")
        visit.expect_run(done, sent=f"a call of a tool whose annotation {how}")


@requirement("sep2672/4.2-client-tolerates-siblings")
@pytest.mark.parametrize(
    "extra",
    [{"x-note": "new"}, {"level": 3, "scopes": ["a"], "policy": {"b": None}}],
    ids=["one", "several"],
)
def test_unknown_members_of_the_annotation_are_let_be(visit, extra):
    """A later revision may say more in the annotation: the tool is still one to approve."""

    def change(message):
        for tool in message["result"].get("tools", []):
            if META_KEY in (tool.get("_meta") or {}):
                tool["_meta"][META_KEY].update(extra)
                tool["_meta"]["com.example/other"] = extra
        return message

    visit.enrols()
    visit.approves_a_call()
    visit.need_seen("tools/list")
    visit.traffic.change_answer("tools/list", change)
    visit.opens()
    done = visit.expect_approval(sent=f"a tool whose annotation has {sorted(extra)} too")
    visit.expect_run(done, sent=f"a call of a tool whose annotation has {sorted(extra)} too")


# ---- section 4.3: the capability


@requirement("sep2672/4.3-client-tolerates-subfields")
@pytest.mark.parametrize(
    "extra", [{"version": 2}, {"methods": [WEBAUTHN], "more": {"a": None}}], ids=["one", "several"]
)
def test_unknown_members_of_the_capability_are_let_be(visit, extra):
    """A later revision may say more in the capability: approval works as before."""

    def change(message):
        extensions = message["result"]["capabilities"].setdefault("extensions", {})
        extensions[CAPABILITY_KEY] = {**extensions.get(CAPABILITY_KEY, {}), **extra}
        return message

    visit.enrols()
    visit.approves_a_call()
    visit.need_seen(*OPENINGS)
    for method in OPENINGS:
        visit.traffic.change_answer(method, _if_a_result(change))
    visit.opens()
    done = visit.expect_approval(sent=f"a server whose capability has {sorted(extra)}")
    visit.expect_run(done, sent=f"a call on a server whose capability has {sorted(extra)}")


@requirement("sep2672/4.3-client-warns-inconsistent")
def test_a_gated_tool_without_the_capability_is_noticed(visit):
    """The listing asks for approval and the server does not offer it: somebody should hear."""
    visit.opens()
    visit.settles()
    visit.need_seen(*OPENINGS)
    usual = set(visit.console), set(visit.driver.text().splitlines())
    visit.console.clear()

    def change(message):
        message["result"]["capabilities"].get("extensions", {}).pop(CAPABILITY_KEY, None)
        return message

    for method in OPENINGS:
        visit.traffic.change_answer(method, _if_a_result(change))
    visit.opens_if_it_can()
    visit.settles()

    def names_it(line):
        return CAPABILITY_KEY.casefold() in line.casefold() or "capabilit" in line.casefold()

    logged = {
        line
        for kind, line in set(visit.console) - usual[0]
        if kind in ("warning", "error") or names_it(line)
    }
    read = {line for line in set(visit.driver.text().splitlines()) - usual[1] if names_it(line)}
    visit.expect(
        bool(logged or read),
        sent=f"gated tools, and no capability {CAPABILITY_KEY}",
        expected="a warning in the browser's console, or words on the page",
        got="neither",
    )


def _if_a_result(change):
    def changed(message):
        usable = isinstance(message.get("result", {}).get("capabilities"), dict)
        return change(message) if usable else message

    return changed


# ---- section 4.5: evidence


@requirement("sep2672/4.5-client-attaches-evidence")
@pytest.mark.parametrize("shape", ["security-key", "icloud-keychain"])
def test_evidence_goes_along_as_the_browser_gave_it(visit, shape):
    """method, challengeId and the whole response, under the namespaced key, on every call."""
    key = visit.enrols(shape)
    for which in ("first", "second"):
        review = visit.asks()
        done = visit.approves(review)
        sent = f"the {which} approval with {shape} on the page"
        visit.expect(
            bool(done.calls),
            sent=sent,
            expected="a tools/call",
            got=f"none; {done.describe()}",
        )
        evidence = done.calls[-1].meta.get(META_KEY)
        expected = {
            "method": WEBAUTHN,
            "challengeId": review.envelope.get("challengeId"),
            "response": key.prompts[-1].response,
        }
        visit.expect_evidence(evidence, expected, sent=sent)
        visit.expect_run(done, sent=sent)


FAILURES = {
    "the answer is lost": "connectionreset",
    "nobody is there": "connectionrefused",
    "an error of the server's own": {"error": {"code": -32603, "message": "Internal error"}},
    "a refusal": {
        "error": {"code": ERROR_CODE, "message": "No", "data": {"reason": Reason.CHALLENGE_EXPIRED}}
    },
}


@requirement("sep2672/4.5-client-never-reuses")
@pytest.mark.parametrize("failure", FAILURES)
def test_a_challenge_goes_out_once_whatever_becomes_of_it(visit, failure):
    """A call that failed may have run: asking again means a new challenge, and a new review."""
    visit.enrols()
    review = visit.asks()
    answer = FAILURES[failure]
    visit.traffic.answer_instead("tools/call", copy.deepcopy(answer))
    visit.driver.approve()
    visit.page.until(lambda: bool(visit.calls_of(review.tool)), "the page to call the tool")
    visit.driver.outcome()
    visit.settles()
    visit.traffic.leave_alone()
    sent = f"a tools/call to which {failure}"
    visit.expect_each_challenge_once(sent=sent)
    visit.expect_run(visit.approves(visit.asks()), sent=f"the call, asked for again after {sent}")
    visit.expect_each_challenge_once(sent=f"the call, asked for again after {sent}")


# ---- section 4.6: the arguments


@requirement("sep2672/4.6-client-same-arguments")
def test_the_call_has_the_arguments_of_its_challenge(visit):
    """What was asked for is what is called: no default filled in, no member dropped or changed."""
    visit.enrols()
    for which in ("first", "second"):
        done = visit.approves(visit.asks())
        sent = f"the {which} call of a gated tool, on the page"
        visit.expect(bool(done.calls), sent=sent, expected="a tools/call", got=done.describe())
        asked = visit.traffic.of(CHALLENGE_CREATE)[-1].params.get("arguments")
        called = done.calls[-1].params.get("arguments")
        visit.expect(
            json.dumps(asked, sort_keys=True) == json.dumps(called, sort_keys=True),
            sent=sent,
            expected=f"a tools/call with the challenge's arguments: {show_json(asked)}",
            got=f"a tools/call with {show_json(called)}",
        )
        visit.expect_run(done, sent=sent)


# ---- section 4.9: the order of things


@requirement("sep2672/4.9-client-challenge-first")
def test_a_challenge_comes_before_every_gated_call(visit):
    """The page never tries its luck without evidence."""
    visit.enrols()
    for which in ("first", "second"):
        before = len(visit.traffic.sent)
        done = visit.approves(visit.asks())
        order = [
            one.method
            for one in visit.traffic.sent[before:]
            if one.method in (CHALLENGE_CREATE, "tools/call")
        ]
        visit.expect(
            order == [CHALLENGE_CREATE, "tools/call"],
            sent=f"the {which} call of a gated tool, on the page",
            expected=f"{CHALLENGE_CREATE}, then one tools/call",
            got=", ".join(order) or "neither",
        )
        visit.expect_run(done, sent=f"the {which} call of a gated tool, on the page")


@requirement("sep2672/4.9-client-surfaces-errors")
def test_the_reasons_of_refused_calls_can_be_told_apart(visit):
    """The thirteen reasons around a call, each told to the person in a way of its own."""
    visit.enrols()
    told = {"a success": visit.approves_a_call().text}
    for reason in CHALLENGE_REASONS:
        visit.traffic.answer_instead(CHALLENGE_CREATE, refusal(reason))
        visit.driver.ask(visit.tool.name, visit.tool.arguments)
        if visit.driver.await_review():
            raise NotVerified("the page shows a challenge that the server refused")
        visit.expect_told_apart_from_all(visit.driver.outcome(), reason, told)
    visit.traffic.leave_alone()
    for reason in CALL_REASONS:
        visit.asks()
        visit.traffic.answer_instead("tools/call", refusal(reason))
        visit.driver.approve()
        visit.expect_told_apart_from_all(visit.driver.outcome(), reason, told)


@requirement("sep2672/4.9-client-surfaces-errors")
def test_the_reasons_of_refused_enrolments_can_be_told_apart(visit):
    """The three reasons of an enrolment, each told to the person in a way of its own."""
    visit.holds()
    visit.opens()
    told: dict[str, str] = {}
    for reason in ENROLLMENT_REASONS:
        visit.traffic.answer_instead("approval/enroll/finish", refusal(reason))
        visit.expect_told_apart_from_all(visit.driver.enrol(), reason, told)
    visit.traffic.leave_alone()
    visit.enrols()


# ---- section 4.10: by the reason, and by nothing else


@requirement("sep2672/4.10-client-by-reason")
@pytest.mark.parametrize("reason", TWO_REASONS, ids=str)
def test_a_reason_is_told_alike_whatever_the_message_says(visit, reason):
    """Messages may be in any language: a client goes by the reason instead (a SHOULD)."""
    dressed = {name: refusal(reason, message) for name, message in OTHER_MESSAGES.items()}
    _expect_told_alike(visit, reason, dressed)


@requirement("sep2672/4.10-client-needs-reason-only")
@pytest.mark.parametrize("reason", TWO_REASONS, ids=str)
def test_a_reason_is_told_alike_whatever_else_is_in_data(visit, reason):
    """Further members come and go, and no client depends on them."""
    dressed = {name: refusal(reason, more=more) for name, more in FURTHER_MEMBERS.items()}
    _expect_told_alike(visit, reason, dressed)


def _expect_told_alike(visit, reason, dressed):
    visit.enrols()
    visit.approves_a_call()

    def told(error):
        visit.asks()
        visit.traffic.answer_instead("tools/call", error)
        visit.driver.approve()
        said = visit.driver.outcome()
        visit.traffic.leave_alone()
        return said

    plain = refusal(reason)
    usual = told(plain)
    for name, error in dressed.items():
        visit.expect_told_alike(
            (usual, plain), (told(error), error), sent=f"a refusal for {reason} with {name}"
        )


def refusal(
    reason: Reason,
    message: str = MESSAGE,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The same words for every reason: what the page tells apart, it tells apart by the reason."""
    data = {"reason": str(reason), **(more or {})}
    return {"error": {"code": ERROR_CODE, "message": message, "data": data}}
