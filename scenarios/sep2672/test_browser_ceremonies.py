"""SEP-2672 on the server's own page, in a real browser: what a person does, and what becomes of it.

Every scenario begins with an enrolment on the page; a refusal counts only where the same page and
the same passkey get an honest call through.
"""

from __future__ import annotations

import datetime
import json

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.client_expectations import shown
from pytest_mcp_approval.families.sep2672.vocabulary import (
    ENROLL_BEGIN,
    ENROLL_FINISH,
    META_KEY,
    AuthenticatorClass,
    Reason,
    base64url_encode,
)

SECOND = datetime.timedelta(seconds=1)
IN_TIME = -20 * SECOND
"""Since expiry: a browser takes its time, and not every clock stands still."""


@requirement("sep2672/4.4.2-persisted")
@pytest.mark.parametrize("shape", ["security-key", "icloud-keychain"])
def test_what_is_enrolled_on_the_page_is_offered_there(visit, shape):
    """The passkey that the browser made is the one that the next challenge names, with the
    transports that the browser gave."""
    key = visit.enrols(shape)
    made = key.prompts[-1].response
    review = visit.asks(visit.tool_for_any_passkey())
    offered = {
        one.get("id"): set(one.get("transports") or ())
        for one in review.envelope["requestOptions"].get("allowCredentials", [])
    }
    transports = set(made["response"]["transports"])
    visit.expect(
        offered.get(made["id"]) == transports,
        sent=f"an enrolment of {shape} on the page, then a challenge",
        expected=f"its id in allowCredentials with {sorted(transports)}",
        got=f"{len(offered)} credentials, this one with {sorted(offered.get(made['id'], ()))}",
    )
    visit.expect_run(visit.approves(review), sent="the approval of that challenge on the page")


@requirement("sep2672/4.5-never-executes-unverified")
@pytest.mark.parametrize("gesture", ["decline", "time-out", "remove"])
def test_a_prompt_that_nobody_approves_runs_nothing(visit, gesture):
    """The person agrees on the page, but not at the passkey: cancelled, ignored, pulled out."""
    key = visit.enrols()
    honest = visit.approves_a_call()
    review = visit.asks()
    key.person.will(gesture)
    done = visit.approves(review)
    sent = f"a call on the page; at the passkey's prompt the person does: {gesture}"
    visit.expect(
        key.prompts[-1].error == "NotAllowedError",
        sent=sent,
        expected="a prompt that ends with NotAllowedError",
        got=str(key.prompts[-1].error),
    )
    visit.expect_nothing_called(done, sent=sent, success=honest.text)
    visit.expect_run(visit.approves(visit.asks()), sent="the same call, approved, after that")


@requirement("sep2672/4.8-06-challenge-unexpired")
def test_a_challenge_that_expires_while_the_prompt_is_open_is_refused(visit):
    """A person who takes too long: at the prompt, the challenge's time comes."""
    key = visit.enrols()

    def approved_at(since_expiry: datetime.timedelta):
        review = visit.asks()
        key.person.will("wait")

        def act() -> None:
            visit.driver.approve()
            key.asked()
            visit.clock.move_to(review.expires_at + since_expiry)
            key.person.approves()

        return visit.observes(act)

    in_time = approved_at(IN_TIME)
    visit.expect_run(in_time, sent="an approval on the page whose prompt was open, but in time")
    visit.clock.release()
    late = approved_at(SECOND)
    sent = "an approval on the page whose prompt was open until a second after expiresAt"
    visit.expect_refusal(late, Reason.CHALLENGE_EXPIRED, sent=sent)
    visit.expect_told_apart(late.text, in_time.text, sent=sent, expected="a page that says so")


@requirement("sep2672/4.8-07-challenge-tool")
def test_an_approval_that_is_bent_to_another_tool_is_refused(visit):
    """Between the page and the server somebody puts another tool's name into the call."""
    visit.enrols()
    honest = visit.approves_a_call()
    other = visit.second_tool()
    review = visit.asks()

    def bend(message):
        message["params"].update(name=other.name, arguments=dict(other.arguments))
        return message

    visit.traffic.change_request("tools/call", bend)
    done = visit.approves(review)
    sent = f"tools/call {other.name} with the evidence for {review.tool.name}, from the page"
    visit.expect_refusal(done, Reason.CHALLENGE_WRONG_TOOL, sent=sent)
    visit.expect_told_apart(done.text, honest.text, sent=sent, expected="a page that says so")


