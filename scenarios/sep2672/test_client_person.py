"""SEP-2672 as it binds a client in a terminal: what its person reads, before and after."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.clients.person import ClientPrompt
from pytest_mcp_approval.families.base.client_scenario import shortly, shown_whole
from pytest_mcp_approval.families.sep2672.client_expectations import gist
from pytest_mcp_approval.families.sep2672.refusals import (
    CALL_REASONS,
    CHALLENGE_REASONS,
    ENROLLMENT_REASONS,
    FURTHER_MEMBERS,
    OTHER_MESSAGES,
    TWO_REASONS,
)
from pytest_mcp_approval.families.sep2672.scripted_approvals import refusal
from pytest_mcp_approval.families.sep2672.vocabulary import (
    CHALLENGE_CREATE,
    ENROLL_FINISH,
)

SENTENCE = "Pay 4.50 EUR to Example Ltd for invoice 2024-17. "
TEXTS = {
    "longer than a line": SENTENCE * 3 + "END",
    "longer than a screen": "".join(f"{n}. {SENTENCE}\n" for n in range(1, 201)) + "END",
    "one word without a break": "x" * 3_000 + "END",
    "several lines": "Pay\n\n\tto:\tExample\n  twice\n  indented   END",
    "markup": "<b>Pay</b> <script>nothing()</script> &amp; &lt;ok&gt; <!-- 9 --> END",
    "Markdown": "**Pay** [nothing](http://localhost/) `x` # 1\n* 9 EUR\n\n> END",
    "placeholders": "{amount} ${x} %s %(a)s {{ 7 * 7 }} $& $1 \\n \\u0041 END",
    "not composed": "Cafe\u0301 \u1100\u1161 \ufb01 \u212b END",
    "beyond the BMP": "\U0001f469\u200d\U0001f52c \U0001d4d0 \U0001f1e9\U0001f1ea END",
}


@requirement("sep2672/4.4.3-client-verbatim")
@pytest.mark.parametrize("kind", TEXTS)
def test_the_text_is_shown_as_it_came(approving, kind):
    """Every character of displayText is on the screen before the person decides."""
    text = TEXTS[kind]
    approving.script.display_text = text
    approving.asks()
    sent = f"displayText: {kind} ({len(text)} characters)"
    approving.expect(
        shown_whole(text, approving.screen()),
        sent=sent,
        expected="the text itself, all of it",
        got=f"a screen that ends {shortly(approving.screen())}",
    )
    approving.expect_run(approving.agrees(), sent=f"{sent}; approved")


@requirement("sep2672/4.4.3-client-verbatim")
def test_each_challenge_has_its_own_text(approving):
    """A second challenge is not shown with the words of the first."""
    for text in (f"First: {SENTENCE}", "Second: delete everything"):
        approving.script.display_text = text
        approving.asks()
        approving.expect(
            shown_whole(text, approving.screen()),
            sent=f"displayText {text!r}",
            expected="that text",
            got=f"a screen that ends {shortly(approving.screen())}",
        )
        approving.decides(approving.description.decline)
    approving.approves()


@requirement("sep2672/4.9-client-review-before-assertion")
def test_nothing_is_signed_before_the_person_has_agreed(approving):
    """With displayText on the screen the client waits."""
    approving.calls_gated()
    seen = approving.person.sees()
    done = approving.so_far()
    sent = "a challenge; the person reads, and types nothing"
    for what, found in (("signature", done.signed), ("tools/call", done.calls)):
        approving.expect(
            not found,
            sent=sent,
            expected=f"no {what} before the person agrees",
            got=f"a {what}, while the client waits for {seen.prompt}",
        )
    approving.need(seen.prompt is ClientPrompt.DECIDE, "the client did not ask its person")
    done = approving.agrees()
    approving.expect_run(done, sent="the approval, after the review")
    approving.need_signatures(done)


@requirement("sep2672/4.9-client-review-before-assertion")
@pytest.mark.parametrize("how", ["decline", "cancel"])
def test_a_person_who_does_not_agree_signs_nothing(approving, how):
    """No signature, no call, and the client says something else than after a success."""
    typed = getattr(approving.description, how)
    if not typed:
        raise NotVerified(f"needs what a person types to {how}: {how} in [client]", minor=True)
    honest = approving.approves()
    approving.asks()
    done = approving.decides(typed)
    sent = f"a challenge; the person types {typed!r}, which means {how}"
    for what, found in (("signature", done.signed), ("tools/call", done.calls)):
        approving.expect(not found, sent=sent, expected=f"no {what}", got=f"a {what}")
    approving.expect(
        gist(done.said) != gist(honest.said),
        sent=sent,
        expected="other words than after a success",
        got=f"the client shows {shortly(done.said)}",
    )
    approving.expect_run(approving.approves(), sent="the same call, approved, after that")


# ---- section 4.9: errors


@requirement("sep2672/4.9-client-surfaces-errors")
def test_the_reasons_of_refused_calls_can_be_told_apart(approving):
    """The thirteen reasons around a call, each told to the person in a way of its own."""
    told = {"a success": approving.approves().said}
    for reason in CHALLENGE_REASONS:
        said = approving.is_told({CHALLENGE_CREATE: refusal(reason)})
        approving.expect_told_apart_from_all(said, reason, told)
    for reason in CALL_REASONS:
        said = approving.is_told({"tools/call": refusal(reason)})
        approving.expect_told_apart_from_all(said, reason, told)


@requirement("sep2672/4.9-client-surfaces-errors")
def test_the_reasons_of_refused_enrollments_can_be_told_apart(approving):
    """The three reasons of an enrollment, each told to the person in a way of its own."""
    if not approving.description.enroll or approving.description.once_per_call:
        raise NotVerified("needs what a person types to enroll: enroll in [client]", minor=True)
    told = {"a success": approving.person.enrolls().text}
    for reason in ENROLLMENT_REASONS:
        approving.script.instead = {ENROLL_FINISH: refusal(reason)}
        said = approving.person.enrolls().text
        approving.expect_told_apart_from_all(said, reason, told)


# ---- section 4.10: by the reason, and by nothing else


@requirement("sep2672/4.10-client-by-reason")
@pytest.mark.parametrize("reason", TWO_REASONS, ids=str)
def test_a_reason_is_told_alike_whatever_the_message_says(approving, reason):
    """Messages may be in any language: a client goes by the reason instead (a SHOULD)."""
    dressed = {name: refusal(reason, message) for name, message in OTHER_MESSAGES.items()}
    _expect_told_alike(approving, reason, dressed)


@requirement("sep2672/4.10-client-needs-reason-only")
@pytest.mark.parametrize("reason", TWO_REASONS, ids=str)
def test_a_reason_is_told_alike_whatever_else_is_in_data(approving, reason):
    """Further members come and go, and no client depends on them."""
    dressed = {name: refusal(reason, more=more) for name, more in FURTHER_MEMBERS.items()}
    _expect_told_alike(approving, reason, dressed)


def _expect_told_alike(approving, reason, dressed):
    approving.approves()
    plain = refusal(reason)
    usual = approving.is_told({"tools/call": plain})
    for name, error in dressed.items():
        said = approving.is_told({"tools/call": error})
        approving.expect_told_alike(
            (usual, _as_json(plain)),
            (said, _as_json(error)),
            sent=f"a refusal for {reason} with {name}",
        )


def _as_json(error):
    return {"error": {"code": error.code, "message": error.message, "data": error.data}}