@requirement("sep2672/8.3.2-counter-zero")
def test_a_synced_passkey_approves_twice_on_the_page(visit):
    """A passkey of iCloud Keychain counts nothing, and may sign as often as its person likes."""
    key = visit.enrols("icloud-keychain")
    for which in ("first", "second"):
        done = visit.approves(visit.asks())
        visit.expect_run(done, sent=f"the {which} approval by a synced passkey, counter 0")
    assert {one.sign_count for one in key.credentials} == {0}


@requirement("sep2672/4.7-cross-platform-excludes-internal")
def test_a_passkey_of_this_device_only_is_not_asked_for_a_cross_platform_tool(visit):
    """Windows Hello is bound to its machine: the page gets no challenge that it could answer."""
    key = visit.enrols("windows-hello")
    mine = base64url_encode(key.credentials[-1].id)
    platform = visit.tool_of_class(AuthenticatorClass.PLATFORM)
    honest = visit.approves_a_call(platform)
    tool = visit.tool
    visit.driver.ask(tool.name, tool.arguments)
    sent = f"{tool.name} (cross-platform) on the page, with an internal-only passkey enrolled"
    if visit.driver.await_review():
        # Somebody else's passkeys are enrolled too, on a server that is not made fresh.
        envelope = visit.traffic.of("approval/challenge/create")[-1].result or {}
        offered = [one["id"] for one in envelope["requestOptions"].get("allowCredentials", [])]
        visit.expect(
            bool(offered) and mine not in offered,
            sent=sent,
            expected="no_eligible_credential, or a challenge without that passkey",
            got="the passkey is offered" if offered else "a challenge that any passkey may answer",
        )
        return
    said = visit.driver.outcome()
    expected = "no_eligible_credential, no prompt, and a page that says so"
    reason = visit.traffic.of("approval/challenge/create")[-1].reason
    visit.expect(
        reason == Reason.NO_ELIGIBLE_CREDENTIAL,
        sent=sent,
        expected=expected,
        got=f"{reason}",
    )
    visit.expect_told_apart(said, honest.text, sent=sent, expected=expected)


@requirement("sep2672/4.4.1-exclude-credentials")
def test_a_device_that_is_enrolled_already_makes_no_second_passkey(visit):
    """The browser knows by excludeCredentials, and tells the page: InvalidStateError."""
    key = visit.enrols()
    before = len(visit.traffic.of(ENROLL_FINISH))
    said = visit.driver.enrol()
    sent = f"{ENROLL_BEGIN} on the page, with the same security key at hand"
    prompt = key.prompts[-1]
    visit.expect(
        prompt.kind == "create" and prompt.error == "InvalidStateError",
        sent=sent,
        expected="InvalidStateError in the page",
        got=prompt.error or f"another passkey ({len(key.credentials)} on the key)",
    )
    visit.expect(
        len(visit.traffic.of(ENROLL_FINISH)) == before and bool(said.strip()),
        sent=sent,
        expected="nothing sent to the server, and a page that says so",
        got=f"{len(visit.traffic.of(ENROLL_FINISH)) - before} approval/enroll/finish",
    )
    visit.expect_run(visit.approves(visit.asks()), sent="a call, approved by the first passkey")


@requirement("sep2672/8.2.3-exactly-once", needs=())
def test_a_call_that_is_sent_again_from_the_devtools_is_refused(visit):
    """Whoever sits at the browser can send what the page sent once more, byte for byte. The passkey
    has no counter that could prevent it."""
    visit.enrols("icloud-keychain")
    done = visit.approves_a_call()
    call = done.calls[-1]
    text, runs = visit.approval.runs_during(lambda: visit.sends_again(call))
    ran = bool(runs) or (runs is None and visit.approval.effects is not None)
    times = f", tool run {runs or 'some'} times" if ran else ""
    named = json.dumps(call.meta.get(META_KEY, {}).get("challengeId"))[:80]
    sent = f"the page's own tools/call once more (challengeId {named})"
    if text is None and not ran:
        raise NotVerified(f"{sent}: no answer that ended within 10 s")
    text = text or "no answer that ended"
    visit.expect(
        Reason.CHALLENGE_CONSUMED in text and not ran,
        sent=sent,
        expected="challenge_consumed, tool not run",
        got=f"{shown(text, 200)}{times}",
    )
